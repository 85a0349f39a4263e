"""Which mutants are no faults, and why: equivalent.json, made by hand. An entry that is "alive" is a fault all the same, which the judge cannot see."""

import json
import re
from collections import Counter


class Equivalents:
    """Every entry: a file, a pattern of the line before and one of the line after, and the reason."""

    def __init__(self, path):
        self.entries = json.loads(path.read_text())["equivalent"]
        self.used = Counter()

    def entry_of(self, mutant):
        for i, entry in enumerate(self.entries):
            if entry["file"] == mutant["file"] and re.search(entry["before"], mutant["before"]) and re.search(entry.get("after", ""), mutant["after"]):
                self.used[i] += 1
                return entry
        return None

    def unused(self):
        return [entry for i, entry in enumerate(self.entries) if not self.used[i]]

    def reason_of(self, mutant):
        entry = self.entry_of(mutant)
        return entry["reason"] if entry else None
