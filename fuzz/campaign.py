#!/usr/bin/env python3
"""Fuzzes targets side by side over shared corpora, for hours: `./dev fuzz`.

A campaign lives in one folder: corpus/TARGET, findings/NAME, logs, state.json. It may be killed at any moment; the same command
goes on where it was. Exit: 0 no finding, 1 a finding, 2 wrong usage, 130 interrupted.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "fuzz"), str(ROOT / "bench")]
import engine  # noqa: E402
from findings import Findings, write_atomically  # noqa: E402
from follower import Follower  # noqa: E402
from provenance import commit, cpu_model  # noqa: E402

FIRST_SLICE_S, LAST_SLICE_S = 3, 120
STATE_EVERY_S = 5
MERGE_EVERY = 16  # slices of a target: its fuzzers then no longer read what others of its inputs reach as well
NEW_TARGET = {"seconds": 0.0, "cpu_seconds": 0.0, "runs": 0, "compared": 0, "judged_runs": 0, "coverage": 0, "slices": 0, "crashes_in_a_row": 0}


def clock(seconds):
    seconds = max(int(seconds), 0)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


class Campaign:
    def __init__(self, options):
        self.options = options
        self.folder = options.folder.resolve()
        for part in ("corpus", "logs", "incoming"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        self.findings = Findings(self.folder / "findings", self.binary)
        self.state = self.load_state()
        self.running = []
        self.follower, self.environment = None, {}
        self.commit = commit()  # of what is run: the tree may change while it runs
        self.started = time.monotonic()
        self.is_interrupted = False
        self.num_new = 0

    # ---- What outlives a kill.

    def load_state(self):
        fresh = {"seconds": 0.0, "wanted": self.options.hours * 3600, "number": 0, "targets": {t: dict(NEW_TARGET) for t in self.options.targets}}
        try:
            state = json.loads((self.folder / "state.json").read_text())
        except (OSError, ValueError):
            return fresh
        is_done = state["seconds"] >= state["wanted"] - 1
        if is_done:  # a further campaign on the same corpora and findings
            state.update(seconds=0.0, wanted=fresh["wanted"])
        else:
            state["wanted"] = fresh["wanted"]
        for target in self.options.targets:
            state["targets"].setdefault(target, dict(NEW_TARGET))
        if not is_done:
            self.say(f"going on: {clock(state['seconds'])} of {clock(state['wanted'])} are done")
        return state

    def save_state(self):
        state = dict(self.state, seconds=self.seconds())
        write_atomically(self.folder / "state.json", json.dumps(state, indent=1) + "\n")

    def recover(self):
        """What a killed campaign left behind: torn inputs go, artifacts become findings."""
        for target in self.options.targets:
            corpus = self.corpus(target)
            engine.finish_swap(corpus)
            corpus.mkdir(exist_ok=True)
            torn = engine.drop_torn_inputs(corpus)
            if torn:
                self.say(f"{target}: {torn} inputs that were half written are gone")
        for artifact in sorted((self.folder / "incoming").iterdir()):
            target = next((t for t in sorted(engine.TARGETS, key=len, reverse=True) if artifact.name.startswith(t + "-")), None)
            if target is None or not self.binary(target).exists():
                continue
            code, log = engine.call([self.binary(target), artifact], 60)
            summary = engine.summary_in(log, code if code is not None else 70)
            if summary:
                self.take(target, artifact, summary, log)
            else:
                artifact.unlink()

    # ---- Places and times.

    def binary(self, target):
        return self.options.build / "bin" / f"fuzz_{target}"

    def corpus(self, target):
        return self.folder / "corpus" / target

    def seeds(self, target):
        place = ROOT / "fuzz" / "corpus" / target
        return [place] if place.is_dir() and not self.options.empty else []

    def seconds(self):
        return self.state["seconds"] + time.monotonic() - self.started

    def left(self):
        return self.state["wanted"] - self.seconds()

    def say(self, text):
        print(f"fuzz: {text}", flush=True)

    # ---- The work.

    def next_target(self):
        """The one that has had least of its share; one that only crashes waits."""
        def used(target):
            record = self.state["targets"][target]
            running = sum(1 for s in self.running if s.target == target) * FIRST_SLICE_S
            return (record["seconds"] + running + 20 * record["crashes_in_a_row"]) / engine.WEIGHTS.get(target, 1)
        return min(self.options.targets, key=used)

    def begin_slice(self):
        target = self.next_target()
        record = self.state["targets"][target]
        seconds = min(FIRST_SLICE_S * 2 ** min(record["slices"], 8), LAST_SLICE_S, max(self.left(), 1))
        self.state["number"] += 1
        slice_ = engine.Slice(self.binary(target), target, self.corpus(target), self.seeds(target), self.folder, self.state["number"], seconds,
                              random.randrange(1, 2**31), self.environment)
        slice_.begun = time.monotonic()
        self.running.append(slice_)

    def end_slice(self, slice_):
        runs, compared, summary = slice_.result()
        record = self.state["targets"][slice_.target]
        record["seconds"] += time.monotonic() - slice_.begun
        record["cpu_seconds"] += slice_.cpu_seconds
        record["slices"] += 1
        record["runs"] += runs
        record["coverage"] = max(record["coverage"], slice_.status()[1])
        if compared is not None:
            record["judged_runs"] += runs
            record["compared"] += compared
        artifacts = slice_.new_artifacts()
        for artifact in artifacts:
            self.take(slice_.target, artifact, summary or "an artifact without a summary", slice_.log.read_text("utf-8", "replace"))
        record["crashes_in_a_row"] = record["crashes_in_a_row"] + 1 if summary else 0
        if summary and not artifacts and not slice_.is_stopped:
            self.say(f"{slice_.target}: the fuzzer ended by itself: {summary}; see {slice_.log}")
        elif not summary:
            slice_.log.unlink()
        if record["slices"] % MERGE_EVERY == 0 and not any(s.target == slice_.target for s in self.running):
            error = engine.merge(self.binary(slice_.target), slice_.target, [self.corpus(slice_.target)], self.corpus(slice_.target))
            if error:
                self.say(error)
        self.save_state()

    def take(self, target, artifact, summary, log):
        # A machine that stood still is no finding, nor what libFuzzer's own thread held while it began and somebody looked for leaks.
        passing = "a time limit was passed" if "timeout" in summary else "something leaked" if "leaked in" in summary else None
        if passing:
            if engine.call([self.binary(target), artifact], 60)[0] == 0:
                self.say(f"{target}: {passing}, but not where the input runs by itself: not kept")
                artifact.unlink()
                return
        if self.findings.add(target, artifact, summary, log, self.seconds()):
            self.num_new += 1
            self.say(f"FINDING {target}: {summary}")

    def begin_following(self):
        """An error, empty where the other back end is there."""
        if not self.options.backend:
            return ""
        self.follower = Follower(self.options.follower, self.options.backend, self.options.accept, self.folder)
        environment, what = self.follower.describe()
        if environment is None:
            return what
        self.environment = environment
        self.say(f"the problems also go to {self.options.backend}: {what}")
        self.follower.start()
        return ""

    def take_from_follower(self):
        for name, case in self.follower.new_findings() if self.follower else []:
            if self.findings.add_case(self.options.backend, name, case, self.seconds()):
                self.num_new += 1
                self.say(f"FINDING {self.options.backend}: {name}")

    def progress(self):
        runs = speed = 0
        for slice_ in self.running:
            status = slice_.status()
            runs, speed = runs + status[0], speed + status[3]
        records = self.state["targets"].values()
        runs += sum(r["runs"] for r in records)
        inputs = sum(sum(1 for _ in self.corpus(t).iterdir()) for t in self.options.targets)
        at = ", ".join(f"{s.target} cov {s.status()[1]}" for s in self.running)
        followed = f"{self.follower.num_followed()} followed, " if self.follower else ""
        return (f"[{clock(self.seconds())}] {runs} runs, {speed}/s, {followed}{at or 'between targets'}, corpus {inputs}, "
                f"findings {len(self.findings.all())}, {clock(self.left())} left")

    def run(self):
        if error := self.begin_following():
            return engine.fail(f"back end {self.options.backend}: {error}")
        self.recover()
        self.save_state()
        shown = saved = time.monotonic()
        show_every = 1 if sys.stdout.isatty() else 30
        while not self.is_interrupted:
            for slice_ in [s for s in self.running if s.has_ended()]:
                self.running.remove(slice_)
                self.end_slice(slice_)
            self.take_from_follower()
            if self.left() <= 0 or (self.options.stop_at_finding and self.num_new):
                break
            while len(self.running) < self.options.jobs:
                self.begin_slice()
            now = time.monotonic()
            if now - shown >= show_every:
                shown = now
                print("\r" + self.progress() + "\033[K" if sys.stdout.isatty() else self.progress(), end="" if sys.stdout.isatty() else "\n", flush=True)
            if now - saved >= STATE_EVERY_S:
                saved = now
                self.save_state()
            time.sleep(0.1)
        deadline = time.monotonic() + (0 if self.is_interrupted or self.options.stop_at_finding else 15)
        for slice_ in self.running:  # their time is over too
            while not slice_.has_ended() and time.monotonic() < deadline:
                time.sleep(0.1)
            slice_.stop()
            if not self.is_interrupted:
                self.end_slice(slice_)
        if self.follower:
            self.take_from_follower()
            self.say(f"{self.follower.num_followed()} problems went to {self.options.backend}")
            self.follower.stop()
        self.save_state()
        return self.summary()

    def summary(self):
        findings = self.findings.all()
        rows = {}
        print(f"{'target':14}{'seconds':>9}{'runs':>12}{'runs/s':>9}{'a CPU s':>9}{'compared':>10}{'cov':>7}{'corpus':>8}")
        for target in self.options.targets:
            n = rows[target] = engine.figures_of(self.state["targets"][target], self.corpus(target))
            print(f"{target:14}{n['seconds']:9}{n['runs']:12}{n['runs_per_s']:9}{n['runs_per_cpu_s']:9}{n['compared_percent'] or '-':>8} %{n['coverage']:7}{n['corpus']:8}")
        for finding in findings:
            print(f"finding: {finding['target']}: {finding['summary']}, found {finding['times_found']} times, after {finding['found_after_s']} s: {finding['folder']}")
        print(f"{len(findings)} findings, {clock(self.seconds())} of {clock(self.state['wanted'])}, all of it in {self.folder}")
        kept = [{key: finding[key] for key in ("target", "summary", "times_found", "found_after_s", "shrunk_by")} for finding in findings]
        write_atomically(self.folder / "summary.json", json.dumps({
            "date": time.strftime("%Y-%m-%d"), "cpu": cpu_model(), "commit": self.commit, "seconds": round(self.seconds()),
            "jobs": self.options.jobs, "backend": self.options.backend, "followed": self.follower.num_followed() if self.follower else None,
            "targets": rows, "findings": kept}, indent=1) + "\n")
        return 130 if self.is_interrupted else 1 if findings else 0


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"default: all of {', '.join(engine.TARGETS)}")
    parser.add_argument("--hours", type=float, default=1.0, help="wall time of the whole campaign, what was done before a kill included")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="fuzzers at a time; default: one a core")
    parser.add_argument("--folder", type=Path, default=ROOT / "findings" / "fuzz", help="where the campaign lives")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz", help="where bin/fuzz_TARGET are")
    parser.add_argument("--backend", metavar="B", help="cuda or plugin:PATH: the same problems also go there, in batches on a device")
    parser.add_argument("--accept", metavar="D3,...", help="divergences of the seed that count as right on that back end")
    parser.add_argument("--follower", type=Path, default=ROOT / "build" / "check" / "bin" / "fuzz_follow", help="the program that runs that back end")
    parser.add_argument("--empty", action="store_true", help="without the committed corpus")
    parser.add_argument("--stop-at-finding", action="store_true", help="end at the first new finding")
    options = parser.parse_args(arguments)
    options.targets = options.targets or engine.TARGETS
    for target in options.targets:
        if target not in engine.TARGETS:
            parser.error(f"no target is called {target}: there are {', '.join(engine.TARGETS)}")
        if not (options.build / "bin" / f"fuzz_{target}").exists():
            parser.error(f"{options.build}/bin/fuzz_{target} is not there: build it first")
    if options.backend and not options.follower.exists():
        parser.error(f"{options.follower} is not there: build it first")
    if options.hours <= 0 or options.jobs < 1:
        parser.error("--hours must be above 0, --jobs at least 1")
    return options


def main():
    campaign = Campaign(parse(sys.argv[1:]))

    def interrupt(*_):
        campaign.is_interrupted = True
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    return campaign.run()


if __name__ == "__main__":
    sys.exit(main())
