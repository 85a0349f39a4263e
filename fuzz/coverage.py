#!/usr/bin/env python3
"""What the kept inputs reach of bodies, contexts, planner and reference, counting compared inputs alone: `./dev fuzz --coverage`.

Needs the preset coverage built. Writes the report and annotated sources into build/coverage/report. Exit: 0 at least 95 % of the
bodies' regions and branches, 1 less, 2 something is missing.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {
    "bodies": ["kernels/remap.h", "kernels/compaction.h", "kernels/register_tile.h", "kernels/remap_entry.h", "kernels/table_staging.h",
               "kernels/rank_ownership.h", "kernels/fast_divisor.h", "kernels/diagnosis.h"],
    "contexts": ["kernels/team/", "kernels/remap_host.cpp", "kernels/diagnosis_host.cpp"],
    "planner": ["kernels/tiling.", "kernels/remap_view.", "kernels/diagnosis_view.", "kernels/kernel_path."],
    "arguments": ["kernels/arguments.cpp", "kernels/storage_overlap.", "kernels/flat_row_view.cpp", "kernels/rank_ownership.cpp"],
    "reference": ["reference/"],
}
NEEDED = 95.0


def group_of(name):
    return next((group for group, prefixes in GROUPS.items() if any(name.startswith(p) for p in prefixes)), None)


def run(command, **options):
    return subprocess.run([str(c) for c in command], check=True, **options)


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="of inputs, one a target; default: the committed corpora and regressions")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "coverage")
    parser.add_argument("--json", type=Path, help="writes the figures too")
    options = parser.parse_args()
    program = options.build / "bin" / "fuzz_replay"
    if not program.exists():
        print(f"fuzz: {program} is not there: ./dev fuzz --coverage builds it", file=sys.stderr)
        return 2
    folders = options.folders or [p for p in (ROOT / "fuzz" / "corpus", ROOT / "fuzz" / "regressions") if p.is_dir()]
    report = options.build / "report"
    report.mkdir(parents=True, exist_ok=True)
    raw, profile = report / "raw.profraw", report / "merged.profdata"
    run([program] + folders, env=dict(os.environ, LLVM_PROFILE_FILE=str(raw)))
    run(["llvm-profdata-19", "merge", "-sparse", raw, "-o", profile])
    arguments = [program, f"-instr-profile={profile}", "-ignore-filename-regex=^/usr"]
    exported = run(["llvm-cov-19", "export", "-summary-only"] + arguments, stdout=subprocess.PIPE, text=True).stdout
    run(["llvm-cov-19", "show", "-format=html", f"-output-dir={report}", "-show-branches=count"] + arguments, stdout=subprocess.DEVNULL)
    files, totals = [], {}
    for file in json.loads(exported)["data"][0]["files"]:
        name = os.path.relpath(file["filename"], ROOT)
        group = group_of(name)
        if group is None:
            continue
        figures = [file["summary"][kind][key] for kind in ("regions", "branches") for key in ("covered", "count")]
        files.append((group, name, figures))
        totals[group] = [a + b for a, b in zip(totals.get(group, [0] * 4), figures)]
    rows = [(group, name, f) for group in GROUPS for g, name, f in sorted(files) if g == group]
    rows += [(group, "all of it", totals[group]) for group in GROUPS if group in totals]
    for group, name, (regions, all_regions, branches, all_branches) in rows:
        print(f"{group:10} {name:36} regions {regions:5}/{all_regions:<5} {percent(regions, all_regions):6.1f} %   "
              f"branches {branches:5}/{all_branches:<5} {percent(branches, all_branches):6.1f} %")
    if options.json:
        figures = {group: {"regions": round(percent(t[0], t[1]), 2), "branches": round(percent(t[2], t[3]), 2)} for group, t in totals.items()}
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    print(f"every line with its counts: {report}/index.html")
    bodies = totals["bodies"]
    return 0 if min(percent(bodies[0], bodies[1]), percent(bodies[2], bodies[3])) >= NEEDED else 1


if __name__ == "__main__":
    sys.exit(main())
