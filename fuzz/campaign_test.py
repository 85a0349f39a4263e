#!/usr/bin/env python3
"""The campaign runner: it ends, survives a kill, and keeps each finding once. Usage: campaign_test.py BUILD."""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "bench")]
import campaign  # noqa: E402
import corpora  # noqa: E402
import engine  # noqa: E402
import loop  # noqa: E402
from campaign_runs import CampaignCase, hours  # noqa: E402
from findings import stem_of  # noqa: E402

FAULT = "interleave-unchecked"


class Ends(CampaignCase):
    def test_without_a_finding_it_ends_with_0_and_a_summary(self):
        done = self.run_campaign("tiling", "flat_row_view", "--empty", *hours(5))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("0 findings", done.stdout)
        for target in ("tiling", "flat_row_view"):
            record = self.state()["targets"][target]
            self.assertGreater(record["runs"], 0)
            self.assertGreater(record["compared"], 0.9 * record["judged_runs"])
            self.assertGreater(len(list((self.folder / "corpus" / target).iterdir())), 0)

    def test_wrong_usage_ends_with_2(self):
        self.assertEqual(self.run_campaign("no_such_target").returncode, 2)
        self.assertEqual(self.run_campaign("--hours", "0").returncode, 2)
        self.assertEqual(self.run_campaign(build=self.folder).returncode, 2)

    def test_a_folder_in_which_another_one_works_is_refused(self):
        first = self.begin_campaign("tiling", "--empty", *hours(60))
        try:
            self.wait_until((self.folder / "state.json").exists, "the first one has begun")
            second = self.run_campaign("tiling", "--empty", *hours(2))
        finally:
            first.terminate()
            code = first.wait()
        self.assertEqual(second.returncode, 2, second.stdout)
        self.assertIn("another campaign works in", second.stdout)
        self.assertEqual(code, 130)

    def test_what_is_no_finding_does_not_end_as_one(self):
        self.folder = Path("/proc/no-such-folder")
        done = self.run_campaign("tiling", "--empty", *hours(2))
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("Error", done.stdout)

    def test_a_fuzzer_that_cannot_run_is_no_campaign_without_a_finding(self):
        build = self.folder.with_name("build")
        (build / "bin").mkdir(parents=True)
        (build / "bin" / "fuzz_tiling").symlink_to(shutil.which("false"))
        (build / "bin" / "fuzz_flat_row_view").symlink_to(self.build / "bin" / "fuzz_flat_row_view")
        done = self.run_campaign("tiling", "flat_row_view", "--empty", *hours(5), build=build)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("fuzzers that cannot run: tiling;", done.stdout)
        self.assertEqual([path.name for path in (self.folder / "logs").iterdir()], ["tiling-ended-by-itself.log"])
        self.assertLess(self.state()["targets"]["tiling"]["slices"], 5, "it is started again after pauses that grow")
        self.assertGreater(self.state()["targets"]["flat_row_view"]["runs"], 0, "the others go on")

    def test_an_artifact_of_a_fuzzer_that_ended_well_is_a_finding_only_where_it_ends_one(self):
        build = self.folder.with_name("build")
        (build / "bin").mkdir(parents=True)
        fuzzer = build / "bin" / "fuzz_tiling"
        fuzzer.write_text("""#!/bin/sh
case "$*" in *-artifact_prefix=*) for a in "$@"; do case "$a" in -artifact_prefix=*) echo slow > "${a#*=}slow-unit-1" ;; esac; done; sleep 2 ;; esac
""")
        fuzzer.chmod(0o755)
        done = self.run_campaign("tiling", "--empty", *hours(3), build=build)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(list((self.folder / "incoming").iterdir()), [])

    def test_the_tree_may_be_built_anew_while_it_runs(self):
        build = self.folder.with_name("build")
        shutil.copytree(self.build / "bin", build / "bin", symlinks=True)
        running = self.begin_campaign("tiling", "flat_row_view", *hours(8), build=build)
        self.wait_until((self.folder / "state.json").exists, "it has begun")
        shutil.rmtree(build)
        self.assertEqual(running.wait(), 0)
        self.assertGreater(min(record["slices"] for record in self.state()["targets"].values()), 0)


class Resumes(CampaignCase):
    def test_killed_in_the_middle_it_goes_on_with_corpus_and_findings_whole(self):
        first = self.begin_campaign("tiling", "--empty", *hours(30))
        corpus = self.folder / "corpus" / "tiling"
        self.wait_until(lambda: corpus.is_dir() and len(list(corpus.iterdir())) >= 5, "inputs")
        self.wait_until(lambda: self.state()["seconds"] > 4, "the state is saved every five seconds")
        first.send_signal(signal.SIGKILL)
        first.wait()
        self.wait_until(lambda: not subprocess.run(["pgrep", "-f", str(corpus)], stdout=subprocess.PIPE).stdout, "a fuzzer outlived its campaign", 20)
        corpora.drop_torn_inputs(corpus)  # that this very kill may have left; the one below is there for certain
        before = {p.name: p.read_bytes() for p in corpus.iterdir()}
        self.assertGreaterEqual(len(before), 5)
        seconds = self.state()["seconds"]
        os.rename(corpus, corpus.with_name(".tiling-old"))  # a kill in the middle of a merge
        corpus.with_name(".tiling-new").mkdir()
        whole = next(name for name, content in before.items() if len(content) > 1)
        (corpus.with_name(".tiling-old") / whole).write_bytes(before[whole][:-1])  # what a kill in the middle of a write leaves
        (self.folder / "incoming" / "tiling-9-crash-of-old").write_bytes(b"no crash at all")
        second = self.run_campaign("tiling", "--empty", *hours(seconds + 4))
        self.assertEqual(second.returncode, 0, second.stdout)
        self.assertIn("going on", second.stdout)
        self.assertIn("1 inputs that were half written", second.stdout)
        self.assertEqual(list((self.folder / "incoming").iterdir()), [])
        for name, content in before.items():
            if name != whole:
                self.assertEqual((corpus / name).read_bytes(), content)
        self.assertEqual(corpora.drop_torn_inputs(corpus), 0)
        self.assertGreaterEqual(self.state()["seconds"], seconds + 3)

    def test_fewer_hours_than_are_done_are_a_further_campaign(self):
        self.assertEqual(self.run_campaign("tiling", "--empty", *hours(6)).returncode, 0)
        first, inputs = self.state(), len(list((self.folder / "corpus" / "tiling").iterdir()))
        done = self.run_campaign("tiling", "--empty", *hours(3))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("going on", done.stdout)
        self.assertLess(self.state()["seconds"], first["seconds"])
        self.assertLess(self.state()["targets"]["tiling"]["seconds"], first["targets"]["tiling"]["seconds"], "figures of the further one alone")
        self.assertGreater(self.state()["number"], first["number"], "names of its own")
        self.assertGreaterEqual(len(list((self.folder / "corpus" / "tiling").iterdir())), inputs, "on the same corpus")


class Finds(CampaignCase):
    def setUp(self):
        super().setUp()
        self.faulty = self.build / "faults" / FAULT

    def test_a_fault_is_one_finding_however_often_it_is_found_and_is_shrunk_to_a_case(self):
        self.assertEqual(self.run_campaign("arguments", "--empty", "--stop-at-finding", *hours(90), build=self.faulty).returncode, 1)
        done = self.run_campaign("arguments", "--empty", *hours(self.state()["seconds"] + 15), build=self.faulty)
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
        for place, code in ((self.faulty, 1), (self.build, 0)):
            replay = subprocess.run([str(place / "bin" / "fuzz_arguments"), "--replay", str(found[0] / "shrunk")], stdout=subprocess.PIPE, text=True)
            self.assertEqual(replay.returncode, code, replay.stdout)

    def test_a_seed_that_ends_the_fuzzer_is_a_finding_and_no_seed_any_more(self):
        done = self.run_campaign("arguments", *hours(15), build=self.faulty)
        self.assertEqual(done.returncode, 1, done.stdout)
        committed = len(list((Path(__file__).resolve().parent / "corpus" / "arguments").iterdir()))
        seeds = len(list((self.folder / "seeds" / "arguments").iterdir()))
        self.assertLess(seeds, committed)
        self.assertGreater(seeds, committed / 2)
        self.assertGreater(len(list((self.folder / "corpus" / "arguments").iterdir())), 0, done.stdout)
        self.assertGreater(self.state()["targets"]["arguments"]["runs"], 0, done.stdout)
        self.assertLess(len(list((self.folder / "logs").iterdir())), 3, "a log is kept with its finding, once")

    def test_an_artifact_that_a_kill_left_becomes_a_finding(self):
        self.assertEqual(self.run_campaign("arguments", "--empty", "--stop-at-finding", *hours(60), build=self.faulty).returncode, 1)
        found = next((self.folder / "findings").iterdir())
        (self.folder / "incoming" / "arguments-3-crash-abc").write_bytes((found / "input").read_bytes())
        shutil.rmtree(found)
        done = self.run_campaign("tiling", "--empty", *hours(2), build=self.faulty)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertTrue((found / "finding.json").exists(), done.stdout)


class Merges(CampaignCase):
    def setUp(self):
        super().setUp()
        engine.call = engine.Calls()  # a campaign in this process ends with none

    def test_a_merge_comes_to_its_turn_with_several_jobs_and_runs_alone_on_its_corpus(self):
        options = campaign.parse(["tiling", "--empty", "--jobs", "2", "--folder", str(self.folder), "--build", str(self.build), *hours(10)])
        merged = []
        few = mock.patch.multiple(loop, MERGE_EVERY=3, FIRST_SLICE_S=1, LAST_SLICE_S=1)
        with few, contextlib.redirect_stdout(io.StringIO()):
            running = loop.Campaign(options)
            merge = corpora.merge

            def watched(*arguments):
                merged.append((len(running.running), merge(*arguments)))
                return merged[-1][1]
            with mock.patch.object(corpora, "merge", watched):
                self.assertEqual(running.run(), 0)
        self.assertGreater(len(merged), 0)
        self.assertEqual({num_running for num_running, _ in merged}, {0})
        self.assertEqual([error for _, error in merged[:-1] if error], [], "but the last, which the end may have cut short")

    def test_a_merge_that_was_written_in_part_leaves_the_old_corpus(self):
        corpus = self.folder / "tiling"
        corpus.mkdir(parents=True)
        (corpus / corpora.name_of(b"whole")).write_bytes(b"whole")
        merger = self.folder / "merger"
        for script, error in (("printf half >$NEW/" + corpora.name_of(b"whole"), "half written"), ("true", "nothing is left of its sources"),
                              ("exit 7", "ended with 7")):
            merger.write_text(f"#!/bin/sh\nNEW=$4\n{script}\n")
            merger.chmod(0o755)
            self.assertIn(error, corpora.merge(merger, "tiling", [corpus], corpus))
            self.assertEqual({p.name: p.read_bytes() for p in corpus.iterdir()}, {corpora.name_of(b"whole"): b"whole"})


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

    def test_leaks_of_any_size_are_one_finding(self):
        log = "SUMMARY: AddressSanitizer: 120 byte(s) leaked in 3 allocation(s).\n"
        self.assertIn("memory leaked", engine.summary_in(log, 1))
        self.assertEqual(engine.summary_in(log.replace("120", "8").replace("3 a", "1 a"), 1), engine.summary_in(log, 1))

    def test_findings_of_one_name_have_one_folder(self):
        self.assertEqual(stem_of("remap", "slotproof: remap: a"), stem_of("remap", "slotproof: remap: a"))
        self.assertNotEqual(stem_of("remap", "slotproof: remap: a"), stem_of("remap", "slotproof: remap: b"))


if __name__ == "__main__":
    CampaignCase.build = Path(sys.argv.pop(1)).resolve()
    os.environ.pop("UBSAN_OPTIONS", None)
    unittest.main()
