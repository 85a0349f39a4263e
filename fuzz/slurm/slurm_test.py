#!/usr/bin/env python3
"""The Slurm scripts on a real cluster of one node: slurm_test.py BUILD. Exit 77 where there can be none."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import engine  # noqa: E402
import one_node  # noqa: E402

BUILD = None


def submit(cluster, build, shared, targets, seconds):
    output = cluster.run([str(HERE / "submit.sh"), "--shared", str(shared), "--build", str(build), "--hours", str(seconds / 3600), "--targets", targets])
    return re.findall(r"^(?:array|merge) (\d+)$", output, re.M), output


def num_new_in(inputs, corpus, scratch):
    """How many of the inputs reach what none of the corpus does, as flat_row_view's fuzzer sees it."""
    merged = Path(tempfile.mkdtemp(dir=scratch))
    shutil.copytree(corpus, merged, dirs_exist_ok=True)
    num_before = len(list(merged.iterdir()))
    code, output = engine.call([BUILD / "faults" / "interleave-unchecked" / "bin" / "fuzz_flat_row_view", "-merge=1", engine.what_is_new("flat_row_view"),
                                f"-max_len={engine.max_length('flat_row_view')}", merged, inputs], 120)
    assert code == 0, output
    return len(list(merged.iterdir())) - num_before


class Slurm(unittest.TestCase):
    def test_the_array_runs_and_merges_also_where_a_task_fails_and_goes_on_when_submitted_again(self):
        with tempfile.TemporaryDirectory(prefix="slotproof-slurm-") as scratch, one_node.OneNode(tempfile.mkdtemp(dir=scratch)) as cluster:
            # The cluster's build lacks one target's fuzzer, so that its task fails.
            build, shared = Path(scratch) / "build", Path(scratch) / "shared"
            (build / "bin").mkdir(parents=True)
            for target in ("flat_row_view", "arguments"):
                (build / "bin" / f"fuzz_{target}").symlink_to(BUILD / "faults" / "interleave-unchecked" / "bin" / f"fuzz_{target}")
            targets = "flat_row_view tiling arguments"
            jobs, output = submit(cluster, build, shared, targets, 6)
            self.assertEqual(len(jobs), 2, output)
            cluster.wait_for_empty_queue(180)
            logs = "\n".join(p.read_text() for p in sorted((shared / "logs").iterdir()))
            summary = json.loads((shared / "summary.json").read_text())
            self.assertEqual(summary["targets"]["flat_row_view"]["exit_code"], 0, logs)
            self.assertEqual(summary["targets"]["tiling"]["exit_code"], 2, logs)
            self.assertEqual(summary["targets"]["arguments"]["exit_code"], 1, logs)
            self.assertEqual([f["summary"] for f in summary["findings"]], ["slotproof: arguments: argument_validation A11"])
            merged, before = shared / "merged" / "flat_row_view", Path(scratch) / "before"
            self.assertEqual(summary["targets"]["flat_row_view"]["corpus"], len(list(merged.iterdir())))
            self.assertEqual(num_new_in(HERE.parent / "corpus" / "flat_row_view", merged, scratch), 0, "what the seeds reach")
            self.assertEqual(num_new_in(shared / "tasks" / "flat_row_view" / "corpus" / "flat_row_view", merged, scratch), 0, "what the task's inputs reach")
            self.assertGreater(num_new_in(merged, Path(tempfile.mkdtemp(dir=scratch)), scratch), 0)
            shutil.copytree(merged, before)

            (build / "bin" / "fuzz_tiling").symlink_to(BUILD / "bin" / "fuzz_tiling")  # mended
            submit(cluster, build, shared, targets, 4)
            cluster.wait_for_empty_queue(180)
            summary = json.loads((shared / "summary.json").read_text())
            self.assertEqual({t: r["exit_code"] for t, r in summary["targets"].items()}, {"flat_row_view": 0, "tiling": 0, "arguments": 1})
            self.assertEqual(len(summary["findings"]), 1)
            self.assertEqual(num_new_in(before, merged, scratch), 0, "what was reached before")
            self.assertGreater(summary["targets"]["tiling"]["corpus"], 0)

    def test_wrong_usage_submits_nothing(self):
        done = subprocess.run([str(HERE / "submit.sh"), "--hours", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    reason = one_node.missing()
    if reason:
        print("skipped:", reason)
        sys.exit(77)
    unittest.main()
