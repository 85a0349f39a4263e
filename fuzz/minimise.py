#!/usr/bin/env python3
"""Makes the committed corpora anew: the fewest inputs that reach what the vectors, the present corpora and a campaign's reach.

`./dev fuzz --keep [--folder CAMPAIGN]`. Regression inputs are no part of this: they stay whatever they reach.
"""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import engine  # noqa: E402
from corpora import name_of, what_is_wrong_with  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
BUDGET_BYTES = 500_000


def gather(replay, target, sources, folder):
    """What of the sources is compared: an input that says nothing, whatever it reaches, is no test. Returns an error, empty where it went well."""
    folder.mkdir()
    for source in sources:
        for path in source.iterdir():
            shutil.copy(path, folder / name_of(path.read_bytes()))
    code, output = engine.call([replay, target, folder], 1800)
    if code not in (0, 1) or "FINDING" in output:
        return f"{target}: the replay ended with {code}: {output[-400:]}"
    for name in re.findall(r"^NOTHING .*/([0-9a-f]{40}):", output, re.M):
        (folder / name).unlink()
    return ""


def num_bytes(folder):
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def minimise(build, target, sources, kept):
    """Set cover over edges; how often an edge ran makes corpora four times as large and reaches nothing more. Writes the folder `kept`."""
    with tempfile.TemporaryDirectory(prefix="slotproof-corpus-") as scratch:
        compared, fresh = Path(scratch) / "compared", Path(scratch) / target
        if error := gather(build / "bin" / "fuzz_replay", target, sources, compared):
            return error
        fresh.mkdir()
        code, output = engine.call([build / "bin" / f"fuzz_{target}", "-set_cover_merge=1", "-use_counters=0", f"-max_len={engine.max_length(target)}",
                                    fresh, compared], 1800)
        if code != 0:
            return f"{target}: the merge ended with {code}: {output[-400:]}"
        if error := what_is_wrong_with(fresh, [compared]):
            return f"{target}: {error}"
        kept.mkdir(parents=True)
        for path in sorted(fresh.iterdir()):
            shutil.copy(path, kept / path.name[:16])
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--folder", type=Path, default=ROOT / "findings" / "fuzz", help="the campaign")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--corpus", type=Path, default=ROOT / "fuzz" / "corpus", help="the corpora that are made anew")
    parser.add_argument("--budget", type=int, default=BUDGET_BYTES, help="bytes of all corpora; where they would be larger, nothing is changed")
    options = parser.parse_args()
    options.targets = options.targets or engine.TARGETS
    with tempfile.TemporaryDirectory(prefix="slotproof-seeds-") as seeds, tempfile.TemporaryDirectory(prefix="slotproof-kept-") as kept:
        code, output = engine.call([options.build / "bin" / "fuzz_replay", "--seeds", seeds, ROOT / "property_tests" / "vectors"], 300)
        if code != 0:
            return engine.fail(f"the vectors are no seeds: {output[-400:]}")
        for path in [p for p in Path(seeds).rglob("*") if p.is_file() and p.stat().st_size > engine.max_length(p.parent.name)]:
            path.unlink()  # libFuzzer would cut it, and half a case says nothing
        for target in options.targets:
            sources = [p for p in (options.corpus / target, options.folder / "corpus" / target, Path(seeds) / target) if p.is_dir() and any(p.iterdir())]
            error = minimise(options.build, target, sources, Path(kept) / target)
            if error:
                return engine.fail(error)
            print(f"{target}: {len(list((Path(kept) / target).iterdir()))} inputs, {num_bytes(Path(kept) / target)} bytes", flush=True)
        total = num_bytes(Path(kept)) + sum(num_bytes(options.corpus / target) for target in engine.TARGETS if target not in options.targets)
        print(f"all: {total} bytes")
        if total > options.budget:
            return engine.fail(f"that is more than {options.budget}: nothing is changed; name the targets that shall be kept anew")
        for target in options.targets:
            shutil.rmtree(options.corpus / target, ignore_errors=True)
            shutil.copytree(Path(kept) / target, options.corpus / target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
