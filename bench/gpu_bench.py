#!/usr/bin/env python3
"""Times the remap on a GPU beside its floors and its peers, in one run, by replays of CUDA graphs.

A shape is measured by capturing many launches into a graph, replaying the graphs of all contestants in turn, and taking each
one's median. "cold" rotates eight input sets, "hot" repeats one. Outputs are poisoned before and checked after timing.

Needs torch. The peer is a file of the user's: --peer PATH/sparse_utils.py (Triton kernels of vLLM); it is loaded, not copied.
"""

import argparse
import collections
import json
import platform
import statistics
import subprocess
from pathlib import Path

import torch

from floor import floor_of
from contestants import POISON, Diagnosis, Inputs, Ours, Shape, Torch, Triton, floors_of

ROOT = Path(__file__).resolve().parent.parent
NUM_SETS = 8


def graph_of(contestant, sets, launches):
    for inputs in sets:
        contestant.launch(inputs)  # compiles, and warms up
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # A contestant that allocates its outputs rotates as many of them as the others write: held for one round of the sets, then
    # given back to the allocator. Else it would write the same memory each time, which the cache holds.
    results = collections.deque(maxlen=len(sets))
    with torch.cuda.graph(graph):
        for i in range(launches):
            results.append(contestant.launch(sets[i % len(sets)]))
    return graph, results  # of the last launch on each set, in their order


def measure(shape, contestants, repeats, on_inputs=lambda inputs: None):
    num_sets = NUM_SETS if shape.sets == "cold" else 1
    sets = [Inputs(shape, 1000 + i) for i in range(num_sets)]
    launches = max(num_sets, min(160, int(4_000_000 / (shape.tokens * shape.topk / 16 + 20_000)))) // num_sets * num_sets
    on_inputs(sets[0])
    graphs = {c.name: (c, *graph_of(c, sets, launches)) for c in contestants if c.accepts(shape) and c.fits(sets[0])}
    times = {name: [] for name in graphs}
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for repeat in range(repeats + 2):
        for name, (_, graph, _) in graphs.items():
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            if repeat >= 2:
                times[name].append(begin.elapsed_time(end) * 1000 / launches)
    for name, (contestant, graph, results) in graphs.items():
        if contestant.ordered is None:
            continue
        for inputs, result in zip(sets, results):
            inputs.poison()
            for tensor in result:
                if tensor is not None:
                    tensor.fill_(POISON)
        graph.replay()
        torch.cuda.synchronize()
        for inputs, result in zip(sets, results):
            wrong = inputs.wrong(*result, contestant.ordered)
            if wrong:
                raise RuntimeError(f"{name} is wrong at {shape.as_dict()}: {wrong}")
    return {name: {"us": statistics.median(t), "min_us": min(t), "max_us": max(t)} for name, t in times.items()}, launches


def shapes_of(which):
    tokens = [1, 8, 32, 128, 512, 2048, 8192, 32768]
    modes = ["plain", "count", "dcp"]
    for mode in modes:
        for t in tokens if which != "quick" else [1, 32, 128, 512, 2048, 8192, 32768]:
            yield Shape(mode=mode, tokens=t)
    if which != "full":
        return
    for mode in ["compact", "dcp_in_place", "prefill"]:
        for t in [1, 128, 8192]:
            yield Shape(mode=mode, tokens=t, factor="mode")
    for mode in modes:
        for t in [128, 8192]:
            at = dict(mode=mode, tokens=t)
            for k in [512, 1024, 2051, 2176, 4096]:
                yield Shape(topk=k, factor="K", **at)
            for block in [1, 16, 128]:
                yield Shape(block=block, stride=block, columns=131072 // block, factor="block", requests=32, **at)
            yield Shape(stride=80, factor="stride", **at)
            yield Shape(sorted=True, factor="sorted", **at)
            yield Shape(sets="hot", factor="hot", **at)
            yield Shape(requests=8, factor="rows per request", **at)
    for t in [128, 8192]:
        for size, interleave in [(2, 1), (3, 1), (8, 1), (4, 16), (4, 64)]:
            yield Shape(mode="dcp", tokens=t, size=size, rank=1, interleave=interleave, factor="N, I")


def built_from(library):
    """The commit of a bundle, or of this tree."""
    bundle = library.resolve().parents[2] / "bundle.json"
    if bundle.exists():
        source = json.loads(bundle.read_text())
        return source.get("commit", "unknown") + (" with changes" if source.get("is_dirty") else "")
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def machine():
    smi = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False)
    return {"device": torch.cuda.get_device_name(), "driver": smi.stdout.strip(), "cuda": torch.version.cuda, "torch": torch.__version__,
            "python": platform.python_version()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, action="append", required=True, help="our kernels as a CUDA plug-in; several to compare")
    parser.add_argument("--floors", type=Path, required=True, help="the library of floors.cu")
    parser.add_argument("--peer", type=Path, help="a sparse_utils.py of vLLM")
    parser.add_argument("--shapes", choices=["quick", "T", "full"], default="T")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--commit", default=None, help="what the kernels were built from; default: git's HEAD, or the bundle's")
    parser.add_argument("--out", type=Path, help="default: bench/results/DEVICE.json")
    options = parser.parse_args()
    ours = [Ours(path, "slotproof" if i == 0 else path.stem) for i, path in enumerate(options.library)]
    contestants = [*floors_of(options.floors), *ours, Diagnosis(options.floors, ours[0])]
    if options.peer:
        contestants.append(Triton(options.peer))
    if options.shapes == "full":
        contestants.append(Torch())
    report = {"format": "slotproof-bench", "version": 1, **machine(), "commit": options.commit or built_from(options.library[0]), "repeats": options.repeats, "points": []}
    names = [c.name for c in contestants]
    print(f"{'mode':<13}{'factor':<17}{'T':>6} {'K':>5} " + "".join(f"{n[:13]:>14}" for n in names) + "   ours/floor", flush=True)
    for shape in shapes_of(options.shapes):
        times, launches = measure(shape, contestants, options.repeats)
        report["points"].append({"shape": shape.as_dict(), "launches": launches, "times": times})
        floor = floor_of(report["points"][-1])
        cells = "".join(f"{times[n]['us']:>14.2f}" if n in times else f"{'-':>14}" for n in names)
        print(f"{shape.mode:<13}{shape.factor:<17}{shape.tokens:>6} {shape.topk:>5} {cells}   {times['slotproof']['us'] / floor:10.3f}", flush=True)
        for contestant in contestants:
            if isinstance(contestant, Ours):
                contestant.arguments.clear()
        torch.cuda.empty_cache()
    out = options.out or ROOT / "bench" / "results" / (report["device"].lower().replace(" ", "-") + ".json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
