"""One libFuzzer process: its command, what its log says, and what it leaves behind. campaign.py runs many of them."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

TARGETS = ["remap", "remap_wide", "diagnosis", "dcp_laws", "flat_row_view", "arguments", "case_file", "tiling"]
# Shares of a campaign's time: the kernels' bodies are what the campaign is for.
WEIGHTS = {"remap": 8, "remap_wide": 3, "diagnosis": 3, "arguments": 3, "dcp_laws": 2, "case_file": 2}
# Bytes. Behind the end of an input every choice is the plainest, so that a wide row is no long input.
MAX_LENGTH = {"case_file": 8192, "remap_wide": 1024}
DEFAULT_MAX_LENGTH = 2048


# How often an edge ran says what a reader of text is at. Of a body it says how many threads there are: an input that reaches nothing new
# looked new by it, and a third of the time went to keeping books.
COUNTED = ["case_file", "tiling"]


def max_length(target):
    return MAX_LENGTH.get(target, DEFAULT_MAX_LENGTH)


def what_is_new(target):
    return f"-use_counters={int(target in COUNTED)}"


STATUS = re.compile(r"^#(\d+)\s.*?\bcov: (\d+) ft: (\d+) corp: (\d+)/\S+.*?exec/s: (\d+)", re.M)
TALLY = re.compile(r"^slotproof: runs (\d+) compared (\d+)$", re.M)
SENT = re.compile(r"^slotproof: sent (\d+) dropped (\d+)$", re.M)
UNITS = re.compile(r"^stat::number_of_executed_units:\s*(\d+)$", re.M)
SUMMARY = re.compile(r"^SUMMARY: (.*)$", re.M)
CHECKED_EXIT = {70: "timeout", 71: "out of memory", 77: "crash"}


def die_with_parent(parent=os.getpid()):
    """In the child: a campaign that is killed leaves no fuzzer behind, also where it is killed right now."""
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def environment():
    symbolizer = next((p for p in ("/usr/bin/llvm-symbolizer-19",) if os.path.exists(p)), None)
    # Short stacks of allocations and a short queue of what was freed, which keeps memory warm: a fifth of the time, and a sixth of the
    # memory. No input frees as much as that queue holds. A replay shows whole stacks.
    found = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1:" + os.environ.get("UBSAN_OPTIONS", ""),
                 ASAN_OPTIONS="malloc_context_size=2:quarantine_size_mb=16:" + os.environ.get("ASAN_OPTIONS", ""))
    if symbolizer:
        found["ASAN_SYMBOLIZER_PATH"] = symbolizer
    return found


class Slice:
    """A fuzzer that runs for some seconds on a target's shared corpus."""

    def __init__(self, binary, target, corpus, seeds, folder, number, seconds, seed, more_environment):
        self.target, self.folder, self.number = target, folder, number
        self.artifacts = folder / "incoming" / f"{target}-{number}-"
        self.log = folder / "logs" / f"{target}-{number}.log"
        command = [str(binary), str(corpus)] + [str(s) for s in seeds] + [
            f"-max_total_time={max(int(seconds), 1)}", f"-artifact_prefix={self.artifacts}", "-print_final_stats=1", f"-seed={seed}",
            f"-max_len={max_length(target)}", what_is_new(target), "-len_control=0", "-timeout=20", "-report_slow_units=3600", "-rss_limit_mb=3000", "-reload=1",
            "-verbosity=1"]
        self.cpu_seconds = 0.0
        self.is_stopped = False
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=dict(environment(), **more_environment), preexec_fn=die_with_parent)

    def has_ended(self):
        """Also takes the time that it took of its core: what others did on the machine is not in it."""
        if self.process.returncode is None:
            pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
            if pid == 0:
                return False
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_seconds = used.ru_utime + used.ru_stime
        return True

    def status(self):
        """(runs, coverage, corpus, runs a second) of the last line so far; zeros before the first."""
        try:
            with open(self.log, "rb") as log:
                log.seek(max(log.seek(0, os.SEEK_END) - 8192, 0))
                lines = STATUS.findall(log.read().decode("utf-8", "replace"))
        except OSError:
            lines = []
        runs, coverage, _, corpus, speed = lines[-1] if lines else ("0",) * 5
        return int(runs), int(coverage), int(corpus), int(speed)

    def stop(self):
        if not self.has_ended():
            self.is_stopped = True
            os.killpg(self.process.pid, signal.SIGKILL)
            while not self.has_ended():
                time.sleep(0.01)

    def result(self):
        """After the end: runs, how many were compared, and the finding's summary where there is one."""
        text = self.log.read_text("utf-8", "replace")
        tally, units = TALLY.findall(text), UNITS.findall(text)
        runs, compared = (int(n) for n in tally[-1]) if tally else (int(units[-1]) if units else 0, None)
        return runs, compared, summary_in(text, self.process.returncode)

    def num_dropped(self):
        """Of the problems for another back end: those that found no room in the pipe."""
        sent = SENT.findall(self.log.read_text("utf-8", "replace"))
        return int(sent[-1][1]) if sent else 0

    def new_artifacts(self):
        return sorted(self.artifacts.parent.glob(self.artifacts.name + "*"))


def summary_in(log, code):
    """What findings of one fault have in common: the first summary line, or the way the process ended. None: it ended well."""
    if code == 0:
        return None
    found = SUMMARY.findall(log)
    # libFuzzer's own summary follows that of the target or of a sanitizer; a time limit has no other.
    first = re.sub(r"^\S*Sanitizer: (\S+) (?:\S*/)?([^/ ]+?):(\d+)(?::\d+)?(.*)$", r"\1 at \2:\3\4", found[0]) if found else ""
    # Of a leak the sanitizer says how much it was, which is another number on every input.
    first = re.sub(r"\d+ byte\(s\) leaked in \d+ allocation\(s\)", "memory leaked", first)
    return first or CHECKED_EXIT.get(code, f"ended with code {code}")


class Calls:
    """Short runs of a fuzzer beside the slices, on any thread. stop() ends those that run and lets no other begin."""

    def __init__(self):
        self.lock, self.running, self.is_stopped = threading.Lock(), set(), False

    def __call__(self, command, timeout_s, more_environment=None):
        """(exit code, output); code None where it outlasted its time or was stopped."""
        with self.lock:
            if self.is_stopped:
                return None, ""
            process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env=dict(environment(), **(more_environment or {})), preexec_fn=die_with_parent)
            self.running.add(process)
        try:
            output, code = process.communicate(timeout=timeout_s)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, code = process.communicate()[0], None
        with self.lock:
            self.running.discard(process)
            return None if self.is_stopped else code, output.decode("utf-8", "replace")

    def stop(self):
        with self.lock:
            self.is_stopped = True
            for process in self.running:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


call = Calls()


def fail(text):
    print(f"fuzz: {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":  # for the builder of OSS-Fuzz: engine.py --max-length TARGET
    print(max_length(sys.argv[2]))
