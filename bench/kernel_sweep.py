#!/usr/bin/env python3
"""Times every kernel of ours that takes a shape, whatever the planner would pick: what its thresholds come from.

Measures as gpu_bench.py does. Writes bench/results/DEVICE-kernels.json: for each shape the floors, every kernel's time, and the one
that the planner picks. Says how far the planner's choice is from the fastest.
"""

import argparse
import json
from pathlib import Path

import torch

from contestants import Ours, Planner, Shape, floors_of, kernels_of
from gpu_bench import ROOT, built_from, machine, measure


def shapes():
    for mode in ("plain", "count", "dcp", "dcp_in_place", "compact"):
        for topk in (512, 1024, 2048, 4096):
            for tokens in (1, 8, 32, 64, 128, 256, 512, 1024, 2048, 8192, 32768):
                if tokens * topk <= 8192 * 4096:
                    yield Shape(mode=mode, topk=topk, tokens=tokens, factor="T")
    for mode in ("plain", "count", "dcp"):
        for tokens in (128, 8192):
            for topk in (2051, 2176):
                yield Shape(mode=mode, topk=topk, tokens=tokens, factor="K")
            for block in (16, 128):
                yield Shape(mode=mode, tokens=tokens, block=block, stride=block, columns=131072 // block, requests=32, factor="block")
    for tokens in (128, 8192):
        yield Shape(mode="dcp", tokens=tokens, size=3, rank=1, factor="N")
        yield Shape(mode="prefill", tokens=tokens, factor="mode")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True, help="our kernels as a CUDA plug-in; names the commit")
    parser.add_argument("--floors", type=Path, required=True, help="the library of floors.cu and entry_points.cpp")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path, help="default: bench/results/DEVICE-kernels.json")
    options = parser.parse_args()
    library, kernels = kernels_of(options.floors)
    planner, arguments = Planner(library, kernels), Ours(options.library)
    copy = [floor for floor in floors_of(options.floors) if floor.name == "copy"]
    report = {"format": "slotproof-kernels", "version": 1, **machine(), "commit": built_from(options.library), "repeats": options.repeats, "points": []}
    worst = 1.0
    for shape in shapes():
        picks = []

        def pick(inputs):
            picks.append(planner.pick(arguments.arguments_of(inputs)))

        times, _ = measure(shape, [*copy, *kernels], options.repeats, on_inputs=pick)
        for contestant in (*kernels, arguments):
            contestant.arguments.clear()
        torch.cuda.empty_cache()
        microseconds = {name: round(t["us"], 3) for name, t in times.items()}
        ours = {name: us for name, us in microseconds.items() if name != "copy"}
        best = min(ours, key=ours.get)
        lag = ours[picks[0]] / ours[best]
        worst = max(worst, lag)
        report["points"].append({"shape": shape.as_dict(), "planned": picks[0], "us": microseconds})
        print(f"{shape.mode:<13}T {shape.tokens:<6}K {shape.topk:<5}block {shape.block:<4}copy {microseconds['copy']:>8.2f}  planned {ours[picks[0]]:>8.2f} {picks[0]}"
              + (f"   {lag:.3f} of {best} {ours[best]:.2f}" if best != picks[0] else ""), flush=True)
    print(f"the planner is never further from the fastest kernel than by {worst:.3f}")
    out = options.out or ROOT / "bench" / "results" / (report["device"].lower().replace(" ", "-") + "-kernels.json")
    out.write_text(json.dumps(report, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
