"""Folders of inputs: what is whole, what a merge keeps, what must not be a seed again."""

import hashlib
import os
import re
import shutil

import engine


def name_of(content):
    """As libFuzzer names the inputs of a corpus."""
    return hashlib.sha1(content).hexdigest()


def torn_inputs(corpus):
    """A process killed in the middle of a write, or a disk that is full, leaves a part of an input under the whole one's name."""
    return [path for path in (corpus.iterdir() if corpus.is_dir() else [])
            if re.fullmatch(r"[0-9a-f]{40}", path.name) and name_of(path.read_bytes()) != path.name]


def drop_torn_inputs(corpus):
    """Returns how many there were."""
    torn = torn_inputs(corpus)
    for path in torn:
        path.unlink()
    return len(torn)


def drop_input(folders, content):
    """Out of corpora and seeds, whose names are a hash or the beginning of one: an input that ends one fuzzer ends all that read it."""
    for folder in folders:
        for name in (name_of(content), name_of(content)[:16]):
            (folder / name).unlink(missing_ok=True)


def what_is_wrong_with(fresh, sources):
    """Of what a merge wrote: libFuzzer does not look whether its files were written. Empty where all is whole."""
    if torn := torn_inputs(fresh):
        return f"{len(torn)} of its inputs are half written: is the disk full?"
    if not any(fresh.iterdir()) and any(any(source.iterdir()) for source in sources):
        return "nothing is left of its sources"
    return ""


def merge(binary, target, sources, place, timeout_s=900):
    """Replaces the corpus `place` by the fewest inputs that reach what the sources' reach. Returns an error, empty where it went well.

    Killed at any moment it leaves the old corpus or the new one: see finish_swap.
    """
    fresh = place.with_name(f".{place.name}-new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    code, output = engine.call([binary, "-merge=1", engine.what_is_new(target), f"-max_len={engine.max_length(target)}", fresh] + list(sources), timeout_s)
    if code != 0:
        return f"merge of {target} ended with {code}: {output[-400:]}"
    if error := what_is_wrong_with(fresh, sources):
        return f"merge of {target}: {error}"
    old = place.with_name(f".{place.name}-old")
    if place.exists():
        os.rename(place, old)
    os.rename(fresh, place)
    shutil.rmtree(old, ignore_errors=True)
    return ""


def finish_swap(place):
    """After a kill: the old corpus comes back where the new one had not taken its place."""
    old = place.with_name(f".{place.name}-old")
    if old.is_dir() and not place.exists():
        os.rename(old, place)
    for left in (old, place.with_name(f".{place.name}-new")):
        shutil.rmtree(left, ignore_errors=True)


def take_programs(build, committed, folder):
    """A campaign runs programs and seeds of its own: those of the tree may be built anew, and a seed may end the fuzzer at once."""
    for part in ("bin", "seeds"):
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).mkdir()
    for target in engine.TARGETS:
        program = (build / "bin" / f"fuzz_{target}").resolve()
        if not program.exists():
            continue
        if not (folder / "bin" / program.name).exists():
            shutil.copy2(program, folder / "bin")
        if program.name != f"fuzz_{target}":  # one program under the names of all targets
            (folder / "bin" / f"fuzz_{target}").symlink_to(program.name)
        if committed and (committed / target).is_dir():
            shutil.copytree(committed / target, folder / "seeds" / target)
