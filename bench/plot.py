#!/usr/bin/env python3
"""Draws bench/results/DEVICE.json as SVG: time against T with floors and peers, and the ratio to the floor, for light and dark pages.

Usage: plot.py bench/results/nvidia-h200.json [FOLDER]. Needs matplotlib.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

MODES = {"plain": "in place", "count": "in place with counts", "dcp": "DCP of 4, compacted, with counts"}
COLORS = {"slotproof": "#2f81f7", "triton": "#db6d28", "copy": "#8b949e", "gather": "#6e7681", "empty": "#b1bac4", "diagnosis": "#a371f7"}
LABELS = {"copy": "copy (floor)", "gather": "table rows read (floor)", "empty": "empty launch", "triton": "Triton (vLLM)", "torch": "torch operators"}
THEMES = {"light": {"text": "#1f2328", "grid": "#d1d9e0"}, "dark": {"text": "#f0f6fc", "grid": "#3d444d"}}


def series_of(report, mode):
    """{name: [(T, microseconds)]} of one mode over T, all else at the centre."""
    series = {}
    for point in report["points"]:
        shape = point["shape"]
        if shape["mode"] == mode and shape["factor"] == "T":
            for name, times in point["times"].items():
                series.setdefault(name, []).append((shape["tokens"], times["us"]))
    return series


def floor_of(series):
    return {t: max(us, dict(series.get("gather", [])).get(t, 0)) for t, us in series["copy"]}


def draw(report, theme, value_of, title):
    plt.rcParams.update({"svg.hashsalt": "slotproof", "text.color": theme["text"], "axes.labelcolor": theme["text"], "xtick.color": theme["text"],
                         "ytick.color": theme["text"], "axes.edgecolor": theme["grid"], "font.size": 9})
    figure, axes = plt.subplots(1, len(MODES), figsize=(12, 3.6), sharey=True)
    figure.patch.set_alpha(0)
    for ax, (mode, name) in zip(axes, MODES.items()):
        ax.patch.set_alpha(0)
        series = series_of(report, mode)
        floor = floor_of(series)
        for contestant, points in series.items():
            points = value_of(contestant, points, floor)
            if points:
                ax.plot(*zip(*points), marker="o", markersize=3, color=COLORS.get(contestant, "#3fb950"), label=LABELS.get(contestant, contestant),
                        linestyle="-" if contestant in ("slotproof", "triton", "diagnosis") else "--")
        ax.set_xscale("log", base=2)
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("rows T")
        ax.grid(color=theme["grid"], linewidth=0.5)
    figure.suptitle(f"{title}, {report['device']}, K = 2048", fontsize=11)
    return figure, axes


def main():
    source = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else source.parent
    report = json.loads(source.read_text())
    for theme_name, theme in THEMES.items():
        figure, axes = draw(report, theme, lambda name, points, floor: points if name != "diagnosis" else [], "Microseconds a launch")
        axes[0].set_yscale("log")
        axes[0].set_ylabel("microseconds")
        axes[-1].legend(*axes[0].get_legend_handles_labels(), fontsize=8, frameon=False)  # not every contestant takes every mode
        figure.tight_layout()
        figure.savefig(folder / f"{source.stem}-time-{theme_name}.svg", metadata={"Date": None})
        figure, axes = draw(report, theme, lambda name, points, floor: [(t, us / floor[t]) for t, us in points] if name in ("slotproof", "triton") else [],
                            "Times the floor (the larger of copy and table rows read)")
        axes[0].set_ylabel("ratio to floor")
        axes[0].axhline(1, color=theme["text"], linewidth=0.8)
        axes[-1].legend(fontsize=8, frameon=False)
        figure.tight_layout()
        figure.savefig(folder / f"{source.stem}-ratio-{theme_name}.svg", metadata={"Date": None})
        plt.close("all")


if __name__ == "__main__":
    main()
