#!/usr/bin/env python3
"""How long `./dev fuzz` takes to find each planted fault from an empty corpus, on one core: all targets, as a user would run it.

Builds the faulty fuzzers one after another (preset fuzz) and writes docs/results/fuzz-faults.json.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "fuzz"), str(ROOT / "bench")]
from findings import write_atomically  # noqa: E402
from provenance import commit, cpu_model  # noqa: E402


def names():
    lists = json.loads((ROOT / "property_tests" / "faults" / "faults.json").read_text())
    return [fault["name"] for kind in ("faults", "path_faults", "diagnosis_faults") for fault in lists[kind]]


def find(build, fault, limit_s, core):
    """What the campaign found, and after how long."""
    with tempfile.TemporaryDirectory(prefix=f"slotproof-{fault}-") as folder:
        command = ["taskset", "-c", str(core)] if core is not None else []
        command += [sys.executable, str(ROOT / "fuzz" / "campaign.py"), "--build", str(build / "faults" / fault), "--folder", folder, "--empty",
                    "--jobs", "1", "--hours", str(limit_s / 3600), "--stop-at-finding"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit_s + 300)
        state = json.loads((Path(folder) / "state.json").read_text())
        record = {"fault": fault, "runs": sum(t["runs"] for t in state["targets"].values())}
        found = sorted(Path(folder).glob("findings/*/finding.json"))
        if not found:
            return dict(record, found=False, output=done.stdout[-400:] if done.returncode != 0 else "")
        finding = json.loads(found[0].read_text())
        return dict(record, found=True, seconds=finding["found_after_s"], target=finding["target"], summary=finding["summary"], shrunk_by=finding["shrunk_by"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", help="default: all of property_tests/faults/faults.json")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--limit", type=int, default=120, help="seconds")
    parser.add_argument("--core", type=int, help="the core to run on")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "fuzz-faults.json")
    options = parser.parse_args()
    records = {r["fault"]: r for r in json.loads(options.out.read_text())["faults"]} if options.out.exists() else {}
    wanted = options.faults or names()
    where = {"commit": commit(), "cpu": cpu_model()}
    for fault in wanted:
        built = subprocess.run(["cmake", "--build", str(options.build), "--target", f"slotproof_fuzz_fault_{fault}", "--", "--quiet"])
        if built.returncode != 0:
            return 2
        record = records[fault] = dict(find(options.build, fault, options.limit, options.core), **where)
        print(f"{fault}: {record['seconds']} s by {record['target']}: {record['summary']}" if record["found"] else f"{fault}: not found", flush=True)
        order = {name: i for i, name in enumerate(names())}
        kept = sorted((r for r in records.values() if r["fault"] in order), key=lambda r: order[r["fault"]])
        write_atomically(options.out, json.dumps({"limit_s": options.limit, "faults": kept}, indent=1) + "\n")
    found = [r for r in records.values() if r["found"]]
    print(f"{len(found)} of {len(records)} found within {options.limit} s")
    return 0 if len(found) >= 0.9 * len(records) else 1


if __name__ == "__main__":
    sys.exit(main())
