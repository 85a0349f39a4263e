"""One libFuzzer process: its command, what its log says, and what it leaves behind. campaign.py runs many of them."""

import ctypes
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
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
            f"-max_len={max_length(target)}", what_is_new(target), "-len_control=0", "-timeout=20", "-rss_limit_mb=3000", "-reload=1",
            "-verbosity=1"]
        self.cpu_seconds = 0.0
        self.is_stopped = False
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=dict(environment(), **more_environment), preexec_fn=die_with_parent)

    def has_ended(self):
        """Also takes the time that it took of its core: what others did on the machine is not in it."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if self.process.poll() is None:
            return False
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu_seconds += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
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

    def new_artifacts(self):
        return sorted(self.artifacts.parent.glob(self.artifacts.name + "*"))


def summary_in(log, code):
    """What findings of one fault have in common: the first summary line, or the way the process ended. None: it ended well."""
    if code == 0:
        return None
    found = SUMMARY.findall(log)
    # libFuzzer's own summary follows that of the target or of a sanitizer; a time limit has no other.
    first = re.sub(r"^\S*Sanitizer: (\S+) (?:\S*/)?([^/ ]+?):(\d+)(?::\d+)?(.*)$", r"\1 at \2:\3\4", found[0]) if found else ""
    return first or CHECKED_EXIT.get(code, f"ended with code {code}")


def name_of(content):
    """As libFuzzer names the inputs of a corpus."""
    return hashlib.sha1(content).hexdigest()


def drop_torn_inputs(corpus):
    """A process killed in the middle of a write leaves a part of an input under the whole one's name. Returns how many."""
    torn = 0
    for path in corpus.iterdir() if corpus.is_dir() else []:
        if re.fullmatch(r"[0-9a-f]{40}", path.name) and name_of(path.read_bytes()) != path.name:
            path.unlink()
            torn += 1
    return torn


def call(command, timeout_s):
    """(exit code, output); code None where it outlasted its time."""
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              env=environment(), timeout=timeout_s, preexec_fn=die_with_parent)
        return done.returncode, done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired as expired:
        return None, (expired.stdout or b"").decode("utf-8", "replace")


def merge(binary, target, sources, place, timeout_s=900):
    """Replaces the corpus `place` by the fewest inputs that reach what the sources' reach. Returns an error, empty where it went well.

    Killed at any moment it leaves the old corpus or the new one: see finish_swap.
    """
    fresh = place.with_name(f".{place.name}-new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    code, output = call([binary, "-merge=1", what_is_new(target), f"-max_len={max_length(target)}", fresh] + list(sources), timeout_s)
    if code != 0:
        return f"merge of {target} ended with {code}: {output[-400:]}"
    old = place.with_name(f".{place.name}-old")
    if place.exists():
        os.rename(place, old)
    os.rename(fresh, place)
    shutil.rmtree(old, ignore_errors=True)
    return ""


def finish_swap(place):
    """After a kill: the old corpus comes back where the new one had not taken its place."""
    old = place.with_name(f".{place.name}-old")
    if old.is_dir() and not place.exists():
        os.rename(old, place)
    for left in (old, place.with_name(f".{place.name}-new")):
        shutil.rmtree(left, ignore_errors=True)


def fail(text):
    print(f"fuzz: {text}", file=sys.stderr)
    return 2


def figures_of(record, corpus):
    """What a campaign says of a target in its summary."""
    return {"seconds": round(record["seconds"]), "runs": record["runs"], "runs_per_s": round(record["runs"] / max(record["seconds"], 1)),
            "runs_per_cpu_s": round(record["runs"] / max(record["cpu_seconds"], 1)), "coverage": record["coverage"],
            "compared_percent": round(100 * record["compared"] / record["judged_runs"], 1) if record["judged_runs"] else None,
            "corpus": sum(1 for _ in corpus.iterdir())}
