#!/usr/bin/env python3
"""Writes docs/results/fuzz.md from the measurements beside it: `./dev fuzz --report [CAMPAIGN-FOLDER]`, which takes the campaign's over first.

fuzz-campaign.json is a campaign's summary, fuzz-faults.json what measure_faults.py wrote, fuzz-coverage.json what coverage.py wrote.
"""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import measure_faults  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"


def read(name):
    path = RESULTS / name
    return json.loads(path.read_text()) if path.exists() else None


def campaign_page(campaign):
    lines = ["## A campaign", "",
             f"`./dev fuzz --jobs {campaign['jobs']}`, {campaign['seconds'] / 60:.0f} minutes on {campaign['date']} on a core of {campaign['cpu']}, commit {campaign['commit'][:12]} (`docs/results/fuzz-campaign.json`). Runs a CPU second are "
             "what one core does when nobody else uses it; *compared* is the share of inputs that reached a comparison.", "",
             "| target | seconds | runs | runs a CPU second | compared | edges | inputs kept |", "|---|---|---|---|---|---|---|"]
    for name, row in campaign["targets"].items():
        lines.append(f"| `{name}` | {row['seconds']} | {row['runs']} | {row['runs_per_cpu_s']} | {row['compared_percent']} % | {row['coverage']} | {row['corpus']} |")
    lines += ["", f"Findings: {len(campaign['findings'])}." if campaign["findings"] else "No findings."]
    return lines + [f"- `{f['target']}`: {f['summary']}, after {f['found_after_s']} s" for f in campaign["findings"]]


def measured_at(records):
    """Of which commits the figures are."""
    commits = {}
    for record in records:
        commits.setdefault(record.get("commit", "")[:12] or "one that is not noted", []).append(record)
    return "Measured at commit " + ", ".join(f"{name} ({len(some)})" for name, some in commits.items()) + "."


def faults_page(faults):
    records = faults["faults"]
    found = [r for r in records if r["found"]]
    measured = {r["fault"] for r in records}
    left = [name for name in measure_faults.names() if name not in measured]
    lines = ["", "## Planted faults", "",
             f"Each planted fault in place, `./dev fuzz --empty --jobs 1` over all targets: {len(found)} of {len(records)} found within {faults['limit_s']} s on one core, from an "
             f"empty corpus (`fuzz/measure_faults.py`, `docs/results/fuzz-faults.json`). {measured_at(records)}", "", f"{len(left)} of the {len(measured) + len(left)} planted faults were not measured" + (": " + ", ".join(f"`{name}`" for name in left) if left else "") + ".", "",
             "| fault | seconds | target | found as |", "|---|---|---|---|"]
    for r in records:
        what = r.get("summary", "").removeprefix("slotproof: ").partition(": ")[2] if r["found"] else "not found"
        lines.append(f"| `{r['fault']}` | {r['seconds'] if r['found'] else '-'} | {r.get('target', '-')} | {what[:70].replace('|', ' ')} |")
    return lines


def coverage_page(coverage):
    lines = ["", "## Coverage", "",
             "What the committed corpora and regressions reach, counting inputs that were compared alone: `./dev fuzz --coverage` (`docs/results/fuzz-coverage.json`).", "",
             "| | regions | branches |", "|---|---|---|"]
    lines += [f"| {group} | {figures['regions']} % | {figures['branches']} % |" for group, figures in coverage.items()]
    if (RESULTS / "fuzz-gaps.txt").exists():
        lines += ["", "What is missing, line by line, and why: `docs/results/fuzz-gaps.txt`."]
    return lines


def main():
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and sys.argv[1].startswith("-")):
        print(__doc__, file=sys.stderr)
        return 2
    if len(sys.argv) == 2:
        shutil.copy(Path(sys.argv[1]) / "summary.json", RESULTS / "fuzz-campaign.json")
    parts = {"fuzz-campaign.json": campaign_page, "fuzz-faults.json": faults_page, "fuzz-coverage.json": coverage_page}
    lines = ["# Fuzzing: figures", "", "Written by `fuzz/report.py` from the measurements beside it. What is fuzzed and how: `docs/fuzzing.md`.", ""]
    for name, page in parts.items():
        data = read(name)
        if data:
            lines += page(data)
    (RESULTS / "fuzz.md").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
