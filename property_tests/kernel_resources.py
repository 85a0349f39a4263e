#!/usr/bin/env python3
"""Compiles the device code and fails where a kernel has a stack frame, a spill or local memory.

A run-time index into registers moves them to local memory without one "spill" in the compiler's report, so the stack frame
and the PTX are looked at too. Exit: 0 clean, 1 a kernel is not (or none was found), 77 no nvcc here (skipped).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = 77

FUNCTION = re.compile(r"Function properties for (\S+)")
ENTRY = re.compile(r"Compiling entry function '([^']+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
PTX_LOCAL = re.compile(r"^\s*\.local\s|\b(?:ld|st)\.local\b", re.MULTILINE)


def parse_report(text):
    """One dict for each function of the report of `ptxas -v`."""
    functions, current, is_entry = [], None, set()
    for line in text.splitlines():
        if match := ENTRY.search(line):
            is_entry.add(match[1])
        elif match := FUNCTION.search(line):
            current = {"name": match[1], "registers": 0, "shared": 0, "stack": None, "spill_stores": 0, "spill_loads": 0}
            functions.append(current)
        elif current is not None and (match := FRAME.search(line)):
            current["stack"], current["spill_stores"], current["spill_loads"] = (int(x) for x in match.groups())
        elif current is not None and (match := USED.search(line)):
            current["registers"] = int(match[1])
            if match := SHARED.search(line):
                current["shared"] = int(match[1])
    return functions, is_entry


def shown_names(names):
    filt = shutil.which("cu++filt") or shutil.which("c++filt")
    if filt is None or not names:
        return names
    done = subprocess.run([filt], input="\n".join(names), capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != len(names):
        return names
    return [shorter(line) for line in lines]


def shorter(name):
    name = re.sub(r"^void ", "", name)
    name = re.sub(r"\(anonymous namespace\)::|_GLOBAL__N__\w+::|slotproof::", "", name)
    name = re.sub(r"\((?:int|\w+)\)(?=\d)", "", name)
    return re.sub(r"\((?:Remap|Diagnosis)View\)$", "", name)


def run_nvcc(nvcc, arguments):
    done = subprocess.run([nvcc, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
        raise SystemExit(f"nvcc failed with exit code {done.returncode}")
    return done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default=os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("sources", nargs="*", type=Path, default=sorted((ROOT / "kernels").glob("*.cu")))
    options = parser.parse_args()
    nvcc = shutil.which(options.nvcc)
    if nvcc is None:
        print(f"skipped: no CUDA compiler at {options.nvcc}")
        return SKIPPED

    results = [check(nvcc, options.arch, source) for source in options.sources]
    return 1 if any(results) or not results else 0


def check(nvcc, arch, source):
    """The problems of one source, printed too."""
    common = ["-std=c++20", "-O2", f"-arch={arch}", "--expt-relaxed-constexpr", f"-I{ROOT}", f"-I{ROOT / 'kernels' / 'include'}",
              str(source)]
    with tempfile.TemporaryDirectory() as folder:
        report = run_nvcc(nvcc, ["-Xptxas", "-v", "-cubin", "-o", str(Path(folder) / "kernels.cubin"), *common])
        ptx_file = Path(folder) / "kernels.ptx"
        run_nvcc(nvcc, ["-ptx", "-o", str(ptx_file), *common])
        ptx = ptx_file.read_text()

    functions, entries = parse_report(report)
    functions.sort(key=lambda function: function["name"])
    problems = []
    if not entries:
        problems.append("the compiler's report names no kernel")
    print(f"{source.name} for {arch}: bytes, except for registers")
    print(f"{'registers':>9} {'stack':>6} {'spills':>7} {'shared':>7}  kernel")
    for function, name in zip(functions, shown_names([function["name"] for function in functions])):
        spills = function["spill_stores"] + function["spill_loads"]
        print(f"{function['registers']:>9} {function['stack']!s:>6} {spills:>7} {function['shared']:>7}  {name}")
        if function["stack"] != 0 or spills != 0:
            problems.append(f"{name}: stack frame {function['stack']}, spills {spills}")
    for line in {match[0].strip() for match in PTX_LOCAL.finditer(ptx)}:
        problems.append(f"local memory in the PTX: {line}")
    for problem in problems:
        print(f"FAILED: {problem}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
