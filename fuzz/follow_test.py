#!/usr/bin/env python3
"""The corpora on other back ends, in batches where one works on a device: follow_test.py FUZZ_FOLLOW FAULT_FOLDER
EXAMPLE_PLUGIN_FOLDER."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CORPORA = Path(__file__).resolve().parent / "corpus"
FOLLOW = FAULTS = EXAMPLES = None


def follow(backend, findings, *options):
    done = subprocess.run([str(FOLLOW), "--backend", backend, "--inputs", str(CORPORA), "--findings", str(findings), *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=200)
    return done.returncode, done.stdout


class Follow(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="slotproof-follow-")
        self.findings = Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def test_our_kernels_as_a_plugin_agree_on_every_input(self):
        code, output = follow(f"plugin:{FAULTS}/slotproof_host.so", self.findings)
        self.assertEqual(code, 0, output)
        self.assertGreater(int(re.search(r"followed (\d+) in", output)[1]), 300, output)

    def test_a_plugin_of_level_core_is_asked_nothing_beyond_it(self):
        code, output = follow(f"plugin:{EXAMPLES}/core_scalar.so", self.findings)
        self.assertEqual(code, 0, output)
        self.assertGreater(int(re.search(r"followed (\d+) in", output)[1]), 30, output)

    def test_what_is_accepted_is_no_finding(self):
        self.assertEqual(follow(f"plugin:{FAULTS}/unstable-prefix.so", self.findings, "--accept", "D10")[0], 0)
        self.assertEqual(follow(f"plugin:{FAULTS}/unstable-prefix.so", self.findings)[0], 1)

    def test_a_planted_fault_is_found_and_shrunk(self):
        code, output = follow(f"plugin:{FAULTS}/num-blocks-ignored.so", self.findings)
        self.assertEqual(code, 1, output)
        cases = [json.loads(p.read_text())["cases"][0] for p in self.findings.glob("num-blocks-ignored-*.json")]
        self.assertGreater(len(cases), 0)
        self.assertEqual(len(cases[0]["problem"]["token_indices"]), 1)

    def test_the_device_agrees_on_every_input(self):
        code, output = follow("cuda", self.findings)
        if code == 2 and ("CUDA" in output):
            self.skipTest(output.strip())
        self.assertEqual(code, 0, output)
        self.assertIn("many launches a synchronisation", output)


if __name__ == "__main__":
    FOLLOW, FAULTS, EXAMPLES = (Path(a).resolve() for a in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
