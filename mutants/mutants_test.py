#!/usr/bin/env python3
"""The mutants' own tools, on a few mutants of one line: what each comes to, that a killed run goes on, and what the report says.

Usage: mutants_test.py PROGRAM    (bin/slotproof)
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import report
import run
from sources import ROOT

PROGRAM = None
FILE = "kernels/remap_entry.h"


def mutant(name, before, after, file=FILE):
    lines = (ROOT / file).read_text().split("\n")
    number = next(i for i, line in enumerate(lines) if before in line)
    return {"id": name, "file": file, "line": number + 1, "before": lines[number], "after": lines[number].replace(before, after)}


KILLED = mutant("killed", "row < limit ?", "row <= limit ?")
SAME = mutant("same", "const uint32_t column = ", "const auto column = ")
STILLBORN = mutant("stillborn", "const uint32_t column = ", "const uint32_t row = ")
OTHER_WAY = mutant("other-way", "(kEndOfPositions - 1) / block_stride", "kEndOfPositions / block_stride", "kernels/remap_view.cpp")


class Mutants(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.state = self.folder / "results.jsonl"

    def command(self, mutants, *options):
        (self.folder / "mutants.json").write_text(json.dumps(mutants))
        return [sys.executable, HERE / "run.py", "--automatic", "--stages", "drawn", "--program", PROGRAM, "--mutants", self.folder / "mutants.json",
                "--state", self.state, "--work", self.folder / "work", *options]

    def run_all(self, mutants, *options):
        done = subprocess.run(self.command(mutants, *options), capture_output=True, text=True, timeout=240, check=False)
        self.said = done.stderr
        return done.returncode

    def results(self):
        return {result["id"]: result for result in map(json.loads, self.state.read_text().splitlines())}

    def test_each_comes_to_what_it_is(self):
        self.assertEqual(self.run_all([KILLED, SAME, STILLBORN, OTHER_WAY]), 0, self.said if hasattr(self, "said") else "")
        results = self.results()
        self.assertEqual({name: result["status"] for name, result in results.items()},
                         {"killed": "killed", "same": "same code", "stillborn": "stillborn", "other-way": "survived"})
        self.assertIn("bounds_safety", results["killed"]["invariants"])
        self.assertGreater(results["killed"]["cases"], 0)
        self.assertFalse((self.folder / "work" / "work" / "killed").exists(), "what was built is removed")

    def test_goes_on_where_it_was_killed(self):
        process = subprocess.Popen(self.command([KILLED, OTHER_WAY, SAME], "--jobs", "1"), stderr=subprocess.PIPE, text=True, start_new_session=True)
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline and not (self.state.exists() and self.state.read_text()):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        self.state.write_text(self.state.read_text() + '{"id": "half a li')  # as a kill may leave it
        kept = self.state.read_text().splitlines()[0]
        self.assertEqual(self.run_all([KILLED, OTHER_WAY, SAME]), 0, self.said)
        self.assertIn("3, of which", self.said)
        self.assertNotIn("of which 0 were judged before", self.said)
        self.assertEqual(self.state.read_text().splitlines()[0], kept)

    def test_ends_where_the_time_is_up(self):
        self.assertEqual(self.run_all([KILLED], "--minutes", "0.0001"), 3)
        self.assertFalse(self.state.exists() and self.state.read_text())

    def test_says_that_mutants_are_of_other_sources(self):
        self.assertNotEqual(self.run_all([{**KILLED, "before": "something else"}]), 0)
        self.assertIn("generate the mutants anew", self.said)

    def test_a_result_is_for_the_sources_as_they_are(self):
        self.state.write_text(json.dumps({**KILLED, "status": "survived", "through": ["drawn"], "key": "of other sources"}) + "\n")
        self.assertEqual(run.State(self.state, [KILLED]).results, {})
        self.state.write_text(json.dumps({**KILLED, "status": "survived", "through": ["drawn"], "key": run.key_of(KILLED)}) + "\n")
        self.assertEqual(list(run.State(self.state, [KILLED]).results), ["killed"])


class Report(unittest.TestCase):
    def seen(self, **by):
        return {name: set(mutants) for name, mutants in by.items()}

    def test_names_what_implies_an_invariant(self):
        seen = self.seen(a=["1", "2", "3"], b=["1", "2"], c=["3"], d=["4"])
        self.assertEqual(report.cover("a", seen), ["b", "c"])
        self.assertEqual(report.cover("b", seen), ["a"])

    def test_the_score_leaves_out_what_is_no_mutant(self):
        row = report.scores([{"file": "f", "status": status, "reason": reason} for status, reason in
                             (("killed", None), ("killed", None), ("survived", None), ("survived", "so"), ("stillborn", None), ("same code", None))])["f"]
        self.assertEqual(report.score_of(row), 2 / 3)

    def test_every_equivalent_has_a_reason(self):
        for entry in report.Equivalents(HERE / "equivalent.json").entries:
            self.assertTrue(entry["reason"].strip() and entry["before"], entry)
            self.assertTrue((ROOT / entry["file"]).exists(), entry)


    def test_is_refused_where_a_mutant_was_not_run(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "mutants.json").write_text(json.dumps([KILLED]))
            done = subprocess.run([sys.executable, HERE / "report.py", "--state", f"{folder}/results.jsonl", "--mutants", f"{folder}/mutants.json", "--out", folder],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("were not run", done.stderr)
            self.assertFalse((Path(folder) / "mutants.md").exists())


class CommittedFigures(unittest.TestCase):
    """docs/results/mutants.json is of the planted faults that there are, and none of them is alive."""

    def test_are_of_these_faults(self):
        data = json.loads((ROOT / "docs" / "results" / "mutants.json").read_text())
        faults = json.loads((ROOT / "property_tests" / "faults" / "faults.json").read_text())
        names = [fault["name"] for kind in ("faults", "path_faults") for fault in faults[kind]]
        self.assertEqual([mutant["name"] for mutant in data["named"]], names, "run ./dev mutants --named and ./dev mutants --report")
        self.assertEqual([mutant["name"] for mutant in data["named"] if mutant["status"] != "killed"], [])

    def test_reach_the_goal(self):
        data = json.loads((ROOT / "docs" / "results" / "mutants.json").read_text())
        total = sum(report.scores(data["automatic"]).values(), report.Counter())
        self.assertGreaterEqual(report.score_of(total), report.GOAL)
        self.assertEqual(total["not run"], 0)


if __name__ == "__main__":
    PROGRAM = Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
