"""A campaign's loop: slices of fuzzers over shared corpora, and what comes of them. campaign.py is its command."""

import json
import random
import sys
import time
from pathlib import Path

import corpora
import engine
from chores import Chores
from findings import Findings, write_atomically
from follower import Follower
from provenance import commit, cpu_model
from state import State, clock

ROOT = Path(__file__).resolve().parent.parent
FIRST_SLICE_S, LAST_SLICE_S = 3, 120
STATE_EVERY_S = 5
MERGE_EVERY = 16  # slices of a target: its fuzzers then no longer read what others of its inputs reach as well
LONGEST_PAUSE_S = 60  # before a fuzzer that ended by itself is started again
CANNOT_RUN = 3  # exit code


class Campaign:
    def __init__(self, options):
        self.options = options
        self.folder = options.folder.resolve()
        for part in ("corpus", "logs", "incoming"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        self.findings = Findings(self.folder / "findings", self.binary)
        self.chores = Chores()
        self.state = State(self.folder / "state.json", options.targets, options.hours * 3600)
        if self.state.before > 0:
            self.say(f"going on: {clock(self.state.before)} of {clock(self.state.wanted)} are done")
        self.running = []
        self.not_before = {}     # target -> when a fuzzer that ended by itself may be started again
        self.follower, self.environment = None, {}
        self.commit = commit()  # of what is run: the tree may change while it runs
        self.is_interrupted = False
        self.num_new = 0
        self.error = ""

    # ---- What a campaign begins with.

    def recover(self):
        """What a killed campaign left behind: torn inputs go, artifacts become findings."""
        for target in self.options.targets:
            corpus = self.corpus(target)
            corpora.finish_swap(corpus)
            corpus.mkdir(exist_ok=True)
            torn = corpora.drop_torn_inputs(corpus)
            if torn:
                self.say(f"{target}: {torn} inputs that were half written are gone")
        for artifact in sorted((self.folder / "incoming").iterdir()):
            target = next((t for t in sorted(engine.TARGETS, key=len, reverse=True) if artifact.name.startswith(t + "-")), None)
            if target is not None and self.binary(target).exists():
                self.take(target, artifact, None, "")

    # ---- Places and times.

    def binary(self, target):
        return self.folder / "bin" / f"fuzz_{target}"

    def corpus(self, target):
        return self.folder / "corpus" / target

    def seeds(self, target):
        return self.folder / "seeds" / target

    def say(self, text):
        print(f"fuzz: {text}", flush=True)

    # ---- The work.

    def next_target(self):
        """The one that has had least of its share; one that only crashes waits. None where all wait for a merge, or for their pause to end."""
        def used(target):
            record = self.state.targets[target]
            running = sum(1 for s in self.running if s.target == target) * FIRST_SLICE_S
            return (record["seconds"] + running + 20 * record["crashes_in_a_row"]) / engine.WEIGHTS.get(target, 1)
        free = [t for t in self.options.targets if not self.state.targets[t]["is_merge_due"] and time.monotonic() >= self.not_before.get(t, 0)]
        return min(free, key=used, default=None)

    def begin_slices(self):
        while len(self.running) + bool(self.chores.pending()) < self.options.jobs:
            target = self.next_target()
            if target is None:
                return
            record = self.state.targets[target]
            seconds = min(FIRST_SLICE_S * 2 ** min(record["slices"], 8), LAST_SLICE_S, max(self.state.left(), 1))
            seeds = [self.seeds(target)] if self.seeds(target).is_dir() else []
            slice_ = engine.Slice(self.binary(target), target, self.corpus(target), seeds, self.folder, self.state.next_number(), seconds,
                                  random.randrange(1, 2**31), self.environment)
            slice_.begun = time.monotonic()
            self.running.append(slice_)

    def end_slice(self, slice_):
        runs, compared, summary = slice_.result()
        target, record = slice_.target, self.state.targets[slice_.target]
        self.state.add_slice(slice_, time.monotonic() - slice_.begun, runs, compared)
        artifacts = slice_.new_artifacts()
        for artifact in artifacts:
            self.take(target, artifact, summary, slice_.log.read_text("utf-8", "replace") if summary else "")
        record["crashes_in_a_row"] = record["crashes_in_a_row"] + 1 if summary else 0
        has_ended_by_itself = bool(summary and not artifacts and not slice_.is_stopped)
        record["ends_in_a_row"] = record["ends_in_a_row"] + 1 if has_ended_by_itself else 0
        if has_ended_by_itself:
            pause = min(2 ** record["ends_in_a_row"], LONGEST_PAUSE_S)
            self.not_before[target] = time.monotonic() + pause
            kept = slice_.log.replace(slice_.log.with_name(f"{target}-ended-by-itself.log"))
            self.say(f"{target}: the fuzzer ended by itself: {summary}; again in {pause} s; see {kept}")
        else:
            slice_.log.unlink()  # a finding has its own copy
        record["is_merge_due"] |= record["slices"] % MERGE_EVERY == 0
        self.state.save()

    def begin_merges(self):
        """Of corpora that nobody reads or writes: a merge that is due keeps new slices from its target."""
        for target in self.options.targets:
            name, corpus = f"merging {target}", self.corpus(target)
            if self.state.targets[target]["is_merge_due"] and not any(s.target == target for s in self.running) and name not in self.chores.pending():
                self.chores.add(name, lambda t=target, c=corpus: corpora.merge(self.binary(t), t, [c], c), lambda error, t=target: self.end_merge(t, error))

    def end_merge(self, target, error):
        self.state.targets[target]["is_merge_due"] = False
        if error:
            self.say(error)

    def take(self, target, artifact, summary, log):
        """Judges an artifact beside the slices. Without a summary it is one that a killed campaign left, or of a fuzzer that ended well."""
        content = artifact.read_bytes()
        corpora.drop_input([self.corpus(target), self.seeds(target)], content)
        seconds = self.state.seconds()

        def judge():
            # A machine that stood still is no finding, nor what libFuzzer's own thread held while it began and somebody looked for leaks.
            passing = summary and next((what for word, what in {"timeout": "a time limit was passed", "memory leaked": "something leaked"}.items() if word in summary), "")
            name, text = summary, log
            if summary is None or passing:
                code, text = engine.call([self.binary(target), artifact], 60, self.environment)
                if engine.call.is_stopped:
                    return None
                name = engine.summary_in(text, code if code is not None else 70)
            if name:
                return name if self.findings.add(target, artifact, summary or name, log or text, seconds) else None
            if passing:
                self.say(f"{target}: {passing}, but not where the input runs by itself: not kept")
            artifact.unlink()
            return None

        self.chores.add("judging a finding", judge, lambda name: self.tell_finding(target, name))

    def tell_finding(self, where, name):
        if name:
            self.num_new += 1
            self.say(f"FINDING {where}: {name}")

    def begin_following(self):
        """An error, empty where the other back end is there."""
        if not self.options.backend:
            return ""
        self.follower = Follower(self.options.follower, self.options.backend, self.options.accept, self.folder, self.chores)
        environment, what = self.follower.describe()
        if environment is None:
            return what
        self.environment = environment
        self.findings.environment = {name: value for name, value in environment.items() if name != "SLOTPROOF_FUZZ_FOLLOW"}
        self.say(f"the problems also go to {self.options.backend}: {what}")
        self.follower.begin()
        return ""

    def take_from_follower(self):
        for name, case in self.follower.new_findings() if self.follower else []:
            if self.findings.add_case(self.options.backend, name, case, self.state.seconds()):
                self.tell_finding(self.options.backend, name)
        if self.follower and self.follower.error:
            self.error = self.follower.error

    def take_what_is_done(self):
        for slice_ in [s for s in self.running if s.has_ended()]:
            self.running.remove(slice_)
            self.end_slice(slice_)
        for then, result, error in self.chores.finished():
            if error:
                raise RuntimeError(error)
            then(result)
        self.take_from_follower()

    def progress(self):
        runs = speed = 0
        for slice_ in self.running:
            status = slice_.status()
            runs, speed = runs + status[0], speed + status[3]
        records = self.state.targets.values()
        runs += sum(r["runs"] for r in records)
        inputs = sum(sum(1 for _ in self.corpus(t).iterdir()) for t in self.options.targets)
        at = ", ".join(f"{s.target} cov {s.status()[1]}" for s in self.running)
        followed = f"{self.follower.num_followed()} followed, " if self.follower else ""
        return (f"[{clock(self.state.seconds())}] {runs} runs, {speed}/s, {followed}{at or 'between targets'}, corpus {inputs}, "
                f"findings {len(self.findings.all())}, {clock(self.state.left())} left")

    def run(self):
        corpora.take_programs(self.options.build, None if self.options.empty else ROOT / "fuzz" / "corpus", self.folder)
        if error := self.begin_following():
            return engine.fail(f"back end {self.options.backend}: {error}")
        self.recover()
        self.state.save()
        shown = saved = time.monotonic()
        show_every = 1 if sys.stdout.isatty() else 30
        while not self.is_interrupted:
            self.take_what_is_done()
            if self.state.left() <= 0 or self.error or (self.options.stop_at_finding and self.num_new):
                break
            self.begin_merges()
            self.begin_slices()
            now = time.monotonic()
            if now - shown >= show_every:
                shown = now
                print("\r" + self.progress() + "\033[K" if sys.stdout.isatty() else self.progress(), end="" if sys.stdout.isatty() else "\n", flush=True)
            if now - saved >= STATE_EVERY_S:
                saved = now
                self.state.save()
            time.sleep(0.1)
        self.finish()
        return self.summary()

    def finish(self):
        """Ends the slices, whose time is over too, and waits for findings that are being judged; a merge can be done another time."""
        is_hurried = self.is_interrupted or self.options.stop_at_finding
        deadline = time.monotonic() + (0 if is_hurried else 15)
        while self.running and time.monotonic() < deadline:
            self.take_what_is_done()
            time.sleep(0.05)
        for slice_ in self.running:
            slice_.stop()
        self.take_what_is_done()
        if self.follower and not is_hurried:
            self.follower.finish()
            self.take_what_is_done()
        while not is_hurried and not self.is_interrupted and any(name.startswith("judging") for name in self.chores.pending()):
            time.sleep(0.1)
            self.take_what_is_done()
        self.take_what_is_done()
        if self.follower:
            dropped = sum(record["dropped"] for record in self.state.targets.values())
            self.say(f"{self.follower.num_followed()} problems went to {self.options.backend}; {dropped} found no room in the pipe")
        self.stop()
        self.state.save()

    def stop(self):
        """Leaves no process behind, however the campaign ends."""
        for slice_ in self.running:
            slice_.stop()
        if self.follower:
            self.follower.stop()
        self.chores.stop()

    def what_cannot_run(self):
        """Why the campaign says less than it seems to, empty where it does not."""
        records = self.state.targets
        dead = [t for t in self.options.targets if records[t]["ends_in_a_row"] > 1 or (records[t]["ends_in_a_row"] and not records[t]["runs"])]
        return f"fuzzers that cannot run: {', '.join(dead)}; see {self.folder / 'logs'}" if dead else self.error

    def summary(self):
        findings = self.findings.all()
        rows = {}
        print(f"{'target':14}{'seconds':>9}{'runs':>12}{'runs/s':>9}{'a CPU s':>9}{'compared':>10}{'cov':>7}{'corpus':>8}")
        for target in self.options.targets:
            n = rows[target] = self.state.figures_of(target, self.corpus(target))
            print(f"{target:14}{n['seconds']:9}{n['runs']:12}{n['runs_per_s']:9}{n['runs_per_cpu_s']:9}{'-' if n['compared_percent'] is None else n['compared_percent']:>8} %{n['coverage']:7}{n['corpus']:8}")
        for finding in findings:
            print(f"finding: {finding['target']}: {finding['summary']}, found {finding['times_found']} times, after {finding['found_after_s']} s: {finding['folder']}")
        print(f"{len(findings)} findings, {clock(self.state.seconds())} of {clock(self.state.wanted)}, all of it in {self.folder}")
        kept = [{key: finding[key] for key in ("target", "summary", "times_found", "found_after_s", "shrunk_by")} for finding in findings]
        write_atomically(self.folder / "summary.json", json.dumps({
            "date": time.strftime("%Y-%m-%d"), "cpu": cpu_model(), "commit": self.commit, "seconds": round(self.state.seconds()),
            "jobs": self.options.jobs, "backend": self.options.backend, "followed": self.follower.num_followed() if self.follower else None,
            "targets": rows, "findings": kept}, indent=1) + "\n")
        if self.is_interrupted:
            return 130
        if error := self.what_cannot_run():
            self.say(error)
            return CANNOT_RUN
        return 1 if findings else 0
