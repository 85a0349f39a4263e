"""Writes docs/results/mutants.md and mutants.json from the results that run.py kept.

usage: report.py [--state findings/mutants/results.jsonl] [--out docs/results]      refused where a mutant was not run

The score is killed / (all that compile and make other machine code, less the equivalent ones). Which are equivalent, and why, is said in
mutants/equivalent.json, by hand. Exit code 1: a survivor that it does not explain, or one that it explains and that was killed.
"""

import argparse
import json
import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from equivalents import Equivalents
from judge import FIRST_CASES, MOST_CASES as MANY_CASES
from run import State
from sources import ROOT

GOAL = 0.95
LATER = (("vectors", "the committed vectors"), ("tests", "unit tests (of the planner's mutants most, for another plan is as right)"), ("paths", "a case for each path of the kernels"),
         ("many", "many more drawn cases"), ("load", "loading the plug-in"))


def load(state_path, mutants_path):
    """(named, automatic): what is known of each, in the order of the lists."""
    faults = json.loads((ROOT / "property_tests" / "faults" / "faults.json").read_text())
    mutants = json.loads(mutants_path.read_text())
    state = State(state_path, [*mutants, *({"id": fault["name"]} for kind in ("faults", "path_faults") for fault in faults[kind])])
    named = [{**fault, **state.results.get(fault["name"], {"status": "not run"})} for kind in ("faults", "path_faults") for fault in faults[kind]]
    automatic = [{**mutant, **state.results.get(mutant["id"], {"status": "not run"})} for mutant in mutants]
    return named, automatic


def scores(automatic):
    """A row for each file: how many of each kind, and the score."""
    rows = {}
    for mutant in automatic:
        row = rows.setdefault(mutant["file"], Counter())
        row["equivalent" if mutant.get("reason") and not mutant.get("alive") else mutant["status"]] += 1
    return rows


def score_of(row):
    judged = row["killed"] + row["survived"]
    return row["killed"] / judged if judged else None


def seen_by(mutants):
    """For each invariant, no_fault and each law: the mutants that it saw."""
    seen = defaultdict(set)
    for mutant in mutants:
        for name in (*mutant.get("invariants", {}), *mutant.get("laws", {})):
            seen[name].add(mutant.get("name") or mutant["id"])
    return seen


def matrix_lines(named, automatic):
    seen, seen_named = seen_by(named + automatic), seen_by(named)
    ids = {mutant["id"]: mutant for mutant in automatic}
    lines = ["| seen by | named | automatic | it alone | or implied by |", "|---|---|---|---|---|"]
    for name in sorted(seen, key=lambda n: (n[0].isupper(), -len(seen[n]))):
        others = set().union(*(mutants for other, mutants in seen.items() if other != name))
        alone = sorted(seen[name] - others)
        by_name = [f"`{m}`" for m in alone if m not in ids]
        shown = f"{len(alone)}" + (f": {', '.join(by_name[:4])}" if by_name else "") + (f" and {len(by_name) - 4} named more" if len(by_name) > 4 else "")
        implied = "" if alone else ", ".join(sorted(cover(name, seen)))
        lines.append(f"| {name} | {len(seen_named[name])} | {len(seen[name]) - len(seen_named[name])} | "
                     f"{shown} | {implied} |")
    return lines


def cover(name, seen):
    """Few others that together see all that `name` sees: always the one that sees most of the rest."""
    left, chosen = set(seen[name]), []
    while left:
        best = max((other for other in seen if other != name), key=lambda other: len(seen[other] & left))
        chosen.append(best)
        left -= seen[best]
    return chosen


def median(values):
    return round(statistics.median(values)) if values else None


def page(named, automatic):
    killed = [m for m in named + automatic if m["status"] == "killed"]
    by_cases = [m for m in killed if m.get("cases")]
    drawn = [m["cases"] for m in killed if m["stage"] in ("drawn", "many") and m.get("cases")]
    rows = scores(automatic)
    total = sum(rows.values(), Counter())
    named_alive = [m["name"] for m in named if m["status"] != "killed"]
    lines = ["# Mutants: figures", "", "Written by `mutants/report.py` from what `./dev mutants` kept; all of it in `mutants.json`. What the columns mean: `docs/assurance.md`.", "",
             f"- Named mutants, planted in the compiled sources by hand (`property_tests/faults`): {len(named) - len(named_alive)} of {len(named)} are killed"
             f"{'; ALIVE: ' + ', '.join(named_alive) if named_alive else ''}. The diagnosis's own, the checkers' own and those of the CUDA build are killed by tests of theirs in `./dev test` and `./dev gpu`.",
             f"- Automatic mutants (universalmutator, rules in `mutants/kernels.rules`): {sum(total.values())} made; {total['stillborn']} do not compile, {total['same code']} make the machine code "
             f"that was there before, {total['equivalent']} are equivalent by reasons below. Of the other {total['killed'] + total['survived']}, {total['killed']} are killed: "
             f"**{100 * (score_of(total) or 0):.1f} %** (goal {100 * GOAL:.0f} %).",
             f"- Of the {len(killed)} that are killed, {sum(m['stage'] == 'drawn' for m in killed)} show in the first {FIRST_CASES} drawn cases. The others were put to further stages in turn, and the first that saw them was: "
             + ", ".join(f"{label} {sum(m['stage'] == stage for m in killed)}" for stage, label in LATER) + ". What an earlier stage saw was not put to a later one.",
             f"- Cases until a mutant shows, of those that drawn cases showed: median {median(drawn)}, nine in ten within {round(statistics.quantiles(drawn, n=10)[8])}, the most {max(drawn)}; none may need more than {MANY_CASES}.",
             f"- Shrunk problems (one second is given to it): median {median([m['rows'] for m in by_cases if m.get('rows') is not None])} rows of {median([m['columns'] for m in by_cases if m.get('columns') is not None])} columns.", "",
             "| file | killed | survive | equivalent | same code | stillborn | score |", "|---|---|---|---|---|---|---|"]
    for file, row in rows.items():
        score = score_of(row)
        lines.append(f"| `{file}` | {row['killed']} | {row['survived']} | {row['equivalent']} | {row['same code']} | {row['stillborn']} | {'-' if score is None else f'{100 * score:.1f} %'} |")
    lines += ["", "## Which invariant sees which", "",
              "Of each mutant that cases show, every case of the first few hundred was judged by all invariants and laws, also behind the first finding. On the checked host a body that misuses memory ends with "
              "a fault (`no_fault`) before there is an output to judge; on a GPU or in a foreign kernel it would be for the invariants.", ""]
    lines += matrix_lines([m for m in named if m["status"] == "killed"], [m for m in automatic if m["status"] == "killed"])
    lines += ["", "## Named mutants", "", "| mutant | cases | shrunk to | explained as | seen by |", "|---|---|---|---|---|"]
    for m in named:
        if m["status"] != "killed":
            lines.append(f"| `{m['name']}` | | | {m['status']} | |")
            continue
        cases = "paths" if m["stage"] == "paths" else m["cases"]
        lines.append(f"| `{m['name']}` | {cases} | {m['rows']} x {m['columns']} | {m['finding']} {m['rule'] or ''} | {', '.join([*m['invariants'], *m['laws']])} |")
    lines += ["", "## Survivors", ""]
    survivors = [m for m in automatic if m["status"] == "survived" and (not m.get("reason") or m["alive"])]
    lines += [f"- `{m['file']}`: `{m['before'].strip()}` becomes `{m['after'].strip()}`: {m.get('reason') or 'NOT EXPLAINED'}" for m in survivors] or ["None."]
    lines += ["", "## Equivalent", "", "By reason (`mutants/equivalent.json`):", ""]
    by_reason = defaultdict(list)
    for m in automatic:
        if m.get("reason") and not m["alive"]:
            by_reason[m["file"], m["reason"]].append(m)
    lines += [f"- `{file}`, {len(found)}: {reason}" for (file, reason), found in by_reason.items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=ROOT / "findings" / "mutants" / "results.jsonl")
    parser.add_argument("--mutants", type=Path, default=ROOT / "build" / "mutants" / "mutants.json")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    args = parser.parse_args()
    named, automatic = load(args.state, args.mutants)
    if not_run := sum(mutant["status"] == "not run" for mutant in named + automatic):
        raise SystemExit(f"mutants: {not_run} were not run on these sources; ./dev mutants goes on with them. No report is written")
    equivalents = Equivalents(ROOT / "mutants" / "equivalent.json")
    for mutant in automatic:
        if mutant["status"] == "survived":
            entry = equivalents.entry_of(mutant) or {}
            mutant["reason"], mutant["alive"] = entry.get("reason"), entry.get("alive", False)
    (args.out / "mutants.md").write_text(page(named, automatic))
    keep = ("name", "id", "file", "line", "before", "after", "status", "reason", "alive", "through", "stage", "cases", "finding", "rule", "rows", "columns", "invariants", "laws", "rules", "seconds")
    data = {"format": "slotproof-mutants", "version": 1,
            "named": [{k: m[k] for k in keep if m.get(k) not in (None, False)} for m in named],
            "automatic": [{k: m[k] for k in keep if m.get(k) not in (None, False)} for m in automatic]}
    lines = ",\n".join(f' "{kind}": [\n  ' + ",\n  ".join(json.dumps(m) for m in data[kind]) + "\n ]" for kind in ("named", "automatic"))
    (args.out / "mutants.json").write_text(f'{{"format": "{data["format"]}", "version": {data["version"]},\n{lines}\n}}\n')
    unexplained = [m for m in automatic if m["status"] == "survived" and not m["reason"]]
    for entry in equivalents.unused():
        print(f"mutants: nothing that survives is explained by {entry}", file=sys.stderr)
    print(f"mutants: {len(unexplained)} survivors without a reason; {args.out / 'mutants.md'} is written", file=sys.stderr)
    return 1 if unexplained or equivalents.unused() else 0


if __name__ == "__main__":
    sys.exit(main())
