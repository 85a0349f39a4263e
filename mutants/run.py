"""Builds and judges mutants, a few at a time, and keeps every result at once: killed at any moment, it goes on where it was.

usage: ./dev mutants [--automatic] [--named] [--jobs N] [--minutes M] [--only TEXT]...     both kinds, unless one is named
       ./dev mutants --report    writes docs/results/mutants.md and mutants.json anew

Exit codes: 0 all were judged, 1 a named mutant survives, 3 the time was up before all were judged, 130 interrupted.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from build import Builder
from equivalents import Equivalents
from judge import judge_by_cases
from unit_tests import UnitTests
from sources import GROUPS, KERNELS, ROOT, group_of


def key_of(mutant, cache={}):
    """What a result is kept for: the mutated sources as they are. A judge that has changed since is run anew by --fresh."""
    files = group_of(mutant["file"]).files if "file" in mutant else (*KERNELS.files, f"property_tests/faults/{mutant['id']}.patch")
    if files not in cache:
        total = hashlib.sha256()
        for file in files:
            total.update((ROOT / file).read_bytes())
        cache[files] = total.hexdigest()[:16]
    return cache[files]


# Until one of them sees the mutant. The cases see what a back end's users can see; the unit tests also a plan that is another one and
# as right. Of the bodies they take long to build, so they come last there.
STAGES = ("drawn", "vectors", "tests", "paths", "many")
STAGES_OF_BODIES = ("drawn", "vectors", "paths", "many", "tests")


class State:
    """A line a result, written when it is there. Half a line, of a process that was killed, is left out."""

    def __init__(self, path, mutants):
        self.path, self.lock = path, threading.Lock()
        self.results = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        keys = {mutant["id"]: key_of(mutant) for mutant in mutants}
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                result = json.loads(line)
            except ValueError:
                continue
            if keys.get(result["id"]) == result["key"]:
                self.results[result["id"]] = result

    def add(self, mutant, result):
        with self.lock:
            self.results[mutant["id"]] = result
            with open(self.path, "a") as file:
                file.write(json.dumps({**result, "key": key_of(mutant)}) + "\n")


def named_mutants(folder):
    """The planted faults of the remap, built by the test build."""
    lists = json.loads((ROOT / "property_tests" / "faults" / "faults.json").read_text())
    for kind in ("faults", "path_faults"):
        for fault in lists[kind]:
            yield {"id": fault["name"], "named": True, "plugin": folder / f"{fault['name']}.so"}


def stages_left(mutant, state, stages):
    """Of a mutant that nothing has seen so far: the stages that it has not been through."""
    known = state.results.get(mutant["id"], {"status": "survived", "through": []})
    order = STAGES_OF_BODIES if mutant.get("file", "").startswith("kernels/") and mutant["file"].endswith(".h") else STAGES
    return [stage for stage in order if stage in stages and stage not in known["through"]] if known["status"] == "survived" else []


class Progress:
    def __init__(self, total):
        self.total, self.done, self.survived, self.begin, self.shown = total, 0, 0, time.monotonic(), 0.0

    def show(self, is_last=False):
        is_terminal = sys.stderr.isatty()
        now = time.monotonic()
        if not is_last and now - self.shown < (0.5 if is_terminal else 30):
            return
        self.shown = now
        seconds = now - self.begin
        left = (self.total - self.done) * seconds / max(self.done, 1)
        print(f"{chr(13) if is_terminal else ''}mutants: {self.done} of {self.total}, {self.survived} survive, {seconds:.0f} s, about {left:.0f} s left",
              end="" if is_terminal and not is_last else "\n", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--automatic", action="store_true", help="those of build/mutants/mutants.json (mutants/generate.py)")
    parser.add_argument("--named", action="store_true", help="the planted faults of property_tests/faults")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="a file, an id or a name; may be given several times")
    parser.add_argument("--unexplained", action="store_true", help="leaves out what equivalent.json explains: a full run may contradict it, and is for the night")
    parser.add_argument("--again", action="store_true", help="puts survivors to all stages once more, where there are better tests now")
    parser.add_argument("--fresh", action="store_true", help="forget what was judged before")
    parser.add_argument("--stages", default=",".join(STAGES), help="some of the stages alone: %(default)s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, help="begins no mutant after so long")
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "dev" / "bin" / "slotproof")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "dev", help="of preset dev: the planted faults, and the tests to link with mutants")
    parser.add_argument("--mutants", type=Path, default=ROOT / "build" / "mutants" / "mutants.json")
    parser.add_argument("--state", type=Path, default=ROOT / "findings" / "mutants" / "results.jsonl")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--eigen", default="/usr/include/eigen3")
    args = parser.parse_args()

    if not args.automatic and not args.named:
        args.automatic = args.named = True
    mutants = list(named_mutants(args.build / "faults")) if args.named else []
    if args.automatic:
        if not args.mutants.exists():
            parser.error(f"{args.mutants} is not there; mutants/generate.py makes it")
        mutants += json.loads(args.mutants.read_text())
    if args.only:
        mutants = [m for m in mutants if any(text in (m["id"], m.get("file")) for text in args.only)]
    if args.unexplained:
        equivalents = Equivalents(ROOT / "mutants" / "equivalent.json")
        mutants = [m for m in mutants if m.get("named") or not equivalents.reason_of(m)]
    for mutant in mutants:
        if mutant.get("named") and not mutant["plugin"].exists():
            parser.error(f"{mutant['plugin']} is not there; ./dev mutants builds it")
    stages = args.stages.split(",")
    if unknown := set(stages) - set(STAGES):
        parser.error(f"there is no stage {', '.join(sorted(unknown))}")
    if args.fresh:
        args.state.unlink(missing_ok=True)
    state = State(args.state, mutants)
    if args.again:
        for mutant in mutants:
            known = state.results.get(mutant["id"])
            if known and known["status"] == "survived":
                state.results[mutant["id"]] = {**known, "through": [stage for stage in known["through"] if stage not in stages]}
    waiting = [m for m in mutants if stages_left(m, state, stages)]
    print(f"mutants: {len(mutants)}, of which {len(mutants) - len(waiting)} were judged before", file=sys.stderr)
    builder = Builder(args.work, args.compiler, args.eigen)
    unit_tests = UnitTests(args.build, args.work, builder) if "tests" in stages else None

    def result_at(stage, mutant, plugin):
        if stage != "tests":
            return judge_by_cases(args.program, plugin, stage)
        return unit_tests.judge(mutant) if "file" in mutant else None

    deadline = time.monotonic() + 60 * args.minutes if args.minutes else None
    if groups := [group for group in GROUPS if any(mutant.get("file") in group.files for mutant in waiting)]:
        for group in groups:
            if seen := judge_by_cases(args.program, builder.control(group), "drawn"):
                raise SystemExit(f"mutants: without a mutant, {group.name} fails: {seen}")
        if unit_tests:
            unit_tests.check_control()
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    progress = Progress(len(waiting))

    def run(mutant):
        if stop.is_set() or (deadline and time.monotonic() > deadline):
            return
        begin = time.monotonic()
        plugin, why_not = (mutant["plugin"], None) if mutant.get("named") else builder.build(mutant)
        result, through = ({"status": why_not}, []) if plugin is None else (None, list(state.results.get(mutant["id"], {}).get("through", [])))
        for stage in stages_left(mutant, state, stages) if plugin else []:
            result = result_at(stage, mutant, plugin)
            through.append(stage)
            if result or stop.is_set():
                break
        if not mutant.get("named"):
            builder.remove(mutant)
        if stop.is_set() and result is None:
            return  # perhaps not to the end of the stage
        result = {**(result or {"status": "survived"}), "through": through}
        kept = {name: mutant[name] for name in ("id", "named", "file", "line", "before", "after") if name in mutant}
        state.add(mutant, {**kept, **result, "seconds": round(time.monotonic() - begin, 2)})
        progress.done += 1
        progress.survived += result["status"] == "survived"
        progress.show()

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for future in [pool.submit(run, mutant) for mutant in waiting]:
            future.result()
    progress.show(is_last=True)
    if stop.is_set():
        return 130
    if any(stages_left(m, state, stages) for m in mutants):
        return 3
    return 1 if any(m.get("named") and state.results[m["id"]]["status"] != "killed" for m in mutants) else 0


if __name__ == "__main__":
    sys.exit(main())
