#!/usr/bin/env python3
"""The campaign runner: it ends, survives a kill, and keeps each finding once. Usage: campaign_test.py BUILD."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import engine  # noqa: E402
from findings import stem_of  # noqa: E402

HERE = Path(__file__).resolve().parent
BUILD = None
FAULT = "interleave-unchecked"


def command(folder, *options, build=None):
    return [sys.executable, str(HERE / "campaign.py"), "--folder", str(folder), "--build", str(build or BUILD), "--jobs", "1", *options]


def run(folder, *options, build=None):
    return subprocess.run(command(folder, *options, build=build), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)


def hours(seconds):
    return ["--hours", str(seconds / 3600)]


class Campaign(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="slotproof-campaign-")
        self.folder = Path(self.scratch.name) / "campaign"

    def tearDown(self):
        self.scratch.cleanup()

    def state(self):
        return json.loads((self.folder / "state.json").read_text())

    def test_without_a_finding_it_ends_with_0_and_a_summary(self):
        done = run(self.folder, "tiling", "flat_row_view", "--empty", *hours(5))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("0 findings", done.stdout)
        for target in ("tiling", "flat_row_view"):
            record = self.state()["targets"][target]
            self.assertGreater(record["runs"], 1000)
            self.assertGreater(record["compared"], 0.9 * record["judged_runs"])
            self.assertGreater(len(list((self.folder / "corpus" / target).iterdir())), 5)

    def test_wrong_usage_ends_with_2(self):
        self.assertEqual(run(self.folder, "no_such_target").returncode, 2)
        self.assertEqual(run(self.folder, "--hours", "0").returncode, 2)
        self.assertEqual(run(self.folder, build=self.folder).returncode, 2)

    def test_killed_in_the_middle_it_goes_on_with_corpus_and_findings_whole(self):
        first = subprocess.Popen(command(self.folder, "tiling", "--empty", *hours(30)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        corpus = self.folder / "corpus" / "tiling"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not corpus.is_dir() or len(list(corpus.iterdir())) < 5):
            time.sleep(0.05)
        time.sleep(6)  # the state is saved every five seconds
        first.send_signal(signal.SIGKILL)
        first.wait()
        fuzzers, deadline = str(corpus), time.monotonic() + 20
        while fuzzers and time.monotonic() < deadline:
            time.sleep(0.2)
            fuzzers = subprocess.run(["pgrep", "-f", str(corpus)], stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(fuzzers, "", "a fuzzer outlived its campaign")
        engine.drop_torn_inputs(corpus)  # that this very kill may have left; the one below is there for certain
        before = {p.name: p.read_bytes() for p in corpus.iterdir()}
        self.assertGreaterEqual(len(before), 5)
        seconds = self.state()["seconds"]
        self.assertGreater(seconds, 4)
        os.rename(corpus, corpus.with_name(".tiling-old"))  # a kill in the middle of a merge
        corpus.with_name(".tiling-new").mkdir()
        whole = next(name for name, content in before.items() if len(content) > 1)
        (corpus.with_name(".tiling-old") / whole).write_bytes(before[whole][:-1])  # what a kill in the middle of a write leaves
        (self.folder / "incoming" / "tiling-9-crash-of-old").write_bytes(b"no crash at all")
        second = run(self.folder, "tiling", "--empty", *hours(seconds + 4))
        self.assertEqual(second.returncode, 0, second.stdout)
        self.assertIn("going on", second.stdout)
        self.assertIn("1 inputs that were half written", second.stdout)
        self.assertEqual(list((self.folder / "incoming").iterdir()), [])
        for name, content in before.items():
            if name != whole:
                self.assertEqual((corpus / name).read_bytes(), content)
        self.assertEqual(engine.drop_torn_inputs(corpus), 0)
        self.assertGreaterEqual(self.state()["seconds"], seconds + 3)

    def test_a_fault_is_one_finding_however_often_it_is_found_and_is_shrunk_to_a_case(self):
        build = BUILD / "faults" / FAULT
        self.assertEqual(run(self.folder, "arguments", "--empty", "--stop-at-finding", *hours(90), build=build).returncode, 1)
        done = run(self.folder, "arguments", "--empty", *hours(self.state()["seconds"] + 15), build=build)
        self.assertEqual(done.returncode, 1, done.stdout)
        found = list((self.folder / "findings").iterdir())
        self.assertEqual(len(found), 1, done.stdout)
        record = json.loads((found[0] / "finding.json").read_text())
        self.assertEqual(record["summary"], "slotproof: arguments: argument_validation A11")
        self.assertGreater(record["times_found"], 1)
        self.assertEqual(record["shrunk_by"], "case")
        case = json.loads((found[0] / "case.json").read_text())["cases"][0]
        self.assertEqual(case["expected"], {"error": "A11"})
        self.assertLessEqual(len(case["problem"]["token_indices"]), 1)
        # The fault's fuzzer still fails on it, ours does not.
        for place, code in ((build, 1), (BUILD, 0)):
            replay = subprocess.run([str(place / "bin" / "fuzz_arguments"), "--replay", str(found[0] / "shrunk")], stdout=subprocess.PIPE, text=True)
            self.assertEqual(replay.returncode, code, replay.stdout)

    def test_an_artifact_that_a_kill_left_becomes_a_finding(self):
        build = BUILD / "faults" / FAULT
        self.assertEqual(run(self.folder, "arguments", "--empty", "--stop-at-finding", *hours(60), build=build).returncode, 1)
        found = next((self.folder / "findings").iterdir())
        (self.folder / "incoming" / "arguments-3-crash-abc").write_bytes((found / "input").read_bytes())
        for path in found.iterdir():
            path.unlink()
        found.rmdir()
        done = run(self.folder, "tiling", "--empty", *hours(2), build=build)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertTrue((found / "finding.json").exists(), done.stdout)


    def test_another_back_end_gets_the_same_problems_and_its_findings_are_kept(self):
        other = next((b for b in (BUILD.parent / "dev", BUILD.parent / "check") if (b / "bin" / "fuzz_follow").exists()), None)
        if other is None or not (other / "faults" / "slot-wraps.so").exists():
            self.skipTest("no build beside this one has fuzz_follow and the planted faults")
        options = ["remap", "--empty", "--follower", str(other / "bin" / "fuzz_follow"), "--backend"]
        right = run(self.folder, *options, f"plugin:{other}/faults/slotproof_host.so", *hours(6))
        self.assertEqual(right.returncode, 0, right.stdout)
        self.assertRegex(right.stdout, r"fuzz: [1-9]\d+ problems went to plugin:")
        wrong = run(self.folder, *options, f"plugin:{other}/faults/slot-wraps.so", *hours(6))
        self.assertEqual(wrong.returncode, 1, wrong.stdout)
        case = json.loads(next((self.folder / "findings").glob("*slot-wraps*bounds-safety*/case.json")).read_text())["cases"][0]
        self.assertEqual(len(case["problem"]["token_indices"]), 1)
        absent = run(self.folder, *options, "plugin:no_such.so", *hours(6))
        self.assertEqual(absent.returncode, 2, absent.stdout)


class Summaries(unittest.TestCase):
    def test_the_first_summary_names_the_finding(self):
        log = "x\nSUMMARY: slotproof: remap: stable_order R12\n==1== deadly\nSUMMARY: libFuzzer: deadly signal\n"
        self.assertEqual(engine.summary_in(log, 77), "slotproof: remap: stable_order R12")
        self.assertIsNone(engine.summary_in("SUMMARY: of what was survived\n", 0))
        self.assertEqual(engine.summary_in("", 70), "timeout")

    def test_a_sanitizers_summary_loses_the_folder_it_was_built_in(self):
        log = "SUMMARY: AddressSanitizer: heap-buffer-overflow /a/b/kernels/remap.h:12:3 in slotproof::f\n"
        self.assertEqual(engine.summary_in(log, 1), "heap-buffer-overflow at remap.h:12 in slotproof::f")
        self.assertEqual(engine.summary_in(log.replace("/a/b", "/c"), 1), engine.summary_in(log, 1))

    def test_findings_of_one_name_have_one_folder(self):
        self.assertEqual(stem_of("remap", "slotproof: remap: a"), stem_of("remap", "slotproof: remap: a"))
        self.assertNotEqual(stem_of("remap", "slotproof: remap: a"), stem_of("remap", "slotproof: remap: b"))


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    os.environ.pop("UBSAN_OPTIONS", None)
    unittest.main()
