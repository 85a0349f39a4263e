#!/usr/bin/env python3
"""Runs the C++ benchmarks that need no GPU and the numpy remap, and writes bench/results/cpu.json. Rates are indices a second, costs nanoseconds
a call, each the median, least and greatest of the repeats. They are of CPU time where one thread does the work, else of real time."""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy
import numpy_remap
from provenance import commit, cpu_model

ROOT = Path(__file__).resolve().parent.parent


def run(program, repeats):
    """What Google Benchmark reports of a program: its context, and the repeats of each benchmark by name."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        subprocess.run([str(program), f"--benchmark_repetitions={repeats}", f"--benchmark_out={out}", "--benchmark_out_format=json"], check=True)
        report = json.loads(out.read_text())
    repeats_of = {}
    for benchmark in report["benchmarks"]:
        if benchmark["run_type"] != "iteration":
            continue
        error = benchmark.get("error_message", "")
        if error.startswith("no CUDA"):
            continue
        if error:
            raise SystemExit(f"{benchmark['name']}: {error}")
        name = re.sub(r"/real_time$", "", benchmark["run_name"])
        repeats_of.setdefault(name, []).append(benchmark)
    return report["context"], repeats_of


def summary(values, digits):
    return {name: float(f"{of(values):.{digits}g}") for name, of in (("median", statistics.median), ("least", min), ("greatest", max))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a build folder with SLOTPROOF_BENCH=ON")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "cpu.json")
    options = parser.parse_args()
    context, rates = run(options.build / "bin" / "cpu_bench", options.repeats)
    _, costs = run(options.build / "bin" / "host_cost", options.repeats)
    report = {"format": "slotproof-bench-cpu", "version": 1, "cpu": cpu_model(), "cores": os.cpu_count(), "compiler": context["compiler"],
              "numpy": numpy.__version__, "commit": commit(), "repeats": options.repeats, "topk": numpy_remap.TOPK,
              "indices_per_second": {name: summary([b["items_per_second"] for b in of], 4) for name, of in rates.items()},
              "host_cost_ns": {name: summary([b["cpu_time"] for b in of], 3) for name, of in costs.items()}}
    for mode in ("plain", "counts", "dcp"):
        for tokens in (1, 64, 4096):
            measured = numpy_remap.indices_per_second(options.build / "faults" / "slotproof_host.so", mode, tokens)
            report["indices_per_second"][f"numpy/{mode}/T:{tokens}"] = summary(measured, 4)
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(f"wrote {options.out}")
    table(report["indices_per_second"])


def table(rates):
    contestants = ("copy", "numpy", "reference", "checked", "fast, one thread", "fast, all threads")
    print("million indices a second".ljust(26) + "".join(f"{name:>18}" for name in contestants))
    for mode in ("plain", "counts", "dcp"):
        for tokens in (1, 64, 4096):
            cells = [rates.get(f"{name}/{mode}/T:{tokens}") for name in contestants]
            print(f"{mode}, T = {tokens}".ljust(26) + "".join(f"{cell['median'] / 1e6:>18.1f}" if cell else f"{'-':>18}" for cell in cells))


if __name__ == "__main__":
    main()
