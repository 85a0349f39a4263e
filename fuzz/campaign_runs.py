"""Campaigns of seconds in a folder of their own: what campaign_test.py and backend_test.py have in common."""

import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def hours(seconds):
    return ["--hours", str(seconds / 3600)]


class CampaignCase(unittest.TestCase):
    build = None  # the folder of the fuzzers

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="slotproof-campaign-")
        self.folder = Path(self.scratch.name) / "campaign"

    def tearDown(self):
        self.scratch.cleanup()

    def command(self, *options, build=None, jobs=1):
        return [sys.executable, str(HERE / "campaign.py"), "--folder", str(self.folder), "--build", str(build or self.build), "--jobs", str(jobs), *options]

    def run_campaign(self, *options, **settings):
        return subprocess.run(self.command(*options, **settings), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)

    def begin_campaign(self, *options, **settings):
        return subprocess.Popen(self.command(*options, **settings), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait_until(self, is_so, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not is_so():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)

    def state(self):
        return json.loads((self.folder / "state.json").read_text())
