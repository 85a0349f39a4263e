"""Puts a plug-in to `slotproof check`: first to cases that are all run, so that every invariant can speak, then to a case for each path
of the kernels, then to many more cases until one shows something."""

import json
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from sources import ROOT

FIRST_CASES = 300
MOST_CASES = 20000
HANG_SECONDS = 90  # of one stage; a call that does not return ends after one second


def check(program, plugin, options):
    """The report of one back end, or None where the program had to be killed."""
    folder = Path(tempfile.mkdtemp(prefix="slotproof-mutant-"))
    try:
        command = [str(program), "check", "--backend", f"plugin:{plugin}", "--findings", str(folder), "--json", str(folder / "report.json"),
                   "--time-limit", "1", "--shrink-seconds", "1", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            output, _ = process.communicate(timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # It ends with its report.
            try:
                output, _ = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                return None
        if process.returncode == 2:  # e.g. the plug-in does not load
            return {"unusable": output.strip().splitlines()[-1] if output.strip() else "no output"}
        return json.loads((folder / "report.json").read_text())["backends"][0]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def first_failures(tallies):
    return {name: tally["first_failure"] for name, tally in tallies.items() if tally["failures"] > 0}


def result_of(backend, stage, cases_before):
    """What a report with a counterexample says of a mutant."""
    found = backend["counterexample"]
    invariants, laws = first_failures(backend["invariants"]), first_failures(backend["laws"])
    return {"status": "killed", "stage": stage, "cases": cases_before + min([*invariants.values(), *laws.values()]),
            "finding": found["finding"], "rule": found.get("rule"), "rows": found["rows"], "columns": found["columns"],
            "invariants": invariants, "laws": laws, "rules": sorted({rule for tally in backend["invariants"].values() for rule in tally.get("rules", [])})}


def fault(stage, cases, why):
    return {"status": "killed", "stage": stage, "cases": cases, "finding": "no_fault", "rule": None, "rows": None, "columns": None,
            "invariants": {"no_fault": cases}, "laws": {}, "rules": [], "why": why}


def judge_by_vectors(program, plugin):
    """The committed vectors, public reports among them: killed, or None where they all hold."""
    vectors = sorted(str(path) for path in (ROOT / "property_tests" / "vectors").glob("*.json"))
    try:
        ran = subprocess.run([str(program), "replay", *vectors, "--backend", f"plugin:{plugin}"], capture_output=True, text=True, timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired:
        return fault("vectors", None, "it ran for ever")
    failed = [line.strip() for line in ran.stdout.splitlines() if "FAILS" in line]
    return None if ran.returncode == 0 else {**fault("vectors", None, failed[0] if failed else "a vector fails"), "finding": "vectors", "invariants": {}}


def judge_by_cases(program, plugin, stage):
    """killed, or None where no case of the stage sees anything."""
    if stage == "vectors":
        return judge_by_vectors(program, plugin)
    cases_before, options = {"drawn": (0, ["--keep-going", "--cases", str(FIRST_CASES)]),
                             "many": (FIRST_CASES, ["--first-case", str(FIRST_CASES), "--cases", str(MOST_CASES - FIRST_CASES)]),
                             "paths": (MOST_CASES, ["--every-path", "--cases", "1"])}[stage]
    backend = check(program, plugin, options)
    if backend is None:
        return fault(stage, cases_before + 1, "it ran for ever")
    if "unusable" in backend:
        return fault("load", 0, backend["unusable"])
    return result_of(backend, stage, cases_before) if "counterexample" in backend else None
