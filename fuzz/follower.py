"""Another back end in a campaign: the process that runs the fuzzers' problems on it, restarted whenever it dies of one."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import engine

FINDING = re.compile(r"^FINDING (\S+) (.+)$", re.M)
FAR = re.compile(r"^followed (\d+) in (\d+) batches", re.M)


class Follower:
    def __init__(self, program, backend, accepted, folder):
        self.backend, self.folder = backend, folder
        self.command = [str(program), "--backend", backend] + (["--accept", accepted] if accepted else [])
        self.pipe, self.journal, self.cases = folder / "pipe", folder / "follow-journal", folder / "backend-cases"
        self.log = folder / "logs" / "follower.log"
        self.followed = 0  # by processes that ended
        self.process = None
        self.taken = set()  # findings files

    def describe(self):
        """What the fuzzers must know, as their environment; or an error."""
        code, output = engine.call(self.command + ["--describe"], 120)
        if code != 0:
            return None, output.strip() or f"{self.command[0]} ended with {code}"
        level, capabilities, description = output.strip().split(" ", 2)
        return {"SLOTPROOF_FUZZ_FOLLOW": str(self.pipe), "SLOTPROOF_FUZZ_LEVEL": level, "SLOTPROOF_FUZZ_CAPABILITIES": capabilities}, description

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

    def num_followed(self):
        far = FAR.findall(self.text())
        return self.followed + (int(far[-1][0]) if far else 0)

    def new_findings(self):
        """(name, case file) of what is new since the last call; a follower that died is judged and started again."""
        found = FINDING.findall(self.text())
        if self.process.poll() is not None:
            found += self.after_death()
        new = []
        for name, file in found:
            if file not in self.taken:
                self.taken.add(file)
                new.append((name, Path(file)))
        return new

    def after_death(self):
        """The batch that it died of, call by call, each in a worker of its own."""
        self.followed = self.num_followed()
        how = (re.findall(r"^LOST (.*)$", self.text(), re.M) or [f"ended with code {self.process.returncode}"])[-1]
        code, output = engine.call(self.command + ["--judge", str(self.journal), "--findings", str(self.cases)], 600)
        found = FINDING.findall(output)
        if not found:  # it does not fail call by call: the batch is the finding
            self.cases.mkdir(exist_ok=True)
            kept = self.cases / f"lost-{len(list(self.cases.iterdir()))}.batch"
            shutil.copy(self.journal, kept) if self.journal.exists() else kept.write_text("")
            found = [(re.sub(r"\W+", "_", how)[:60], str(kept))]
        self.start()
        return found

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.pipe.unlink(missing_ok=True)
