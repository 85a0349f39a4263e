#!/usr/bin/env python3
"""Runs everything that needs a GPU and writes what came of it: `./dev gpu`.

A step says one line; a failing one does not stop the others. Exit: 0 all steps went well, 1 one did not, 2 no GPU here.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import results  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
NO_GPU = 2
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
# Bytes between allocations, so that the first element behind one is nobody's.
TOOL_OPTIONS = {"memcheck": ["--padding", "64"], "racecheck": ["--racecheck-report", "all"]}
# What a tool says of the kind of fault that it is for, whatever else it complains of in consequence.
FINDING = {"memcheck": r"Invalid __global__", "racecheck": r"[Hh]azard detected|Race reported", "initcheck": r"Uninitialized __global__",
           "synccheck": r"Barrier error|Divergent thread"}
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")


class Failed(Exception):
    """What went wrong in a step, in one line."""


FEW_CASES = ["--cases", "60"]  # drawn ones: most of them are small


class Run:
    """The steps so far, and how to run a command of this build."""

    def __init__(self, options):
        self.build = options.build.resolve()
        self.options = options
        self.steps = []
        self.kernel_paths = {}  # launches of each, over all campaigns
        self.failures = []  # name and output of each
        self.environment = dict(
            os.environ, SLOTPROOF_SOURCE_DIR=str(ROOT), SLOTPROOF_FAULT_DIR=str(self.build / "faults"),
            SLOTPROOF_EXAMPLE_PLUGIN_DIR=str(self.build / "property_tests" / "example_plugins"),
            SLOTPROOF_PROGRAM=str(self.build / "bin" / "slotproof"), RC_PARAMS="seed=1 max_success=300")  # as ctest has it
        self.output = ""
        self.scratch = Path(tempfile.mkdtemp(prefix="slotproof-gpu-"))

    def program(self):
        return str(self.build / "bin" / "slotproof")

    def call(self, command, timeout_s):
        """Exit code and output; a command that outlasts its time is killed with all that it started."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   env=self.environment, start_new_session=True)
        try:
            self.output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.output, _ = process.communicate()
            raise Failed(f"did not end within {timeout_s} s") from None
        self.output = f"$ {' '.join(command)}\n{self.output}"
        return process.returncode

    def step(self, name, function):
        """`function` returns what it counted, and raises Failed."""
        begin, self.output = time.monotonic(), ""
        counts, error = {}, None
        try:
            counts = function()
        except Failed as failed:
            error = str(failed)
        except (OSError, ValueError, KeyError) as unexpected:
            error = f"{type(unexpected).__name__}: {unexpected}"
        seconds = time.monotonic() - begin
        self.steps.append({"name": name, "ok": error is None, "seconds": round(seconds, 1), "counts": counts, "error": error})
        if error is not None:
            self.failures.append((name, self.output))
        said = error if error is not None else results.text_of(counts)
        print(f"{'ok    ' if error is None else 'FAILED'} {name:<34} {seconds:6.1f} s  {said}", flush=True)


def last_line(output):
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def replay(run):
    vectors = sorted(str(path) for path in (ROOT / "property_tests" / "vectors").glob("*.json"))
    code = run.call([run.program(), "replay", *vectors, "--backend", "reference", "--backend", "host", "--backend", "cuda"], 120)
    lines = re.findall(r"^(\w+): (\d+) cases hold, (\d+) fail", run.output, re.MULTILINE)
    if code != 0 or len(lines) != 3:
        raise Failed(f"exit code {code}: {last_line(run.output)}")
    return {f"cases that hold on {name}": int(holds) for name, holds, _ in lines}


def check(run, seed, *flags):
    report = run.scratch / "check.json"
    report.unlink(missing_ok=True)
    seconds = run.options.seconds
    code = run.call([run.program(), "check", "--backend", "cuda", "--seconds", str(seconds), "--seed", str(seed), "--every-path", "--require-coverage",
                     "--findings", str(run.options.findings), "--json", str(report), *flags], seconds + 60)
    if not report.exists():
        raise Failed(f"exit code {code}: {last_line(run.output)}")
    backend = json.loads(report.read_text())["backends"][0]
    paths = backend["kernel_paths"]
    missing = [name for name, launches in paths.items() if launches == 0]
    found = backend.get("counterexample")
    if found is not None:
        raise Failed(f"counterexample {found['file']}: {found['text']}")
    if code != 0:
        raise Failed(f"exit code {code}; {len(missing)} paths never launched{': ' + missing[0] if missing else ''}")
    for name, launches in paths.items():
        run.kernel_paths[name] = run.kernel_paths.get(name, 0) + launches
    return {"cases": backend["cases"], "indices": backend["indices"], "kernel paths launched": len(paths) - len(missing),
            "launches on the rarest path": min(paths.values()), "seed": seed}


def tests(run):
    report = run.scratch / "tests.json"
    report.unlink(missing_ok=True)
    code = run.call([str(run.build / "bin" / "slotproof_tests"), "--gtest_filter=*cuda*:*Cuda*:Device*:BulkDevice.*:*GraphReplays*:InProcess.*:KernelPaths.*:CallLayout.*",
                     "--gtest_brief=1", f"--gtest_output=json:{report}"], 240)
    if not report.exists():
        raise Failed(f"exit code {code}: {last_line(run.output)}")
    cases = [case for suite in json.loads(report.read_text())["testsuites"] for case in suite["testsuite"]]
    failed = [f"{case['classname']}.{case['name']}" for case in cases if case.get("failures")]
    skipped = [f"{case['classname']}.{case['name']}" for case in cases if case.get("result") == "SKIPPED"]
    if failed or code != 0:
        raise Failed(f"exit code {code}, {len(failed)} of {len(cases)} tests failed{': ' + ', '.join(failed[:3]) if failed else ''}")
    if skipped:
        raise Failed(f"{len(skipped)} of {len(cases)} tests skipped: {', '.join(skipped[:3])}")
    return {"tests": len(cases)}


def bulk(run, *flags):
    report = run.scratch / "bulk.json"
    report.unlink(missing_ok=True)
    seconds = run.options.seconds
    code = run.call([run.program(), "check", "--backend", "cuda", "--bulk", "--seconds", str(seconds), "--findings", str(run.options.findings),
                     "--json", str(report), *flags], seconds + 60)
    if not report.exists():
        raise Failed(f"exit code {code}: {last_line(run.output)}")
    record = json.loads(report.read_text())
    found = record.get("counterexample")
    if found is not None:
        raise Failed(f"batch {found['batch']}: {found['text']}; again: {found['again']}")
    if code != 0:
        raise Failed(f"exit code {code}: {last_line(run.output)}")
    whole = record["modes"]["all"]
    return {"batches": whole["batches"], "indices": whole["indices"], "indices per second": int(record["indices_per_second"])}


def num_findings_of(run, tool, command):
    """Findings of one tool in a command, and the command's exit code."""
    code = run.call([results.sanitizer(), "--tool", tool, "--print-limit", "20", *TOOL_OPTIONS.get(tool, []), *command], 150)
    found = SUMMARY.findall(run.output)
    if not found:
        raise Failed(f"compute-sanitizer gave no summary, exit code {code}: {last_line(run.output)}")
    return sum(int(errors or hazards) for errors, hazards in found), code


def num_findings(run, tool, backend, findings, *flags):
    return num_findings_of(run, tool, [run.program(), "check", "--backend", backend, "--in-process", "--exact-buffers", "--findings", str(findings), *flags])


def clean_diagnosis(run, tool):
    count, code = num_findings_of(run, tool, [str(run.build / "bin" / "slotproof_tests"), "--gtest_filter=*Diagnosis*/cuda"])
    passed = re.search(r"\[  PASSED  \] ([1-9]\d*) tests?", run.output)
    if count != 0 or code != 0 or not passed:
        raise Failed(f"{count} findings, exit code {code}: {last_line(run.output)}")
    return {"findings": 0, "tests": int(passed[1])}


def clean(run, tool, backend, *flags):
    count, code = num_findings(run, tool, backend, run.options.findings, *flags)
    if count != 0 or code != 0 or "All invariants hold" not in run.output:
        raise Failed(f"{count} findings, exit code {code}")
    return {"findings": 0}


def seen(run, fault):
    # Any few cases show the fault; what the campaign itself finds of it is no finding of ours.
    count, _ = num_findings(run, fault["tool"], f"plugin:{run.build / 'faults' / 'cuda' / fault['name']}.so", run.scratch / "findings", *FEW_CASES)
    if count == 0:
        raise Failed(f"{fault['tool']} does not see it")
    found = re.search(f"^.*(?:{FINDING[fault['tool']]}).*$", run.output, re.MULTILINE)
    if found is None:
        raise Failed(f"{fault['tool']} complains of {count} other things")
    return {"findings": count, "the first": found[0].strip("= ")}


def machine_code(run):
    report = run.scratch / "code.json"
    report.unlink(missing_ok=True)
    code = run.call([sys.executable, str(ROOT / "bench" / "code_report.py"), "--build", str(run.build), "--brief", "--moved-is-no-failure",
                     "--json", str(report)], 300)
    if code != 0:
        raise Failed(last_line(run.output))
    record = json.loads(report.read_text())
    moved = record["comparison"]["moved"]
    return {"kernels": len(record["kernels"]), "moved since the accepted results": len(moved) if moved is not None else record["comparison"]["said"]}


def run_steps(run):
    run.step("machine code", lambda: machine_code(run))
    run.step("vectors", lambda: replay(run))
    run.step("check, guarded buffers", lambda: check(run, 1))
    run.step("check, exact buffers", lambda: check(run, 2, "--exact-buffers"))
    run.step("tests that use the GPU", lambda: tests(run))
    if "--bulk" in results.output_of(run.program(), "check", "--help"):
        run.step("bulk", lambda: bulk(run))
        run.step("bulk, 2048 columns", lambda: bulk(run, "--topk", "2048"))
    for tool in TOOLS:
        run.step(f"{tool}, kernels", lambda: clean(run, tool, "cuda", "--every-path", "--cases", "40"))
    for tool in TOOLS:
        run.step(f"{tool}, diagnosis", lambda: clean_diagnosis(run, tool))
    control = f"plugin:{run.build / 'faults' / 'cuda' / 'slotproof_cuda.so'}"
    for tool in TOOLS:
        run.step(f"{tool}, plug-in without a fault", lambda: clean(run, tool, control, *FEW_CASES))
    for fault in json.loads((ROOT / "property_tests" / "faults" / "cuda.json").read_text())["faults"]:
        run.step(f"{fault['tool']} sees {fault['name']}", lambda: seen(run, fault))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="a build folder, or a bundle")
    parser.add_argument("--results", type=Path, default=ROOT / "docs" / "results", help="folder for the report (default: docs/results)")
    parser.add_argument("--findings", type=Path, default=Path("findings"), help="folder for counterexamples and the output of failing steps")
    parser.add_argument("--seconds", type=int, default=30, help="of each of the two campaigns and the two bulk runs (default: 30)")
    options = parser.parse_args()
    device = results.device()
    if isinstance(device, str):
        print(f"dev: no GPU here: {device}", file=sys.stderr)
        return NO_GPU
    print(f"{device['name']}, compute capability {device['compute_capability']}, driver {device['driver']}", flush=True)
    begin = time.monotonic()
    run = Run(options)
    try:
        run_steps(run)
    finally:
        shutil.rmtree(run.scratch, ignore_errors=True)
    if run.failures:
        options.findings.mkdir(parents=True, exist_ok=True)
        log = options.findings / "device-run.log"
        log.write_text("\n".join(f"==== {name}\n{results.shortened(output)}" for name, output in run.failures))
        print(f"the output of the failing steps is in {log}")
    for path in results.write(options.results, device, run.build, run.steps, run.kernel_paths, time.monotonic() - begin):
        print(f"wrote {path}")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
