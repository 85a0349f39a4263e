"""Builds a mutant as a plug-in: its changed file stands in an overlay before the source tree, and only what sees it is compiled."""

import hashlib
import shutil
import subprocess
import threading
from pathlib import Path

from sources import ROOT, group_of, included_by

FLAGS = ["-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w", "-DSLOTPROOF_FEW_KERNELS"]
COMPILE_SECONDS = 120


class Builder:
    """One for all threads. `folder` holds the objects of the sources as they are, and an overlay for each mutant while it is built."""

    def __init__(self, folder, compiler, eigen):
        self.folder, self.compiler, self.eigen = folder, compiler, eigen
        self.lock = threading.Lock()
        self.objects = {}

    def compile(self, group, source, target, overlay=None, flags=FLAGS):
        """Whether it compiles."""
        includes = ([f"-I{overlay}", f"-I{overlay}/kernels/include"] if overlay else []) + [f"-I{ROOT}", f"-I{ROOT}/kernels/include"]
        if group.needs_eigen:
            includes += ["-isystem", self.eigen]
        path = overlay / source if overlay and (overlay / source).exists() else ROOT / source
        command = [self.compiler, *flags, *includes, "-c", str(path), "-o", str(target)]
        try:
            return subprocess.run(command, capture_output=True, timeout=COMPILE_SECONDS).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def objects_of(self, group):
        """The objects of a group without a mutant."""
        with self.lock:
            if group.name not in self.objects:
                folder = self.folder / "objects" / group.name
                folder.mkdir(parents=True, exist_ok=True)
                made = {}
                for source in group.sources:
                    made[source] = folder / (source.replace("/", "_") + ".o")
                    if not self.compile(group, source, made[source]):
                        raise SystemExit(f"mutants: {source} does not compile without a mutant")
                self.objects[group.name] = made
        return self.objects[group.name]

    def link(self, objects, plugin):
        exports = ROOT / "property_tests" / "faults" / "plugin.map"
        command = [self.compiler, "-shared", f"-Wl,--version-script={exports}", "-Wl,-Bsymbolic", "-o", str(plugin), *map(str, objects)]
        return subprocess.run(command, capture_output=True).returncode == 0

    def control(self, group):
        plugin = self.folder / f"{group.name}.so"
        if not self.link(self.objects_of(group).values(), plugin):
            raise SystemExit(f"mutants: {group.name} does not link without a mutant")
        return plugin

    def build(self, mutant):
        """(plug-in, None), or (None, why there is none): it does not compile, or makes the machine code that was there before."""
        group = group_of(mutant["file"])
        plain = self.objects_of(group)
        work = self.folder / "work" / mutant["id"]
        shutil.rmtree(work, ignore_errors=True)
        changed = work / "overlay" / mutant["file"]
        changed.parent.mkdir(parents=True)
        lines = (ROOT / mutant["file"]).read_text().split("\n")
        if lines[mutant["line"] - 1] != mutant["before"]:
            raise SystemExit(f"mutants: line {mutant['line']} of {mutant['file']} is not what it was; generate the mutants anew")
        lines[mutant["line"] - 1] = mutant["after"]
        changed.write_text("\n".join(lines))
        objects, is_same = [], True
        for source in group.sources:
            if mutant["file"] not in included_by(source):
                objects.append(plain[source])
                continue
            target = work / plain[source].name
            if not self.compile(group, source, target, work / "overlay"):
                return None, "stillborn"
            is_same &= digest(target) == digest(plain[source])
            objects.append(target)
        if is_same:
            return None, "same code"
        plugin = work / "mutant.so"
        return (plugin, None) if self.link(objects, plugin) else (None, "stillborn")

    def remove(self, mutant):
        shutil.rmtree(self.folder / "work" / mutant["id"], ignore_errors=True)


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).digest()
