"""How far a campaign is: what outlives a kill, in its folder's state.json."""

import json
import time

from findings import write_atomically

NEW_TARGET = {"seconds": 0.0, "cpu_seconds": 0.0, "runs": 0, "compared": 0, "judged_runs": 0, "dropped": 0, "coverage": 0, "slices": 0,
              "crashes_in_a_row": 0, "ends_in_a_row": 0, "is_merge_due": False}


def clock(seconds):
    seconds = max(int(seconds), 0)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


class State:
    def __init__(self, path, targets, wanted_s):
        self.path, self.wanted = path, wanted_s
        self.number = 0  # of the last slice
        self.before = 0.0  # seconds that were done by earlier processes
        self.targets = {target: dict(NEW_TARGET) for target in targets}
        self.started = time.monotonic()
        try:
            saved = json.loads(path.read_text())
        except (OSError, ValueError):
            return
        self.number = saved["number"]
        if saved["seconds"] < min(saved["wanted"], wanted_s) - 1:  # else a further campaign on the same corpora and findings
            self.before = saved["seconds"]
            self.targets = {name: dict(NEW_TARGET, **record) for name, record in {**self.targets, **saved["targets"]}.items()}

    def seconds(self):
        return self.before + time.monotonic() - self.started

    def left(self):
        return self.wanted - self.seconds()

    def next_number(self):
        self.number += 1
        return self.number

    def save(self):
        saved = {"seconds": self.seconds(), "wanted": self.wanted, "number": self.number, "targets": self.targets}
        write_atomically(self.path, json.dumps(saved, indent=1) + "\n")

    def add_slice(self, slice_, num_seconds, runs, compared):
        record = self.targets[slice_.target]
        record["seconds"] += num_seconds
        record["cpu_seconds"] += slice_.cpu_seconds
        record["slices"] += 1
        record["runs"] += runs
        record["dropped"] += slice_.num_dropped()
        record["coverage"] = max(record["coverage"], slice_.status()[1])
        if compared is not None:
            record["judged_runs"] += runs
            record["compared"] += compared

    def figures_of(self, target, corpus):
        """What the summary says of a target."""
        record = self.targets[target]
        return {"seconds": round(record["seconds"]), "runs": record["runs"], "runs_per_s": round(record["runs"] / max(record["seconds"], 1)),
                "runs_per_cpu_s": round(record["runs"] / max(record["cpu_seconds"], 1)), "coverage": record["coverage"],
                "compared_percent": round(100 * record["compared"] / record["judged_runs"], 1) if record["judged_runs"] else None,
                "corpus": sum(1 for _ in corpus.iterdir())}
