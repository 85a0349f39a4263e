#!/usr/bin/env python3
"""One corpus a target and one list of findings out of the tasks of a cluster's campaign: the job behind fuzz/slurm's array.

SHARED/tasks/TARGET are campaigns; SHARED/merged/TARGET gets the fewest inputs that reach what theirs, the seeds that they began with and
the merged ones before reach, SHARED/summary.json the rest. Exit: 0 no finding, 1 a finding, 3 a task failed or is missing (what there is was merged all the same).
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import corpora  # noqa: E402
import engine  # noqa: E402
from findings import write_atomically  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    options = parser.parse_args()
    (options.shared / "merged").mkdir(exist_ok=True)
    summary = {"targets": {}, "findings": []}
    for target in options.targets:
        task = options.shared / "tasks" / target
        try:
            code = int((task / "exit-code").read_text())
        except (OSError, ValueError):
            code = None
        record = {"exit_code": code, "runs": 0}
        if (task / "state.json").exists():
            record["runs"] = json.loads((task / "state.json").read_text())["targets"].get(target, {}).get("runs", 0)
        merged = options.shared / "merged" / target
        corpora.finish_swap(merged)
        sources = [p for p in (merged, task / "seeds" / target, task / "corpus" / target) if p.is_dir() and any(p.iterdir())]
        binary = options.build / "bin" / f"fuzz_{target}"
        record["error"] = corpora.merge(binary, target, sources, merged) if sources else "no corpus"
        record["corpus"] = len(list(merged.iterdir())) if merged.is_dir() else 0
        for finding in sorted(task.glob("findings/*/finding.json")):
            summary["findings"].append(dict(json.loads(finding.read_text()), folder=str(finding.parent)))
        summary["targets"][target] = record
        if code in (0, 1) and not (task / "summary.json").exists():
            record["error"] = record["error"] or "the task left no summary"
        is_well = code in (0, 1) and not record["error"]
        print(f"{target}: {record['runs']} runs, {record['corpus']} inputs" + ("" if is_well else f", task ended with {code} {record['error']}"), flush=True)
    for finding in summary["findings"]:
        print(f"finding: {finding['target']}: {finding['summary']}: {finding['folder']}")
    write_atomically(options.shared / "summary.json", json.dumps(summary, indent=1) + "\n")
    if any(r["exit_code"] not in (0, 1) or r["error"] for r in summary["targets"].values()):
        return 3
    return 1 if summary["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
