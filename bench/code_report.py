#!/usr/bin/env python3
"""Reports the machine code of every kernel, and whether it moved since the benchmark results were accepted.

The kernels are compiled as a build folder has them (--build; nothing else of it is needed, configured is enough), or taken out of
objects or libraries by cuobjdump (--objects). nvdisasm adds the figures of the SASS to those of the PTX. In a bundle
(./dev gpu-bundle) the report is there already.

Exit: 0 nothing moved and no kernel has a stack frame, a spill or local memory; 1 one of this is not so, and where code moved a
benchmark is owed; 2 cannot say: no compiler, no accepted file, or one made with another version of the toolkit.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import machine_code
from machine_code import Cannot

RESULTS = machine_code.ROOT / "bench" / "results"
RESOURCES = ["registers", "stack", "spills", "shared"]
HEADS = {"registers": "regs", "instructions": "instr", "global_16": "global16", "global_4": "global4", "shared_16": "shared16", "shared_4": "shared4",
         "other_accesses": "other", "divisions": "div"}


def listing_of(*kernels):
    """The listing that all of some kernels have figures of."""
    return "sass" if all("sass" in kernel for kernel in kernels) else "ptx"


def problems_of(report):
    """What no kernel may have: a run-time index into registers moves them to local memory without one "spill" in a report."""
    problems = []
    for name, kernel in report["kernels"].items():
        found = {what: kernel[what] for what in ("stack", "spills")}
        found["local memory accesses"] = max(kernel.get(listing, {}).get("local", 0) for listing in ("ptx", "sass"))
        if any(found.values()):
            problems.append(f"{name}: " + ", ".join(f"{what} {count}" for what, count in found.items() if count))
    return problems


def change_of(was, now):
    """How a kernel's code moved; empty where it did not."""
    if was is None:
        return "new"
    if was["sha256"] == now["sha256"]:
        return ""
    listing = listing_of(was, now)
    changes = [(what, was[what], now[what]) for what in RESOURCES]
    changes += [(what, was[listing][what], now[listing][what]) for what in machine_code.FIGURES if listing in was and listing in now]
    return ", ".join(f"{what} {before} -> {after}" for what, before, after in changes if before != after) or "other code, the same figures"


def changes_since(accepted, report):
    """{kernel: how it moved}; Cannot where the two are of different toolkits, whose code differs anyway."""
    if accepted["toolkit"] != report["toolkit"]:
        raise Cannot(f"accepted with toolkit {accepted['toolkit']}, compiled with {report['toolkit']}: whether the sources moved cannot be told")
    changes = {name: change_of(accepted["kernels"].get(name), kernel) for name, kernel in report["kernels"].items()}
    changes |= {name: "gone" for name in accepted["kernels"] if name not in report["kernels"]}
    return {name: change for name, change in changes.items() if change}


def table_of(report, changes):
    listing = listing_of(*report["kernels"].values())
    has_listing = all(listing in kernel for kernel in report["kernels"].values())
    columns = RESOURCES + (machine_code.FIGURES if has_listing else [])
    heads = [HEADS.get(column, column) for column in columns]
    origin = {"sass": "SASS", "ptx": "PTX (nvdisasm was not found)"}[listing] if has_listing else "nowhere: neither PTX nor nvdisasm is here"
    lines = [f"{report['arch']}, toolkit {report['toolkit']}; stack, spills and shared in bytes; accesses by bytes; instructions and what follows from {origin}",
             " ".join(f"{head:>{max(len(head), 5)}}" for head in heads) + "  kernel"]
    for name, kernel in report["kernels"].items():
        values = {**kernel, **kernel.get(listing, {})}
        moved = f"   moved: {changes[name]}" if name in changes else ""
        lines.append(" ".join(f"{values[column]:>{max(len(head), 5)}}" for column, head in zip(columns, heads)) + f"  {name}{moved}")
    lines += [f"gone: {name}" for name, change in changes.items() if change == "gone"]
    return "\n".join(lines)


def text_of(report):
    """As a file: a line for each kernel, so that a difference of two files names the kernels."""
    head = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in report.items() if key != "kernels")
    kernels = ",\n".join(f"  {json.dumps(name)}: {json.dumps(kernel)}" for name, kernel in report["kernels"].items())
    return f'{{\n{head},\n "kernels": {{\n{kernels}\n }}\n}}\n'


def measured(options):
    bundled = options.build / "code.json"
    if not options.objects and (options.build / "bundle.json").exists():
        if not bundled.exists():
            raise Cannot(f"the bundle {options.build} has no code.json: make it anew")
        return {key: value for key, value in json.loads(bundled.read_text()).items() if key != "comparison"}
    nvdisasm = shutil.which(options.nvdisasm)
    with tempfile.TemporaryDirectory(prefix="slotproof-code-") as folder:
        if options.objects:
            cuobjdump = shutil.which(options.cuobjdump)
            if cuobjdump is None:
                raise Cannot("--objects needs cuobjdump")
            arch = options.arch or "sm_90"
            units = machine_code.extracted_units(cuobjdump, options.objects, arch, Path(folder))
        else:
            arch = options.arch or machine_code.architecture_of(options.build)
            units = machine_code.compiled_units(options.build.resolve(), arch, Path(folder))
        return machine_code.measure(units, nvdisasm, arch)


def compared(report, path):
    """Changes since the accepted file, and one line that says what came of the comparison; no changes where there was none."""
    try:
        if not path.exists():
            raise Cannot(f"there is no {path.name}")
        changes = changes_since(json.loads(path.read_text()), report)
    except Cannot as reason:
        return None, f"{len(report['kernels'])} kernels not compared: {reason}"
    if not changes:
        return changes, f"{len(report['kernels'])} kernels, none moved since {path.name} was accepted"
    return changes, f"{len(report['kernels'])} kernels, {len(changes)} moved, came or went since {path.name} was accepted: a benchmark is owed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/dev"), help="a build folder configured with CUDA, or a bundle (default: build/dev)")
    parser.add_argument("--objects", type=Path, nargs="+", help="instead: what was built before, e.g. a library")
    parser.add_argument("--arch", help="default: that of the build")
    parser.add_argument("--cuobjdump", default="cuobjdump", help="where it is, if not on PATH")
    parser.add_argument("--nvdisasm", default="nvdisasm", help="where it is, if not on PATH")
    parser.add_argument("--accepted", type=Path, help="default: bench/results/code-ARCH.json")
    parser.add_argument("--accept", action="store_true", help="write that file: these kernels are those of the committed benchmark results")
    parser.add_argument("--json", type=Path, help="write the report here")
    parser.add_argument("--brief", action="store_true", help="say in one line what moved, without the table")
    parser.add_argument("--moved-is-no-failure", action="store_true", help="exit code 0 where code moved, too, and where it cannot be compared")
    options = parser.parse_args()
    try:
        report = measured(options)
    except Cannot as reason:
        print(f"machine code: cannot say: {reason}")
        return 2
    problems = problems_of(report)
    accepted = options.accepted or RESULTS / f"code-{report['arch']}.json"
    if options.accept and not problems:
        accepted.write_text(text_of(report))
    changes, said = compared(report, accepted)
    if options.json:
        options.json.write_text(text_of({"comparison": {"said": said, "moved": changes}, **report}))
    if not options.brief:
        print(table_of(report, changes or {}))
        for name, kernel in report["kernels"].items():
            if any(kernel.get(listing, {}).get("divisions") for listing in ("ptx", "sass")):
                print(f"machine code: WARNING: {name} divides by a number that is not known at compile time")
    print(f"machine code: {'WARNING: ' if changes else ''}{said}")
    if problems:
        print(f"machine code: FAILED: stack frames, spills or local memory: {'; '.join(problems)}")
        return 1
    if options.moved_is_no_failure:
        return 0
    return 2 if changes is None else 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
