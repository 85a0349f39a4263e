"""The findings of a campaign: one folder each, however often it is found. Written whole or not at all."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import engine


def stem_of(target, summary):
    words = re.sub(r"[^a-z0-9]+", "-", summary.lower().removeprefix("slotproof: ").removeprefix(f"{target}: ")).strip("-")[:60]
    return f"{target}-{words}-{hashlib.sha1(summary.encode()).hexdigest()[:6]}"


def write_atomically(path, text):
    partial = path.with_name(path.name + ".partial")
    with open(partial, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


class Findings:
    """findings/<stem>/: input, shrunk, case.json where it is a problem, log.txt, finding.json."""

    def __init__(self, folder, binary_of):
        self.folder, self.binary_of = folder, binary_of
        self.environment = {}  # what the fuzzers run under: it says which problems their bytes are
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".new-*"):  # half made when a campaign was killed; its artifact is still among the incoming
            shutil.rmtree(left)

    def all(self):
        found = []
        for path in sorted(self.folder.glob("*/finding.json")):
            found.append(dict(json.loads(path.read_text()), folder=str(path.parent)))
        return found

    def add(self, target, artifact, summary, log, seconds):
        """Takes an artifact over. True where nobody had found this before, None where it was stopped: then the artifact stays."""
        place = self.folder / stem_of(target, summary)
        if place.exists():
            record = json.loads((place / "finding.json").read_text())
            record["times_found"] += 1
            write_atomically(place / "finding.json", json.dumps(record, indent=1) + "\n")
            artifact.unlink()
            return False
        new = self.folder / f".new-{place.name}"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        shutil.copy(artifact, new / "input")
        (new / "log.txt").write_text(log[-20000:])
        record = {"target": target, "summary": summary, "times_found": 1, "found_after_s": round(seconds, 1), "shrunk_by": self.shrink(target, new)}
        if self.environment:
            record["environment"] = self.environment
        if engine.call.is_stopped:
            return None
        write_atomically(new / "finding.json", json.dumps(record, indent=1) + "\n")
        os.rename(new, place)
        artifact.unlink()
        return True

    def add_case(self, backend, name, case, seconds):
        """The same of a counterexample on another back end, which is shrunk already. Takes its file over."""
        place = self.folder / stem_of(re.sub(r"\W+", "-", backend), name)
        if place.exists():
            record = json.loads((place / "finding.json").read_text())
            write_atomically(place / "finding.json", json.dumps(dict(record, times_found=record["times_found"] + 1), indent=1) + "\n")
            case.unlink()
            return False
        new = self.folder / f".new-{place.name}"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        shutil.copy(case, new / ("case.json" if case.suffix == ".json" else "batch"))
        record = {"target": backend, "summary": name, "times_found": 1, "found_after_s": round(seconds, 1), "shrunk_by": "case"}
        write_atomically(new / "finding.json", json.dumps(record, indent=1) + "\n")
        os.rename(new, place)
        case.unlink()
        return True

    def shrink(self, target, place):
        """To the smallest case where the input is a problem and does not end the process, else to the fewest bytes."""
        binary, source, shrunk = self.binary_of(target), place / "input", place / "shrunk"
        by = "case"
        code, _ = engine.call([binary, "--replay", "--shrink", shrunk, source], 60, self.environment)
        if code != 0 or not shrunk.exists():
            by = "bytes"
            engine.call([binary, source, "-minimize_crash=1", "-max_total_time=20", f"-exact_artifact_path={shrunk}", "-timeout=20"], 60,
                        self.environment)
        if not shrunk.exists():
            by = "nothing"
            shutil.copy(source, shrunk)
        engine.call([binary, "--replay", "--write-case", place / "case.json", shrunk], 30, self.environment)
        return by
