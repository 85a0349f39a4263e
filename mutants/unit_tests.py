"""The tests of the repository with a mutant in them: its objects are linked in front of the libraries, which then are not asked for them."""

import os
import re
import subprocess

from sources import ROOT, group_of, included_by

# The tests that run what is mutated in the test program itself.
PLANNER = "Tiling*:Planner*:KernelPaths*:StagedLookup*:FarRows*"
BODIES = "Compaction*:StagedLookup*:RankOwnership*:FastDivisor*:FarRows*:Team*:KernelPaths*:Backends/Tables*host*:Backends/Examples*host*"
REFERENCE = "TightMemory*:SeedCalls*:FlatRowView*:Vectors*:RankOwnership*:Backends/*"


def filter_of(file):
    return PLANNER if file == "kernels/tiling.cpp" else REFERENCE if file.startswith("reference/") else BODIES


# Tests of what stands in a header, which are compiled with the mutant.
TESTS_OF_HEADERS = {"kernels/fast_divisor.h": "property_tests/fast_divisor.cpp"}
FLAGS = ["-std=c++20", "-O0", "-fPIE", "-w"]
SECONDS = 120


class UnitTests:
    def __init__(self, build, folder, builder):
        self.build, self.folder, self.builder = build, folder, builder
        commands = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "bin/slotproof_tests"], capture_output=True, text=True)
        links = [line for line in commands.stdout.splitlines() if " -o bin/slotproof_tests " in line]
        if not links:
            raise SystemExit(f"mutants: {build} has no tests to link; ./dev mutants builds them")
        self.link_command = re.search(r"&& (\S+ .* -o bin/slotproof_tests .*?)( && .*)?$", links[-1]).group(1)

    def run(self, name, objects, tests, replaced=()):
        """None where all pass, else the tests that fail. `objects` stand first; those of the tests in `replaced` are left out."""
        program = self.folder / "work" / name / "tests"
        program.parent.mkdir(parents=True, exist_ok=True)
        words = self.link_command.replace(" -o bin/slotproof_tests ", f" -o {program} ").split()
        words = [word for word in words if not any(word.endswith(f"/{test}.o") for test in replaced)]
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        words[first:first] = map(str, objects)
        linked = subprocess.run(words, cwd=self.build, capture_output=True, text=True)
        if linked.returncode != 0:
            raise SystemExit(f"mutants: {name} does not link with the tests: {linked.stderr.strip().splitlines()[-1]}")  # ours to mend; nothing saw it
        try:
            ran = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast", "--gtest_color=no"], cwd=self.build, capture_output=True,
                                 text=True, timeout=SECONDS, env={**os.environ, "RC_PARAMS": "seed=1 max_success=300"}, errors="replace")
        except subprocess.TimeoutExpired:
            return ["they run for ever"]
        finally:
            program.unlink(missing_ok=True)
        if ran.returncode == 0:
            return None
        return re.findall(r"^\[  FAILED  \] (\S+?)(?:,| \()", ran.stdout, re.M)[:1] or [f"the program ends with {ran.returncode}"]

    def check_control(self):
        if failed := self.run("control", [], f"{PLANNER}:{BODIES}:{REFERENCE}"):
            raise SystemExit(f"mutants: without a mutant, the tests fail: {failed[0]}")

    def judge(self, mutant):
        work = self.folder / "work" / mutant["id"]
        group, replaced = group_of(mutant["file"]), []
        sources = [s for s in (*group.sources, *group.only_tested) if mutant["file"] in included_by(s) and not s.endswith("_plugin.cpp")]
        if mutant["file"] in TESTS_OF_HEADERS:
            replaced = [os.path.basename(TESTS_OF_HEADERS[mutant["file"]])]
            sources.append(TESTS_OF_HEADERS[mutant["file"]])
        objects = []
        for source in sources:
            objects.append(work / (source.replace("/", "_") + ".tests.o"))
            if not self.builder.compile(group, source, objects[-1], work / "overlay", FLAGS):
                return None
        failed = self.run(mutant["id"], objects, filter_of(mutant["file"]), replaced)
        if not failed:
            return None
        return {"status": "killed", "stage": "tests", "cases": None, "finding": failed[0], "rule": None, "rows": None, "columns": None, "invariants": {}, "laws": {},
                "rules": []}
