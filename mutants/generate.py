"""Generates the automatic mutants: universalmutator with the rules of kernels.rules, over what sources.py lists.

usage: generate.py [--out build/mutants/mutants.json]

The tool comes from PyPI into build/mutants/tool. A mutant is one changed line; what changes a comment, white space or nothing is
dropped. Its id is made of the file and of both lines, so it stays the same when other lines move.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from sources import GROUPS, ROOT

# With what it loads, and no more: among its other dependencies is a module that shadows one of Python's own.
TOOL = ("universalmutator==1.14.1", "tabulate==0.10.0")


def installed_tool(folder):
    if not (folder / "universalmutator").exists():
        print(f"mutants: installing {TOOL[0]}", file=sys.stderr)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore", "--no-deps",
                   "--target", str(folder), *TOOL]
        subprocess.run(command, check=True)
    return folder


def code_of(line):
    return re.sub(r"\s+", " ", line.split("//")[0]).strip()


def mutants_of(file, tool, folder):
    """Every changed line of one file, in the order of the lines."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", "from universalmutator.genmutants import main; main()", str(ROOT / file), "--only",
               str(ROOT / "mutants" / "kernels.rules"), "--noCheck", "--mutantDir", str(folder)]
    made = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tool)}, capture_output=True, text=True)
    if made.returncode != 0:
        raise SystemExit(f"mutants: the tool failed on {file}:\n{made.stdout}{made.stderr}")
    original = (ROOT / file).read_text().split("\n")
    found, times = {}, {}
    for path in sorted(folder.iterdir()):
        lines = path.read_text().split("\n")
        changed = [i for i, (a, b) in enumerate(zip(original, lines)) if a != b]
        if len(lines) != len(original) or len(changed) != 1:
            continue
        number = changed[0]
        before, after = original[number], lines[number]
        if code_of(before) == code_of(after) or (number, code_of(after)) in found:
            continue
        found[number, code_of(after)] = (number, before, after)
    mutants = []
    for number, before, after in sorted(found.values()):
        key = f"{file}\n{before.strip()}\n{after.strip()}"
        times[key] = times.get(key, 0) + 1  # the same line may stand in a file twice
        name = hashlib.sha256(f"{key}\n{times[key]}".encode()).hexdigest()[:12]
        mutants.append({"id": name, "file": file, "line": number + 1, "before": before, "after": after})
    return mutants


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants" / "mutants.json")
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    tool = installed_tool(args.out.parent / "tool")
    mutants = []
    for group in GROUPS:
        for file in group.files:
            of_file = mutants_of(file, tool, args.out.parent / "generated")
            print(f"mutants: {len(of_file):4} of {file}", file=sys.stderr)
            mutants += of_file
    args.out.write_text(json.dumps(mutants, indent=1) + "\n")
    print(f"mutants: {len(mutants)} in {args.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
