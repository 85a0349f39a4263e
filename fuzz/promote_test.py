#!/usr/bin/env python3
"""slotproof promote, and what it has kept: promote_test.py SLOTPROOF FUZZ_REPLAY."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SLOTPROOF = FUZZ_REPLAY = None
WHY = "a slot was none | where it should not"


def call(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


class Promote(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="slotproof-promote-")
        self.tree = Path(self.scratch.name) / "tree"
        for name in ("fuzz", "property_tests"):
            (self.tree / name).mkdir(parents=True)

    def tearDown(self):
        self.scratch.cleanup()

    def finding(self, folder, content):
        path = Path(self.scratch.name) / folder / "input"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        return path

    def promote(self, path, *options):
        return call(SLOTPROOF, "promote", path, "--why", WHY, "--tree", self.tree, *options)

    def test_one_command_makes_an_input_a_vector_and_a_line(self):
        choices = bytes(range(64))
        code, output = self.promote(self.finding("remap-some-finding", choices))
        self.assertEqual(code, 0, output)
        self.assertIn("it holds in this build", output)
        kept = list((self.tree / "fuzz" / "regressions" / "remap").iterdir())
        self.assertEqual([p.read_bytes() for p in kept], [choices])
        vector = self.tree / "property_tests" / "regressions" / f"{kept[0].name}.json"
        case = json.loads(vector.read_text())["cases"][0]
        self.assertEqual((case["op"], case["note"], case["kind"]), ("remap", WHY, "regression"))
        self.assertIn("expected", case)
        self.assertEqual(call(SLOTPROOF, "replay", vector, "--backend", "reference", "--backend", "host")[0], 0)
        index = (self.tree / "property_tests" / "regressions" / "index.md").read_text()
        self.assertEqual(index.count(kept[0].name), 2)
        self.assertEqual(call(FUZZ_REPLAY, self.tree / "fuzz" / "regressions")[0], 0)
        # The vector is an input again, and says the same.
        self.assertEqual(call(FUZZ_REPLAY, "remap", vector)[0], 0)
        self.assertEqual(self.promote(kept[0])[0], 2, "nothing is promoted twice")

    def test_a_case_file_says_by_its_problem_which_target_it_is_for(self):
        vectors = json.loads((ROOT / "property_tests" / "vectors" / "rules-view.json").read_text())
        path = self.finding("anything", json.dumps(dict(vectors, cases=vectors["cases"][:1])).encode())
        code, output = self.promote(path, "--id", "a-view")
        self.assertEqual(code, 0, output)
        self.assertTrue((self.tree / "fuzz" / "regressions" / "flat_row_view" / "a-view").exists())

    def test_an_id_that_another_target_has_is_refused(self):
        self.assertEqual(self.promote(self.finding("remap-a", bytes(range(64))), "--id", "twice")[0], 0)
        before = {p: p.read_bytes() for p in self.tree.rglob("*") if p.is_file()}
        code, output = self.promote(self.finding("arguments-b", bytes(range(1, 65))), "--id", "twice")
        self.assertEqual(code, 2, output)
        self.assertIn("property_tests/regressions/twice.json is there already", output)
        self.assertEqual({p: p.read_bytes() for p in self.tree.rglob("*") if p.is_file()}, before)

    def test_an_input_that_says_nothing_any_more_is_no_regression_that_holds(self):
        code, output = call(FUZZ_REPLAY, self.finding("remap", b"{ no case").parent)
        self.assertEqual(code, 1, output)
        self.assertIn("it says nothing to the target remap", output)
        self.assertEqual(call(FUZZ_REPLAY, self.tree / "fuzz")[0], 2, "no inputs at all")

    def test_wrong_usage_writes_nothing(self):
        path = self.finding("remap-x", b"{ no case")
        self.assertEqual(self.promote(path)[0], 2, "it says nothing to the target")
        self.assertEqual(self.promote(path, "--target", "no_such")[0], 2)
        self.assertEqual(call(SLOTPROOF, "promote", path, "--why", WHY, "--tree", self.scratch.name)[0], 2)
        self.assertEqual([p for p in self.tree.rglob("*") if p.is_file()], [])


class Kept(unittest.TestCase):
    """What is kept holds, and the index tells all of it."""

    def test_every_regression_has_its_line_and_every_vector_holds(self):
        index = (ROOT / "property_tests" / "regressions" / "index.md").read_text()
        inputs = [p for p in (ROOT / "fuzz" / "regressions").rglob("*") if p.is_file()]
        vectors = list((ROOT / "property_tests" / "regressions").glob("*.json"))
        self.assertGreater(len(inputs), 0)
        for path in inputs + vectors:
            self.assertIn(f"`{path.relative_to(ROOT)}`", index)
        for vector in vectors:
            code, output = call(SLOTPROOF, "replay", vector, "--backend", "reference", "--backend", "host")
            self.assertEqual(code, 0, output)


if __name__ == "__main__":
    SLOTPROOF, FUZZ_REPLAY = (Path(a).resolve() for a in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
