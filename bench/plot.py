#!/usr/bin/env python3
"""Draws benchmark results as SVG, for light and dark pages: `./dev bench --plots`. Needs matplotlib, and no GPU.

FILE-time: microseconds against rows, with floors and peers. FILE-ratio: the same as multiples of the floor. FILE-factors: one
factor at a time changed from the centre, as multiples of the floor. The same files and versions give the same bytes; each picture
says in its metadata what it was drawn from and by what, and bench/plot_test.py looks whether that is what is committed.

Exit: 0 drawn, 2 matplotlib is missing or another one than asked for.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

from floor import floor_of

RESULTS = Path(__file__).resolve().parent / "results"
MODES = {"plain": "in place", "count": "in place with counts", "dcp": "DCP of 4, compacted, with counts"}
OTHER_MODES = {"compact": "compacted, no ranks", "dcp_in_place": "DCP of 4, in place", "prefill": "half of the rows prefill"}
COLORS = {"slotproof": "#2f81f7", "triton": "#db6d28", "torch": "#3fb950", "copy": "#8b949e", "gather": "#6e7681", "empty": "#b1bac4"}
FURTHER_COLORS = ["#bf3989", "#9a6700", "#1b7c83"]  # of contestants that have no name here
LABELS = {"copy": "copy (floor)", "gather": "table rows read (floor)", "empty": "empty launch", "triton": "Triton (vLLM)", "torch": "torch operators"}
MODE_COLORS = {"plain": "#2f81f7", "count": "#3fb950", "dcp": "#a371f7"}
THEMES = {"light": {"text": "#1f2328", "grid": "#d1d9e0"}, "dark": {"text": "#f0f6fc", "grid": "#3d444d"}}
KINDS = ("time", "ratio", "factors")


# ---- What is drawn.

def series_of(report, mode):
    """{contestant: [(T, microseconds, floor)]} of one mode over T, all else at the centre."""
    series = {}
    for point in report["points"]:
        shape = point["shape"]
        if shape["mode"] == mode and shape["factor"] == "T":
            for name, times in point["times"].items():
                series.setdefault(name, []).append((shape["tokens"], times["us"], floor_of(point)))
    return series


def label_of(shape):
    """What makes a point of one factor differ from the centre."""
    return {"T": "centre", "K": f"K = {shape['topk']}", "block": f"block {shape['block']}", "stride": f"stride {shape['stride']}",
            "N, I": f"N = {shape['size']}, I = {shape['interleave']}", "sorted": "sorted positions", "hot": "one input set (hot)",
            "rows per request": f"{shape['requests']} requests", "mode": OTHER_MODES.get(shape["mode"], shape["mode"])}.get(shape["factor"], shape["factor"])


def factors_of(report):
    """The T at which factors were changed, and {label: {(T, mode): {contestant: ratio to the floor}}}, the centre first."""
    changed = [point for point in report["points"] if point["shape"]["factor"] != "T"]
    tokens = sorted({point["shape"]["tokens"] for point in changed if point["shape"]["factor"] != "mode"})
    rows = {"centre": {}}
    for point in report["points"]:
        shape, times = point["shape"], point["times"]
        if shape["tokens"] in tokens and (shape["factor"] != "T" or shape["mode"] in MODES):
            rows.setdefault(label_of(shape), {})[shape["tokens"], shape["mode"]] = {
                name: times[name]["us"] / floor_of(point) for name in ("slotproof", "triton") if name in times}
    return tokens, rows


# ---- Drawing.

def theme_of(plt, theme):
    plt.rcParams.update({"svg.hashsalt": "slotproof", "text.color": theme["text"], "axes.labelcolor": theme["text"], "xtick.color": theme["text"],
                         "ytick.color": theme["text"], "axes.edgecolor": theme["grid"], "font.size": 9})


def finish(figure, theme, title, handles, labels):
    """Title above, legend below the panels: never over data."""
    figure.patch.set_alpha(0)
    for ax in figure.axes:
        ax.patch.set_alpha(0)
        ax.set_axisbelow(True)
        ax.grid(color=theme["grid"], linewidth=0.5)
    inch = 1 / figure.get_figheight()
    figure.suptitle(title, fontsize=11, y=1 - 0.08 * inch)
    figure.legend(handles, labels, loc="lower center", ncol=len(labels), fontsize=8.5, frameon=False)
    figure.tight_layout(rect=(0, 0.28 * inch, 1, 1))
    return figure


def over_rows(plt, report, theme, kind):
    """Time, or ratio to the floor, against T: a panel for each mode."""
    import matplotlib.ticker as ticker
    figure, axes = plt.subplots(1, len(MODES), figsize=(12, 3.9), sharey=True)
    colors, handles = dict(COLORS), {}
    for ax, (mode, name) in zip(axes, MODES.items()):
        for contestant, points in series_of(report, mode).items():
            if contestant == "diagnosis" or (kind == "ratio" and contestant not in ("slotproof", "triton")):
                continue
            color = colors.setdefault(contestant, FURTHER_COLORS[len(colors) % len(FURTHER_COLORS)])
            is_floor = contestant in ("copy", "gather", "empty")
            line, = ax.plot([t for t, _, _ in points], [us if kind == "time" else us / floor for _, us, floor in points], marker="o", markersize=3,
                            color=color, linestyle="--" if is_floor else "-", zorder=2 if is_floor else 3)
            handles.setdefault(contestant, line)
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_locator(ticker.FixedLocator([8**i for i in range(6)]))
        ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.0f}"))
        ax.xaxis.set_minor_locator(ticker.NullLocator())
        ax.set_title(name, fontsize=10)
        ax.set_xlabel("rows T")
        if kind == "time":
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        else:
            ax.axhline(1, color=theme["text"], linewidth=0.8)
    if kind == "ratio":
        axes[0].set_ylim(bottom=0)
    axes[0].set_ylabel("microseconds" if kind == "time" else "ratio to floor")
    titles = {"time": "Microseconds a launch", "ratio": "Times the floor (the larger of a copy and of reading the table rows)"}
    names = [name for name in colors if name in handles]
    topk = next(point["shape"]["topk"] for point in report["points"] if point["shape"]["factor"] == "T")
    return finish(figure, theme, f"{titles[kind]}, {report['device']}, K = {topk}", [handles[name] for name in names],
                  [LABELS.get(name, name) for name in names])


def factors(plt, report, theme, _):
    """Ratio to the floor, a line for each changed factor, a panel for each T. A dot: ours; a bar: the peer."""
    tokens, rows = factors_of(report)
    figure, axes = plt.subplots(1, max(len(tokens), 1), figsize=(12, 1.4 + 0.27 * len(rows)), sharey=True, squeeze=False)
    for ax, t in zip(axes[0], tokens):
        for i, cells in enumerate(rows.values()):
            for (at, mode), ratios in cells.items():
                if at != t or "slotproof" not in ratios:
                    continue
                y = i + 0.25 * (list(MODES).index(mode) - 1 if mode in MODES else 0)
                color = MODE_COLORS.get(mode, theme["text"])
                if "triton" in ratios:
                    ax.plot([ratios["slotproof"], ratios["triton"]], [y, y], color=color, linewidth=0.8, alpha=0.6, solid_capstyle="butt", zorder=2)
                    ax.plot(ratios["triton"], y, marker="|", markersize=7, markeredgewidth=1.2, color=color, zorder=3)
                ax.plot(ratios["slotproof"], y, marker="o", markersize=4.5, color=color, linestyle="", zorder=4)
        ax.axvline(1, color=theme["text"], linewidth=0.8)
        ax.set_title(f"T = {t}", fontsize=10)
        ax.set_xlabel("ratio to floor")
        ax.set_xlim(left=0)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_yticks(range(len(rows)), list(rows))
        ax.tick_params(axis="y", length=0)
    handles = [plt.Line2D([], [], color=color, marker="o", markersize=4.5, linestyle="") for color in [*MODE_COLORS.values(), theme["text"]]]
    handles.append(plt.Line2D([], [], color=theme["text"], marker="|", markersize=7, markeredgewidth=1.2, linestyle=""))
    return finish(figure, theme, f"One factor changed at a time, times the floor, {report['device']}", handles,
                  [*MODES.values(), "another mode", "Triton (vLLM)"])


def digests(source):
    """What a picture is drawn from; bench/plot_test.py compares it."""
    return ", ".join(f"{path.name} sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in (source, Path(__file__), Path(__file__).parent / "floor.py"))


def drawn_by():
    import matplotlib
    from matplotlib import ft2font
    return f"Matplotlib {matplotlib.__version__}, FreeType {ft2font.__freetype_version__}"


def pictures_of(source, folder):
    """{(kind, theme): file} of one file of results."""
    return {(kind, theme): folder / f"{source.stem}-{kind}-{theme}.svg" for kind in KINDS for theme in THEMES}


def draw(source, folder):
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    report = json.loads(source.read_text())
    for (kind, theme), path in pictures_of(source, folder).items():
        theme_of(plt, THEMES[theme])
        figure = (factors if kind == "factors" else over_rows)(plt, report, THEMES[theme], kind)
        figure.savefig(path, metadata={"Date": None, "Creator": drawn_by(), "Source": digests(source)})
        plt.close(figure)
        print(f"wrote {path}")


def results():
    """The files of results that are drawn."""
    return [path for path in sorted(RESULTS.glob("*.json")) if json.loads(path.read_text()).get("format") == "slotproof-bench"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", default=results(), help="default: all of bench/results")
    parser.add_argument("--out", type=Path, help="folder for the pictures; default: beside each file")
    parser.add_argument("--only-by", help="draw only with this matplotlib and FreeType, as a picture names them")
    options = parser.parse_args()
    try:
        found = drawn_by()
    except ImportError:
        print("plot.py: matplotlib is missing: ./dev bench --plots installs it", file=sys.stderr)
        return 2
    if options.only_by not in (None, found):
        print(f"plot.py: this is {found}, not {options.only_by}", file=sys.stderr)
        return 2
    for source in options.files:
        draw(source, options.out or source.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
