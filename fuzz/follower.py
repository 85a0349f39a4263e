"""Another back end in a campaign: the process that runs the fuzzers' problems on it, restarted whenever it dies of one."""

import hashlib
import os
import re
import struct
import subprocess
import time
from pathlib import Path

import engine

FINDING = re.compile(r"^FINDING\t([^\t]+)\t(.+)$", re.M)
FAR = re.compile(r"^followed (\d+) in (\d+) batches", re.M)
END_OF_PROBLEMS = struct.pack("<HH", 0xFFFF, 0)  # fuzz/follow.h
MOST_FRUITLESS_STARTS = 3


class Follower:
    def __init__(self, program, backend, accepted, folder, chores):
        self.backend, self.folder, self.chores = backend, folder, chores
        self.command = [str(program), "--backend", backend] + (["--accept", accepted] if accepted else [])
        self.pipe, self.journal, self.cases = folder / "pipe", folder / "follow-journal", folder / "backend-cases"
        self.log = folder / "logs" / "follower.log"
        self.followed = 0  # by processes that ended
        self.process = None
        self.fruitless = 0  # processes in a row that ended before they had followed anything
        self.error = ""     # why none is started any more
        self.names = {}     # of the case files, where the process said one

    def describe(self):
        """What the fuzzers must know, as their environment; or an error."""
        code, output = engine.call(self.command + ["--describe"], 120)
        if code != 0:
            return None, output.strip() or f"{self.command[0]} ended with {code}"
        level, capabilities, description = output.strip().split(" ", 2)
        return {"SLOTPROOF_FUZZ_FOLLOW": str(self.pipe), "SLOTPROOF_FUZZ_LEVEL": level, "SLOTPROOF_FUZZ_CAPABILITIES": capabilities}, description

    def begin(self):
        """Takes up what a killed campaign left: cases that nobody had taken, and the batch in the journal."""
        self.cases.mkdir(exist_ok=True)
        self.names = {path: path.stem for path in self.cases.iterdir() if path.suffix in (".json", ".batch")}
        self.names.update(self.told())
        self.judge_and_start("")

    def start(self):
        if not self.pipe.exists():
            os.mkfifo(self.pipe)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command + ["--pipe", str(self.pipe), "--journal", str(self.journal), "--findings", str(self.cases)],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=engine.die_with_parent)

    def text(self):
        try:
            return self.log.read_text("utf-8", "replace")
        except OSError:
            return ""

    def told(self):
        return {Path(file): name for name, file in FINDING.findall(self.text())}

    def num_followed_by_this(self):
        far = FAR.findall(self.text())
        return int(far[-1][0]) if far else 0

    def num_followed(self):
        return self.followed + (self.num_followed_by_this() if self.process else 0)

    def new_findings(self):
        """(name, file) of the cases that were told; who takes one over removes its file. A follower that died is judged and started again."""
        self.names.update(self.told())
        if self.process and self.process.poll() is not None:
            self.after_death()
        return [(name, path) for path, name in self.names.items() if path.exists()]

    def after_death(self):
        by_this, code = self.num_followed_by_this(), self.process.returncode
        self.followed, self.process = self.followed + by_this, None
        how = (re.findall(r"^LOST (.*)$", self.text(), re.M) or [f"ended with code {code}"])[-1]
        self.fruitless = 0 if by_this else self.fruitless + 1
        if code == 2 or self.fruitless == MOST_FRUITLESS_STARTS:
            self.error = f"the follower {how}: {self.text()[-400:].strip()}"
        else:
            self.judge_and_start(how)

    def judge_and_start(self, how):
        self.chores.add("judging a batch", lambda: self.judge_journal(how), lambda found: (self.names.update(found), self.start()))

    def judge_journal(self, how):
        """The batch that it died of, call by call, each in a worker of its own. Where none fails by itself, the batch is the finding."""
        content = self.journal.read_bytes() if self.journal.exists() else b""
        if not content:
            return {}
        code, output = engine.call(self.command + ["--judge", str(self.journal), "--findings", str(self.cases)], 600)
        found = {Path(file): name for name, file in FINDING.findall(output)}
        if code is None and engine.call.is_stopped:
            return found  # the journal stays for the next start
        if not found and how:
            kept = self.cases / f"lost-{hashlib.sha1(content).hexdigest()[:8]}.batch"
            kept.write_bytes(content)
            found = {kept: how[:60]}
        self.journal.write_bytes(b"")
        return found

    def finish(self, timeout_s=60):
        """Lets it judge what is in the pipe, and what it is shrinking."""
        deadline = time.monotonic() + timeout_s
        pipe = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK) if self.process else None
        is_told = False
        while self.process and self.process.poll() is None and time.monotonic() < deadline:
            try:
                is_told = is_told or os.write(pipe, END_OF_PROBLEMS) > 0
            except BlockingIOError:
                pass  # it is full
            time.sleep(0.05)
        if pipe is not None:
            os.close(pipe)
        if self.process and self.process.poll() == 0:
            self.followed, self.process = self.num_followed(), None

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.pipe.unlink(missing_ok=True)
