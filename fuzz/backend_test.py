#!/usr/bin/env python3
"""Campaigns whose problems also go to another back end: backend_test.py FUZZ_BUILD FUZZ_FOLLOW FAULT_FOLDER EXAMPLE_PLUGIN_FOLDER.

The follower is of another build than the fuzzers. Where there is none the test is skipped (exit code 77).
"""

import json
import os
import struct
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import engine  # noqa: E402
from campaign_runs import HERE, CampaignCase, hours  # noqa: E402

FOLLOW = FAULTS = EXAMPLES = None
SKIPPED = 77


def journal_of(target, inputs):
    """As fuzz_follow notes a batch before it runs it: fuzz/follow.h."""
    return b"".join(struct.pack("<HH", engine.TARGETS.index(target), len(content)) + content for content in inputs)


class Backends(CampaignCase):
    def follow(self, backend, *options, targets=("remap",), follower=None, seconds=6):
        return self.run_campaign(*targets, "--empty", "--follower", str(follower or FOLLOW), "--backend", backend, *options, *hours(seconds))

    def findings(self):
        return [json.loads(path.read_text()) for path in sorted((self.folder / "findings").glob("*/finding.json"))]

    def test_a_right_one_gets_the_same_problems(self):
        done = self.follow(f"plugin:{FAULTS}/slotproof_host.so")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"fuzz: [1-9]\d+ problems went to plugin:")

    def test_a_wrong_one_is_found_and_shrunk(self):
        done = self.follow(f"plugin:{FAULTS}/slot-wraps.so")
        self.assertEqual(done.returncode, 1, done.stdout)
        case = json.loads(next((self.folder / "findings").glob("*slot-wraps*bounds-safety*/case.json")).read_text())["cases"][0]
        self.assertEqual(len(case["problem"]["token_indices"]), 1)

    def test_one_of_level_core_is_asked_nothing_beyond_it(self):
        done = self.follow(f"plugin:{EXAMPLES}/core_scalar.so", targets=("remap", "arguments"), seconds=10)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"fuzz: [1-9]\d\d+ problems went to plugin:")

    def test_what_is_accepted_is_no_finding(self):
        backend = f"plugin:{FAULTS}/unstable-prefix.so"
        done = self.follow(backend, "--accept", "D10")
        self.assertEqual(done.returncode, 0, done.stdout)
        done = self.follow(backend)
        self.assertEqual(done.returncode, 1, done.stdout)

    def test_what_a_kill_left_becomes_findings(self):
        backend = f"plugin:{FAULTS}/slot-wraps.so"
        cases = self.folder / "backend-cases"
        cases.mkdir(parents=True)
        (cases / "told-but-not-taken.json").write_text("{}")
        seeds = Path(self.scratch.name) / "seeds"  # of the vectors, some of whose slots are beyond 32 bits whatever the corpora hold
        subprocess.run([self.build / "bin" / "fuzz_replay", "--seeds", seeds, HERE.parent / "property_tests" / "vectors"], check=True, stdout=subprocess.DEVNULL)
        inputs = [content for content in (path.read_bytes() for path in (seeds / "remap").iterdir()) if len(content) <= engine.max_length("remap")]
        (self.folder / "follow-journal").write_bytes(journal_of("remap", inputs))
        done = self.follow(backend, targets=("tiling",), seconds=8)  # which hands nothing on
        self.assertEqual(done.returncode, 1, done.stdout)
        summaries = [finding["summary"] for finding in self.findings()]
        self.assertIn("told-but-not-taken", summaries)
        self.assertGreater(len(summaries), 1, "the batch that was running")
        self.assertEqual(list(cases.iterdir()), [])
        self.assertEqual((self.folder / "follow-journal").read_bytes(), b"")

    def test_what_ends_its_process_is_one_finding(self):
        done = self.follow(f"plugin:{EXAMPLES}/ends_process.so")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual([finding["summary"] for finding in self.findings()], ["no_fault the plug-in ended its process with exit code #"], done.stdout)

    def test_a_follower_that_dies_is_started_again(self):
        follower, marker = Path(self.scratch.name) / "follower", Path(self.scratch.name) / "has-died"
        follower.write_text(f"""#!/bin/sh
case "$*" in *--pipe*) [ -e {marker} ] && touch {marker}-and-begun-again || {{
  touch {marker}; {FOLLOW} "$@" & while ! grep -q '^followed [1-9]' {self.folder}/logs/follower.log; do sleep 0.1; done
  kill -9 $!; exit 9; }} ;; esac
exec {FOLLOW} "$@"
""")
        follower.chmod(0o755)
        done = self.follow(f"plugin:{FAULTS}/slotproof_host.so", follower=follower, seconds=10)
        self.assertTrue(marker.with_name("has-died-and-begun-again").exists(), done.stdout)
        self.assertRegex((self.folder / "logs" / "follower.log").read_text(), r"followed [1-9]", "of the second one")
        self.assertLessEqual({finding["summary"] for finding in self.findings()}, {"ended with code 9"}, "a batch that was running, by itself without a fault")

    def test_one_that_cannot_be_had_is_wrong_usage(self):
        self.assertEqual(self.follow("plugin:no_such.so").returncode, 2)

    def test_a_follower_that_cannot_run_is_no_campaign_without_a_finding(self):
        follower = Path(self.scratch.name) / "follower"
        follower.write_text('#!/bin/sh\ncase "$*" in *--describe*) echo "stable 0x3fff a back end" ;; *) echo "no memory"; exit 4 ;; esac\n')
        follower.chmod(0o755)
        done = self.follow("cuda", targets=("tiling",), follower=follower, seconds=60)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("the follower ended with code 4: no memory", done.stdout)
        self.assertLess(self.state()["seconds"], 30, "it is told at once")


if __name__ == "__main__":
    CampaignCase.build, FOLLOW, FAULTS, EXAMPLES = (Path(a).resolve() for a in sys.argv[1:5])
    if not FOLLOW.exists() or not (FAULTS / "slot-wraps.so").exists():
        print(f"SKIPPED: no build beside this one has {FOLLOW.name} and the planted faults")
        sys.exit(SKIPPED)
    os.environ.pop("UBSAN_OPTIONS", None)
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
