#!/usr/bin/env python3
"""Whether the committed pictures are those of the committed results, and what is drawn.

Plots needs no matplotlib: a picture says what it was drawn from. Redrawn draws them again, where the matplotlib is that of the
committed ones, and compares bytes.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import plot  # noqa: E402

AGAIN = "run ./dev bench --plots"


def metadata_of(picture, tag):
    match = re.search(rf"<dc:{tag}>(?:\s|<cc:Agent>|<dc:title>)*([^<]*)<", picture.read_text())
    return match[1] if match else ""


def point(factor="T", mode="plain", tokens=128, **others):
    shape = {"factor": factor, "mode": mode, "tokens": tokens, "topk": 2048, "block": 64, "stride": 64, "columns": 2048, "size": 1, "interleave": 1, "requests": 128}
    times = {"copy": {"us": 2.0}, "gather": {"us": 4.0}, "slotproof": {"us": 6.0}, "triton": {"us": 8.0}}
    return {"shape": {**shape, **others}, "times": times}


class Plots(unittest.TestCase):
    def test_every_picture_is_of_the_committed_results(self):
        self.assertTrue(plot.results())
        for source in plot.results():
            for picture in plot.pictures_of(source, source.parent).values():
                self.assertTrue(picture.exists(), f"{picture}: {AGAIN}")
                self.assertEqual(metadata_of(picture, "source"), plot.digests(source), f"{picture} was drawn from other results or by another plot.py: {AGAIN}")

    def test_no_picture_is_left_over(self):
        drawn = {picture for source in plot.results() for picture in plot.pictures_of(source, source.parent).values()}
        self.assertEqual(drawn, set(plot.RESULTS.glob("*.svg")))

    def test_floor_is_the_copy_where_nobody_reads_all_of_the_table_rows(self):
        self.assertEqual(plot.floor_of(point(tokens=512)), 4.0)
        self.assertEqual(plot.floor_of(point(tokens=511)), 2.0)
        self.assertEqual(plot.floor_of(point(tokens=512, columns=16384)), 4.0)
        self.assertEqual(plot.floor_of(point(tokens=512, columns=16385)), 2.0)
        self.assertEqual(plot.floor_of(point(tokens=512, columns=16384, size=2)), 2.0)
        alone = point(tokens=512)
        del alone["times"]["gather"]
        self.assertEqual(plot.floor_of(alone), 2.0)

    def test_series_are_of_one_mode_at_the_centre(self):
        report = {"points": [point(tokens=1), point(), point(mode="count"), point("K", topk=512)]}
        self.assertEqual(plot.series_of(report, "plain")["slotproof"], [(1, 6.0, 2.0), (128, 6.0, 2.0)])

    def test_every_factor_is_a_line_of_its_own(self):
        changed = [point("K", topk=512), point("K", mode="dcp", topk=512, size=4), point("block", tokens=8192, block=1), point("stride", stride=80),
                   point("N, I", mode="dcp", size=3, interleave=16), point("sorted"), point("hot"), point("rows per request", requests=8),
                   point("mode", mode="compact", tokens=1), point("mode", mode="compact"), point("new factor")]
        tokens, rows = plot.factors_of({"points": [point(tokens=1), point(), point(mode="dcp", tokens=8192, size=4), *changed]})
        self.assertEqual(tokens, [128, 8192])
        self.assertEqual(list(rows), ["centre", "K = 512", "block 1", "stride 80", "N = 3, I = 16", "sorted positions", "one input set (hot)", "8 requests",
                                      "compacted, no ranks", "new factor"])
        self.assertEqual(rows["centre"], {(128, "plain"): {"slotproof": 3.0, "triton": 4.0}, (8192, "dcp"): {"slotproof": 1.5, "triton": 2.0}})
        self.assertEqual(list(rows["K = 512"]), [(128, "plain"), (128, "dcp")])
        self.assertEqual(list(rows["compacted, no ranks"]), [(128, "compact")])


class Redrawn(unittest.TestCase):
    def test_the_committed_pictures_come_out_again(self):
        due = {metadata_of(picture, "creator") for source in plot.results() for picture in plot.pictures_of(source, source.parent).values()}
        self.assertEqual(len(due), 1, f"drawn by different versions: {AGAIN}")
        found = []
        with tempfile.TemporaryDirectory() as folder:
            for python in filter(shutil.which, (sys.executable, "/usr/bin/python3")):
                done = subprocess.run([python, HERE / "plot.py", "--out", folder, "--only-by", *due], capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    for source in plot.results():
                        for key, picture in plot.pictures_of(source, source.parent).items():
                            again = plot.pictures_of(source, Path(folder))[key]
                            self.assertTrue(picture.read_bytes() == again.read_bytes(), f"{picture.name} does not come out again: {AGAIN}")
                    return
                self.assertEqual(done.returncode, 2, done.stderr)
                found.append(done.stderr.strip())
        self.skipTest("; ".join(dict.fromkeys(found)))


if __name__ == "__main__":
    unittest.main()
