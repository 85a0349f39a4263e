"""What a run on a GPU found, as a page for people and as JSON: <device>.md and <device>.json."""

import datetime
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def output_of(*command):
    """The output of a command that went well, else nothing."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def sanitizer():
    """compute-sanitizer; its bare name where it is nowhere, which then says so."""
    folders = [os.environ.get("PATH", ""), "/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer"]
    return shutil.which("compute-sanitizer", path=os.pathsep.join(folders)) or "compute-sanitizer"


def device():
    """The first GPU, or one line that says why there is none."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,compute_cap,driver_version,memory.total", "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=60, check=False)
    except FileNotFoundError:
        return "nvidia-smi was not found"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nvidia-smi failed: {error}"
    lines = (done.stdout or done.stderr).strip().splitlines() or ["it printed nothing"]
    fields = [field.strip() for field in lines[0].split(",")]
    if done.returncode != 0 or len(fields) != 4:
        return f"nvidia-smi: {lines[0]}"
    return dict(zip(["name", "compute_capability", "driver", "memory"], fields))


def source_of(build):
    """Commit and toolkit: of the bundle where this is one, else of the tree."""
    bundle = build / "bundle.json"
    if bundle.exists():
        return json.loads(bundle.read_text())
    commit = output_of("git", "rev-parse", "HEAD")
    return {"commit": commit or "unknown", "is_dirty": bool(output_of("git", "status", "--porcelain")) if commit else None,
            "toolkit": toolkit_of(output_of("nvcc", "--version") or output_of("/usr/local/cuda/bin/nvcc", "--version"))}


def toolkit_of(nvcc_version):
    match = re.search(r"release [\d.]+, V([\d.]+)", nvcc_version)
    return match[1] if match else "unknown"


def shortened(output, num_lines=300):
    lines = output.splitlines()
    if len(lines) <= num_lines:
        return output
    half = num_lines // 2
    return "\n".join([*lines[:half], f"... {len(lines) - num_lines} lines ...", *lines[-half:]])


def text_of(counts):
    def shown(value):
        return f"{value:,}" if isinstance(value, int) else str(value)

    return ", ".join(f"{name} {shown(value)}" for name, value in counts.items())


def page_of(record):
    state = {True: ", with changes that are not committed", False: "", None: ", state of the tree unknown"}[record["is_dirty"]]
    lines = [f"# {record['device']['name']}", "",
             f"Written by `./dev gpu`. {'Every step went well.' if record['ok'] else 'NOT EVERY STEP WENT WELL.'}", "", "| | |", "|---|---|",
             f"| device | {record['device']['name']}, compute capability {record['device']['compute_capability']}, {record['device']['memory']} |",
             f"| driver | {record['device']['driver']} |", f"| toolkit | {record['toolkit']} |", f"| compute-sanitizer | {record['compute_sanitizer']} |",
             f"| commit | {record['commit']}{state} |", f"| date | {record['date']} |", f"| duration | {record['seconds']:.0f} s |", "",
             "| step | | seconds | |", "|---|---|---|---|"]
    for step in record["steps"]:
        said = step["error"] if step["error"] is not None else text_of(step["counts"])
        lines.append(f"| {step['name']} | {'ok' if step['ok'] else 'FAILED'} | {step['seconds']:.1f} | {said.replace('|', '/')} |")
    return "\n".join(lines) + "\n"


def write(folder, found, build, steps, kernel_paths, seconds):
    """Writes both files and returns their paths."""
    version = re.search(r"Version ([\d.]+)", output_of(sanitizer(), "--version"))
    record = {"format": "slotproof-device-run", "version": 1, "ok": all(step["ok"] for step in steps), "device": found, **source_of(build),
              "compute_sanitizer": version[1] if version else "unknown",
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "seconds": round(seconds, 1), "steps": steps, "kernel_paths": kernel_paths}
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^a-z0-9]+", "-", found["name"].lower()).strip("-")
    page, data = folder / f"{stem}.md", folder / f"{stem}.json"
    page.write_text(page_of(record))
    data.write_text(json.dumps(record, indent=1) + "\n")
    return page, data
