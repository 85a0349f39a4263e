"""The machine code of the kernels: compiled as the build compiles them, or taken from what it built, and measured.

A kernel's figures come from its PTX, and from its SASS too where nvdisasm is. Whether code moved is told by a hash of its machine
code: the bytes of its section in the cubin, which need no disassembler and hold no names, addresses of other kernels or dates.
"""

import hashlib
import json
import re
import shlex
import shutil
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "kernels"


class Cannot(Exception):
    """Why there is nothing to measure, in one line."""


def run(*command, cwd=None):
    """Both outputs of a command that went well."""
    try:
        done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise Cannot(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise Cannot(f"{Path(command[0]).name} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout + done.stderr


# ---- Cubins: ELF files with a section of code and one of shared memory for each kernel.

def sections_of(cubin):
    """{section: (size, bytes)} of a 64-bit little-endian ELF file; no bytes where it only says how much memory is needed."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise Cannot("a cubin is no 64-bit ELF file")
    table, = struct.unpack_from("<Q", cubin, 0x28)
    entry_size, num_sections, names_index = struct.unpack_from("<3H", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * entry_size) for i in range(num_sections)]
    names = headers[names_index][4]
    sections = {}
    for name, kind, _, _, offset, size in headers:
        end = cubin.index(b"\0", names + name)
        sections[cubin[names + name:end].decode()] = (size, b"" if kind == 8 else cubin[offset:offset + size])
    return sections


def kernels_of_cubin(cubin):
    """{mangled name: {sha256, shared}} and the version of the ptxas that made it. `shared` is in bytes, with the 1024 of a CTA that sm_80
    and later keep for themselves."""
    sections = sections_of(cubin)
    version = re.search(rb"release [\d.]+, V([\d.]+)", sections.get(".note.nv.tkinfo", (0, b""))[1])
    kernels = {}
    for section, (_, code) in sections.items():
        if section.startswith(".text."):
            name = section.removeprefix(".text.")
            kernels[name] = {"sha256": hashlib.sha256(code).hexdigest(), "shared": sections.get(f".nv.shared.{name}", (0, b""))[0]}
    return kernels, version[1].decode() if version else "unknown"


# ---- What the tools say of registers and of the stack.

FUNCTION = re.compile(r"Function properties for (\S+)")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
USAGE = re.compile(r"Function (\S+):\s*REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)")


def resources_of_ptxas(text):
    """{mangled name: {registers, stack, spills}} of the report of `ptxas -v`, in bytes but for registers."""
    resources, current = {}, None
    for line in text.splitlines():
        if match := FUNCTION.search(line):
            current = resources.setdefault(match[1], {"registers": 0, "stack": 0, "spills": 0})
        elif current is not None and (match := FRAME.search(line)):
            current["stack"], current["spills"] = int(match[1]), int(match[2]) + int(match[3])
        elif current is not None and (match := USED.search(line)):
            current["registers"] = int(match[1])
    return resources


def resources_of_cuobjdump(text):
    """The same of `cuobjdump --dump-resource-usage`, which knows of spills only as local memory."""
    return {name: {"registers": int(registers), "stack": int(stack), "spills": int(local)} for name, registers, stack, local in USAGE.findall(text)}


# ---- Listings: each kernel's instructions, without predicates, labels and directives.

PTX_ENTRY = re.compile(r"\.entry\s+(\w+)")
PTX_INSTRUCTION = re.compile(r"^\s+(?:@!?%\w+\s+)?([a-z][\w.:]*)\b(.*);")
SASS_SECTION = re.compile(r"^\s*\.section\s+\.text\.(\w+)")
SASS_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)(.*)")


def listings_of_ptx(text):
    """{mangled name: [(operation, operands)]}, directives for local memory among them."""
    listings, current = {}, None
    for line in text.splitlines():
        if match := PTX_ENTRY.search(line):
            current = listings.setdefault(match[1], [])
        elif line.startswith("}"):
            current = None
        elif current is not None and line.strip().startswith(".local"):
            current.append((".local", line))
        elif current is not None and (match := PTX_INSTRUCTION.search(line)):
            current.append((match[1], match[2]))
    return listings


def listings_of_sass(text):
    """The same of `nvdisasm -c`, without the no-operations that fill up a section."""
    listings, current = {}, None
    for line in text.splitlines():
        if match := SASS_SECTION.search(line):
            current = listings.setdefault(match[1], [])
        elif current is not None and (match := SASS_INSTRUCTION.search(line)) and match[1] != "NOP":
            current.append((match[1], match[2]))
    return listings


FIGURES = ["instructions", "global_16", "global_4", "shared_16", "shared_4", "other_accesses", "atomics", "barriers", "divisions", "local"]


def ptx_kind_of(operation, operands):
    """The figure that an instruction of PTX counts for, or nothing. An asynchronous copy is an access of global memory."""
    parts = operation.split(".")
    if operation == ".local" or (parts[0] in ("ld", "st") and "local" in parts):
        return "local"
    if parts[0] in ("atom", "red"):
        return "atomics"
    if parts[0] in ("bar", "barrier") and "warp" not in parts:
        return "barriers"
    if parts[0] in ("div", "rem"):
        return "divisions"
    if operation.startswith("cp.async.c"):
        return access_of("global", int(operands.split(",")[2].strip(" ;]")))
    space = next((space for space in ("global", "shared") if space in parts or f"{space}::cta" in parts), None)
    if parts[0] not in ("ld", "st") or (space is None and {"param", "const"} & set(parts)):
        return None
    words = next((int(part[1:]) for part in parts if re.fullmatch(r"v\d", part)), 1)
    return access_of(space, words * int(re.search(r"\d+$", parts[-1])[0]) // 8)


def sass_kind_of(operation, _):
    """The same of SASS. A division by a number that is not known at compile time begins with the reciprocal of a float."""
    parts = operation.split(".")
    if parts[0] in ("LDL", "STL"):
        return "local"
    if parts[0] in ("ATOM", "ATOMG", "ATOMS", "RED", "REDG"):
        return "atomics"
    if parts[0] == "BAR":
        return "barriers"
    if parts[0] == "MUFU" and parts[1].startswith("RCP"):
        return "divisions"
    space = {"LDG": "global", "STG": "global", "LDGSTS": "global", "LDS": "shared", "STS": "shared", "LD": None, "ST": None}
    if parts[0] not in space:
        return None
    narrow = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
    return access_of(space[parts[0]], next((narrow[part] for part in parts if part in narrow), 4))


def access_of(space, num_bytes):
    return f"{space}_{num_bytes}" if space and num_bytes in (4, 16) else "other_accesses"


def figures_of(listing, kind_of):
    figures = dict.fromkeys(FIGURES, 0)
    for operation, operands in listing:
        figures["instructions"] += operation != ".local"
        kind = kind_of(operation, operands)
        if kind is not None:
            figures[kind] += 1
    return figures


# ---- Names.

def enumerators_of(headers):
    """{enumeration: {value: enumerator}} of the texts of some headers."""
    found = {}
    for text in headers:
        for name, body in re.findall(r"enum class (\w+)[^{;]*\{([^}]*)\}", re.sub(r"//.*", "", text)):
            value = -1
            for item in filter(None, (item.strip() for item in body.split(","))):
                enumerator, _, given = (part.strip() for part in item.partition("="))
                value = int(given, 0) if re.fullmatch(r"-?\w+", given) and given[-1].isdigit() else value + 1
                found.setdefault(name, {})[value] = enumerator
    return found


def shorter(name, enumerators):
    """A demangled name without return type, parameters and namespaces, its numbers as the enumerators that they are."""
    name = re.sub(r"^void ", "", name)
    name = re.sub(r"\(anonymous namespace\)::|_GLOBAL__N__\w+::|slotproof::", "", name)
    name = re.sub(r"\((\w+)\)(-?\d+)", lambda match: enumerators.get(match[1], {}).get(int(match[2]), match[2]), name)
    return re.sub(r"\([^()]*\)$", "", name)


def readable_names(mangled):
    """{mangled name: name for people}; the names for people tell the kernels apart, too."""
    mangled = sorted(mangled)
    filt = shutil.which("c++filt")
    if filt is None:
        raise Cannot("c++filt, which comes with the compiler, was not found")
    enumerators = enumerators_of(path.read_text() for path in sorted(KERNELS.rglob("*.h")))
    names = {name: shorter(line, enumerators) for name, line in zip(mangled, run(filt, *mangled).splitlines(), strict=True)}
    if len(set(names.values())) != len(names):
        raise Cannot("two kernels have one name")
    return names


def in_counting_order(name):
    """A key by which 32 stands before 128."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


# ---- Measuring.

def compile_commands(build):
    """[(source, nvcc, its arguments)] of the kernels in a build folder, as the build itself compiles them, but for the output."""
    path = build / "compile_commands.json"
    if not path.exists():
        raise Cannot(f"{path} is not there: configure first (cmake --preset dev)")
    found = []
    for entry in json.loads(path.read_text()):
        words = shlex.split(entry["command"])
        output = words.index("-o")
        if not entry["file"].endswith(".cu") or "/slotproof_kernels.dir/" not in words[output + 1]:
            continue
        del words[output:output + 2]
        begin = next(i for i, word in enumerate(words) if "nvcc" in Path(word).name)  # a compiler launcher may stand before it
        found.append((Path(entry["file"]), words[begin], [word for word in words[begin + 1:] if word not in ("-c", entry["file"])]))
    if not found:
        raise Cannot(f"no CUDA compiler: {build} is configured without CUDA")
    return sorted(found)


def architecture_of(build):
    """The architecture that the build compiles for; of several sm_90, where it is among them, else the newest."""
    known = {int(number) for _, _, arguments in compile_commands(build) for number in re.findall(r"(?:sm|compute)_(\d+)", " ".join(arguments))}
    return f"sm_{90 if 90 in known or not known else max(known)}"


def compiled_units(build, arch, folder):
    """[(source, resources, PTX, cubin)] of the kernels, compiled into `folder` for one architecture with all else as the build has it."""
    units = []
    for source, nvcc, arguments in compile_commands(build):
        place = folder / source.stem
        place.mkdir()
        said = run(nvcc, *(word for word in arguments if not word.startswith("--generate-code")),
                   f"--generate-code=arch=compute_{arch[3:]},code={arch}", "-Xptxas=-v", "-cubin", "-keep", "-keep-dir", place,
                   "-o", place / "kernels.cubin", source, cwd=build)
        units.append((source.name, resources_of_ptxas(said), (place / f"{source.stem}.ptx").read_text(), place / "kernels.cubin"))
    return units


def extracted_units(cuobjdump, objects, arch, folder):
    """The same of objects or libraries that were built before: compiles nothing, and has no PTX."""
    units = []
    for i, path in enumerate(objects):
        place = folder / str(i)
        place.mkdir()
        run(cuobjdump, "-xelf", f".{arch}.", path.resolve(), cwd=place)
        for cubin in sorted(place.glob("*.cubin")):
            units.append((path.name, resources_of_cuobjdump(run(cuobjdump, "--dump-resource-usage", cubin)), "", cubin))
    return units


def measure(units, nvdisasm, arch):
    """What the files of accepted results hold: see bench/code_report.py."""
    kernels, toolkits = {}, set()
    for source, resources, ptx, cubin in units:
        found, toolkit = kernels_of_cubin(cubin.read_bytes())
        toolkits.add(toolkit)
        ptx_listings = listings_of_ptx(ptx)
        sass_listings = listings_of_sass(run(nvdisasm, "-c", cubin)) if nvdisasm else {}
        for name, code in found.items():
            kernels[name] = {"source": source, **code, **resources[name]}
            if name in ptx_listings:
                kernels[name]["ptx"] = figures_of(ptx_listings[name], ptx_kind_of)
            if name in sass_listings:
                kernels[name]["sass"] = figures_of(sass_listings[name], sass_kind_of)
    if not kernels:
        raise Cannot(f"no kernel for {arch}")
    names = readable_names(kernels)
    return {"format": "slotproof-code", "version": 1, "arch": arch, "toolkit": ", ".join(sorted(toolkits)),
            "kernels": {names[name]: kernels[name] for name in sorted(kernels, key=lambda name: in_counting_order(names[name]))}}
