"""What is mutated, and what a mutant is built from: every group is a plug-in of its own."""

from dataclasses import dataclass
from pathlib import Path
import re

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Group:
    name: str
    files: tuple  # that are mutated
    sources: tuple  # of the plug-in
    needs_eigen: bool = False
    only_tested: tuple = ()  # no part of the plug-in, but of the tests


KERNELS = Group(
    "kernels",
    tuple(f"kernels/{name}" for name in ("remap.h", "table_staging.h", "compaction.h", "register_tile.h", "remap_entry.h", "rank_ownership.h",
                                         "fast_divisor.h", "remap_view.cpp", "tiling.cpp")),
    tuple(f"kernels/{name}" for name in ("host_plugin.cpp", "arguments.cpp", "remap_host.cpp", "remap_view.cpp", "status.cpp", "storage_overlap.cpp",
                                         "team/checked_copies.cpp", "team/checked_memory.cpp", "team/memory_fault.cpp", "tiling.cpp")),
    only_tested=tuple(f"kernels/{name}" for name in ("diagnosis_host.cpp", "diagnosis_view.cpp", "kernel_path.cpp", "remap_host_fast.cpp")))
REFERENCE = Group(
    "reference",
    ("reference/remap.cpp", "reference/remap_entry.h", "reference/arguments.cpp"),
    ("mutants/reference_plugin.cpp", "reference/remap.cpp", "reference/arguments.cpp"),
    needs_eigen=True)
GROUPS = (KERNELS, REFERENCE)


def group_of(file):
    return next(group for group in GROUPS if file in group.files)


def included_by(source, cache={}):
    """Every file of the project that a source includes, and itself."""
    if source not in cache:
        found, waiting = set(), [source]
        while waiting:
            name = waiting.pop()
            if name in found or not (ROOT / name).exists():
                continue
            found.add(name)
            text = (ROOT / name).read_text()
            waiting += re.findall(r'#include "([^"]+)"', text)
            waiting += ["kernels/include/" + header for header in re.findall(r"#include <(slotproof/[^>]+)>", text)]
        cache[source] = found
    return cache[source]
