#!/usr/bin/env python3
"""Fuzzes targets side by side over shared corpora, for hours: `./dev fuzz`.

A campaign lives in one folder: corpus/TARGET, findings/NAME, logs, state.json. It may be killed at any moment; the same command
goes on where it was. Exit: 0 no finding, 1 a finding, 2 wrong usage, 3 a fuzzer or the other back end cannot run, 130 interrupted.
"""

import argparse
import fcntl
import os
import signal
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "fuzz"), str(ROOT / "bench")]
import engine  # noqa: E402
from loop import CANNOT_RUN, Campaign  # noqa: E402


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
    options = parse(sys.argv[1:])
    options.folder.mkdir(parents=True, exist_ok=True)
    lock = open(options.folder / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return engine.fail(f"another campaign works in {options.folder}")
    campaign = Campaign(options)

    def interrupt(*_):
        campaign.is_interrupted = True
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return campaign.run()
    finally:
        campaign.stop()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # no finding, which is what Python's own exit code would say
        traceback.print_exc()
        sys.exit(CANNOT_RUN)
