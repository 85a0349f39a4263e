#!/usr/bin/env python3
"""Copies what `./dev gpu` needs from a build folder into a bundle: stripped programs, plug-ins, and the libraries that a machine
with a GPU may lack. The bundle is laid out as the build folder is; bundle.json says what it was built from."""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import results  # noqa: E402

LIMIT_BYTES = 40 << 20
PROGRAMS = ["bin/slotproof", "bin/slotproof_tests", "bin/host_cost"]
PLUGINS = ["faults/slotproof_host.so", "faults/tail-unwritten.so", "faults/cuda/*.so", "property_tests/example_plugins/*.so", "bench/*.so"]
# Of the compiler and of the C library: every machine has its own.
SYSTEM_LIBRARY = re.compile(r"^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.)")


def libraries_of(program):
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    for name, path in re.findall(r"^\s*(\S+) => (\S+)", listed, re.MULTILINE):
        if not SYSTEM_LIBRARY.match(name):
            yield name, Path(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--bundle", type=Path, required=True)
    options = parser.parse_args()
    shutil.rmtree(options.bundle, ignore_errors=True)
    libraries = {}
    for pattern in PROGRAMS + PLUGINS:
        sources = sorted(options.build.glob(pattern))
        if not sources:
            raise SystemExit(f"{options.build} has no {pattern}: it was built without tests, CUDA or benchmarks")
        for source in sources:
            target = options.bundle / source.relative_to(options.build)
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["strip", "-o", str(target), str(source)], check=True)
            libraries.update(libraries_of(source))
    (options.bundle / "lib").mkdir()
    for name, path in libraries.items():
        shutil.copyfile(path.resolve(), options.bundle / "lib" / name)
    (options.bundle / "bundle.json").write_text(json.dumps(results.source_of(options.build), indent=1) + "\n")
    # Stack frames and spills end it here; whether code moved is said on the machine that the bundle goes to.
    subprocess.run([sys.executable, results.ROOT / "bench" / "code_report.py", "--build", options.build, "--brief", "--moved-is-no-failure",
                    "--json", options.bundle / "code.json"], check=True)
    size = sum(path.stat().st_size for path in options.bundle.rglob("*") if path.is_file())
    print(f"{options.bundle}: {size / (1 << 20):.1f} MiB, with {', '.join(sorted(libraries)) or 'no library'} beside the programs")
    if size > LIMIT_BYTES:
        raise SystemExit(f"more than {LIMIT_BYTES >> 20} MiB")


if __name__ == "__main__":
    main()
