#!/usr/bin/env python3
"""Does what OSS-Fuzz's builder does, without it: runs .clusterfuzzlite/build.sh and looks at what it left. `./dev fuzz --oss-fuzz-build DIR`.

Uses clang-19 with the builder's flags, and libc++ where that is installed. Exit: 0 every fuzzer is there and runs, 1 not.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import engine  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
FLAGS = "-O1 -fno-omit-frame-pointer -gline-tables-only -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -fsanitize=fuzzer-no-link"
SANITIZER = {"address": "-fsanitize=address -fsanitize-address-use-after-scope", "undefined": "-fsanitize=undefined -fno-sanitize-recover=all"}


def has_libcxx():
    probe = subprocess.run(["clang++-19", "-stdlib=libc++", "-x", "c++", "-std=c++20", "-fsyntax-only", "-"], input="#include <vector>\n", text=True, stderr=subprocess.DEVNULL)
    return probe.returncode == 0


def check(out, target):
    """What is wrong with a fuzzer, as the builder's bad-build check would find it."""
    binary, seeds = out / f"fuzz_{target}", out / f"fuzz_{target}_seed_corpus.zip"
    if not binary.exists() or not seeds.exists():
        return "is not there"
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(seeds).extractall(folder)
        max_len = re.search(r"^max_len = (\d+)$", (out / f"fuzz_{target}.options").read_text(), re.M)
        if not max_len or any(path.stat().st_size > int(max_len[1]) for path in Path(folder).iterdir()):
            return "cuts some of its seeds: max_len"
        code, output = engine.call([binary, "-runs=0", f"-max_len={max_len[1]}", folder], 300)
        if code != 0:
            return f"fails on its seeds: {output[-500:]}"
        code, output = engine.call([binary, "-runs=200", "-seed=1", "-len_control=0", f"-artifact_prefix={folder}/"], 300)
        return "" if code == 0 else f"does not run: {output[-500:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="DIR", help="$OUT of the builder")
    parser.add_argument("--sanitizer", choices=sorted(SANITIZER), default="address")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    flags = f"{FLAGS} {SANITIZER[options.sanitizer]}"
    # The distribution's libFuzzer is made for libstdc++, the builder's for libc++; clang takes -lstdc++ for its own.
    library, engine_flags = (" -stdlib=libc++", "-fsanitize=fuzzer;-l:libstdc++.so.6") if has_libcxx() else ("", "-fsanitize=fuzzer")
    print(f"fuzz: sanitizer {options.sanitizer},{library or ' libstdc++'}", flush=True)
    with tempfile.TemporaryDirectory(prefix="slotproof-oss-fuzz-") as work:
        environment = dict(os.environ, SRC=str(ROOT.parent), SLOTPROOF_SOURCE=str(ROOT), WORK=work, OUT=str(options.out.resolve()), CC="clang-19", CXX="clang++-19",
                           CFLAGS=flags, CXXFLAGS=flags + library, LIB_FUZZING_ENGINE=engine_flags, SANITIZER=options.sanitizer, FUZZING_ENGINE="libfuzzer")
        if subprocess.run([str(ROOT / ".clusterfuzzlite" / "build.sh")], env=environment, stdout=sys.stderr).returncode != 0:
            return engine.fail("build.sh failed") - 1
    is_bad = False
    for target in engine.TARGETS:
        wrong = check(options.out, target)
        is_bad |= bool(wrong)
        print(f"fuzz_{target}: {wrong or 'good'}", flush=True)
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main())
