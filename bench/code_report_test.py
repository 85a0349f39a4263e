#!/usr/bin/env python3
"""machine_code.py and code_report.py on given texts: what the tools print, and reports that stand in for those of a bundle."""

import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import code_report  # noqa: E402
import machine_code  # noqa: E402

PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z5firstv' for 'sm_90'
ptxas info    : Function properties for _Z5firstv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 17456 bytes smem
ptxas info    : Compile time = 36.190 ms
ptxas info    : Compiling entry function '_Z6secondv' for 'sm_90'
ptxas info    : Function properties for _Z6secondv
    48 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 48 bytes cumulative stack size
"""
CUOBJDUMP = """Resource usage:
 Common:
  GLOBAL:0
 Function _Z5firstv:
  REG:64 STACK:0 SHARED:18480 LOCAL:0 CONSTANT[0]:704 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function _Z6secondv:
  REG:255 STACK:48 SHARED:0 LOCAL:20 CONSTANT[0]:704 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
PTX = """.version 9.0
.shared .align 16 .b8 _ZZ4data[4];
.entry _Z5firstv(
\t.param .align 8 .b8 _Z5firstv_param_0[176]
)
.maxntid 32, 1, 1
{
\t.reg .b32 \t%r<758>;
\tld.param.v2.u32 \t{%r239, %r240}, [%rd1+80];
\tld.global.nc.v4.s32 \t{%r1, %r2, %r3, %r4}, [%rd1];
\t@%p6 st.global.v2.b64 \t[%rd1], {%rd1, %rd2};
\t@!%p6 ld.global.nc.s32 \t%r5, [%rd5];
\tcp.async.cg.shared.global [%r1], [%rd2], 16;
\tcp.async.ca.shared.global [%r1], [%rd2], 4, %r7;
\tcp.async.wait_all;
\tld.shared.v4.u32 \t{%r1, %r2, %r3, %r4}, [%r9];
\tst.shared::cta.u32 \t[%r9], %r1;
\tst.shared.u8 \t[%r9], %r1;
\tld.u32 \t%r1, [%rd3];
\tatom.global.add.u32 \t%r1, [%rd3], 1;
\tred.shared.add.u32 \t[%r3], 1;
\tredux.sync.add.s32 \t%r1, %r2, %r3;
$L__BB0_3:
\tbar.sync \t0;
\tbar.warp.sync \t-1;
\tdiv.s32 \t%r1, %r2, %r3;
\trem.u32 \t%r1, %r2, 7;
\tret;
}
.entry _Z6secondv()
{
\t.local .align 16 .b8 \t__local_depot0[64];
\tld.local.u32 \t%r1, [%rd4];
\tret;
}
"""
SASS = """\t.section\t.debug_frame,"",@progbits
        /*0000*/ \t.byte\t0xff
\t.section\t.text._Z5firstv,"ax",@progbits
.text._Z5firstv:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E.CONSTANT R4, desc[UR4][R2.64] ;
        /*0030*/                   STG.E.64 desc[UR4][R2.64], R4 ;
.L_x_0:
        /*0040*/              @!PT LDS RZ, [RZ] ;
        /*0050*/                   LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64] ;
        /*0060*/                   STS.128 [R5], R8 ;
        /*0070*/                   STS.U16 [R5], R8 ;
        /*0080*/              @UP0 UMOV UR4, 0x400 ;
        /*0090*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*00a0*/                   RED.E.ADD.STRONG.GPU desc[UR4][R2.64], R4 ;
        /*00b0*/                   REDUX.SUM.S32 UR4, R4 ;
        /*00c0*/                   MUFU.RCP R4, R5 ;
        /*00d0*/                   MUFU.EX2 R4, R5 ;
        /*00e0*/                   STL [R1], R4 ;
        /*00f0*/                   EXIT ;
.L_x_1:
        /*0100*/                   BRA `(.L_x_1);
        /*0110*/                   NOP;
"""
FIRST, SECOND = "_Z5firstv", "_Z6secondv"


def elf(sections):
    """A 64-bit ELF file of {section: (type, bytes)}, with headers as a cubin has them."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in sections) + b".shstrtab\0"
    body, headers = b"", struct.pack("<IIQQQQIIQQ", *[0] * 10)
    for name, (kind, data) in {**sections, ".shstrtab": (3, names)}.items():
        headers += struct.pack("<IIQQQQIIQQ", names.index(b"\0" + name.encode() + b"\0") + 1, kind, 0, 0, 64 + len(body), len(data), 0, 0, 1, 0)
        body += data if kind != 8 else b""
    count = len(sections) + 2
    return b"\x7fELF\x02\x01" + bytes(34) + struct.pack("<QI6H", 64 + len(body), 0, 64, 0, 0, 64, count, count - 1) + body + headers


class MachineCode(unittest.TestCase):
    def figures(self, listing, kind_of):
        return {figure: count for figure, count in machine_code.figures_of(listing, kind_of).items() if count}

    def test_reads_resources_from_either_tool(self):
        due = {FIRST: {"registers": 64, "stack": 0, "spills": 0}, SECOND: {"registers": 255, "stack": 48, "spills": 20}}
        self.assertEqual(machine_code.resources_of_ptxas(PTXAS), due)
        self.assertEqual(machine_code.resources_of_cuobjdump(CUOBJDUMP), due)

    def test_counts_ptx_by_kernel(self):
        listings = machine_code.listings_of_ptx(PTX)
        self.assertEqual(list(listings), [FIRST, SECOND])
        self.assertEqual(self.figures(listings[FIRST], machine_code.ptx_kind_of), {
            "instructions": 19, "global_16": 3, "global_4": 2, "shared_16": 1, "shared_4": 1, "other_accesses": 2, "atomics": 2, "barriers": 1, "divisions": 2})
        self.assertEqual(self.figures(listings[SECOND], machine_code.ptx_kind_of), {"instructions": 2, "local": 2})

    def test_counts_sass_by_kernel(self):
        listings = machine_code.listings_of_sass(SASS)
        self.assertEqual(list(listings), [FIRST])
        self.assertEqual(self.figures(listings[FIRST], machine_code.sass_kind_of), {
            "instructions": 17, "global_16": 2, "global_4": 1, "shared_16": 1, "shared_4": 1, "other_accesses": 2, "atomics": 1, "barriers": 1, "divisions": 1,
            "local": 1})

    def test_hashes_the_code_of_each_kernel_and_nothing_else(self):
        def kernels(code, note=b"Cuda compilation tools, release 13.0, V13.0.88\n"):
            return machine_code.kernels_of_cubin(elf({".note.nv.tkinfo": (7, note), ".text._Z5firstv": (1, code), ".text._Z6secondv": (1, b"same"),
                                                      ".nv.shared._Z5firstv": (8, bytes(2192))}))
        (one, toolkit), (other, _) = kernels(b"code"), kernels(b"CODE!", b"")
        self.assertEqual(toolkit, "13.0.88")
        self.assertEqual((one[FIRST]["shared"], one[SECOND]["shared"]), (2192, 0))
        self.assertNotEqual(one[FIRST]["sha256"], other[FIRST]["sha256"])
        self.assertEqual(one[SECOND], other[SECOND])
        with self.assertRaisesRegex(machine_code.Cannot, "no 64-bit ELF"):
            machine_code.kernels_of_cubin(b"text")

    def test_compiles_as_the_build_does(self):
        with tempfile.TemporaryDirectory() as folder:
            def write(codes):
                target, fault = "kernels/CMakeFiles/slotproof_kernels.dir/a.cu.o", "faults/CMakeFiles/slotproof_fault_x.dir/a.cu.o"
                (Path(folder) / "compile_commands.json").write_text(json.dumps([
                    {"file": "/k/a.cu", "command": f"ccache /bin/nvcc -O3 {codes} -DX='a b' -x cu -c /k/a.cu -o {target}"},
                    {"file": "/k/a.cu", "command": f"/bin/nvcc -O1 -c /k/a.cu -o {fault}"}, {"file": "/k/a.cpp", "command": f"g++ -o {target}"}]))
                return Path(folder)
            build = write("--generate-code=arch=compute_90,code=[sm_90]")
            self.assertEqual(machine_code.compile_commands(build), [
                (Path("/k/a.cu"), "/bin/nvcc", ["-O3", "--generate-code=arch=compute_90,code=[sm_90]", "-DX=a b", "-x", "cu"])])
            for codes, arch in (("--generate-code=arch=compute_80,code=[sm_80] --generate-code=arch=compute_90,code=[sm_90] --generate-code=arch=compute_100,code=[sm_100]", 90),
                                ("--generate-code=arch=compute_80,code=[sm_80] --generate-code=arch=compute_100,code=[compute_100]", 100)):
                self.assertEqual(machine_code.architecture_of(write(codes)), f"sm_{arch}")

    def test_names_kernels_by_their_enumerators(self):
        enumerators = machine_code.enumerators_of(["enum class Dcp : uint8_t { kOff, kOn };  // { kNot }", "enum class Far {\n  kOne = 1,  // first\n  kTwo,\n};"])
        self.assertEqual(enumerators, {"Dcp": {0: "kOff", 1: "kOn"}, "Far": {1: "kOne", 2: "kTwo"}})
        name = "void slotproof::(anonymous namespace)::remap_kernel<256, (slotproof::Dcp)1, (slotproof::Far)2, (Unknown)3>(slotproof::RemapView)"
        self.assertEqual(machine_code.shorter(name, enumerators), "remap_kernel<256, kOn, kTwo, 3>")
        self.assertEqual(sorted(["k<128>", "k<32>", "a<256>"], key=machine_code.in_counting_order), ["a<256>", "k<32>", "k<128>"])


class CodeReport(unittest.TestCase):
    """A folder stands in for a bundle, so that nothing is compiled."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.accepted = self.folder / "accepted.json"
        (self.folder / "bundle.json").write_text("{}")
        figures = dict.fromkeys(machine_code.FIGURES, 1) | {"local": 0, "divisions": 0}
        kernel = {"source": "remap_cuda.cu", "sha256": "aa", "shared": 0, "registers": 32, "stack": 0, "spills": 0, "ptx": figures}
        self.report = {"format": "slotproof-code", "version": 1, "arch": "sm_90", "toolkit": "13.0.88",
                       "kernels": {"first": kernel, "second": json.loads(json.dumps(kernel))}}

    def run_it(self, *options):
        (self.folder / "code.json").write_text(json.dumps(self.report))
        done = subprocess.run([sys.executable, HERE / "code_report.py", "--build", self.folder, "--accepted", self.accepted, *options], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def accept(self):
        self.assertEqual(self.run_it("--accept")[0], 0)

    def test_what_was_accepted_has_not_moved(self):
        code, output = self.run_it()
        self.assertEqual(code, 2)
        self.assertIn("there is no accepted.json", output)
        self.accept()
        self.assertEqual(json.loads(self.accepted.read_text()), self.report)
        code, output = self.run_it()
        self.assertEqual(code, 0)
        self.assertIn("2 kernels, none moved since accepted.json was accepted", output)

    def test_names_what_moved_and_how(self):
        self.accept()
        kernels = self.report["kernels"]
        kernels["first"] |= {"sha256": "bb", "registers": 40}
        kernels["third"] = kernels.pop("second")
        code, output = self.run_it("--json", str(self.folder / "out.json"))
        self.assertEqual(code, 1)
        self.assertIn("WARNING: 2 kernels, 3 moved, came or went since accepted.json was accepted: a benchmark is owed", output)
        self.assertEqual(json.loads((self.folder / "out.json").read_text())["comparison"]["moved"],
                         {"first": "registers 32 -> 40", "third": "new", "second": "gone"})
        self.assertEqual(self.run_it("--moved-is-no-failure")[0], 0)
        self.assertEqual(len(self.run_it("--brief")[1].splitlines()), 1)
        kernels["first"]["registers"] = 32
        self.assertIn("first   moved: other code, the same figures", self.run_it()[1])

    def test_another_toolkit_is_not_another_source(self):
        self.accept()
        self.report["toolkit"] = "13.1.5"
        self.report["kernels"]["first"]["sha256"] = "bb"
        code, output = self.run_it()
        self.assertEqual(code, 2)
        self.assertIn("2 kernels not compared: accepted with toolkit 13.0.88, compiled with 13.1.5", output)
        self.assertNotIn("moved:", output)

    def test_fails_on_memory_that_registers_should_have_been(self):
        self.accept()
        accepted = self.accepted.read_text()
        first = self.report["kernels"]["first"]
        for place, what, said in ((first, "stack", "stack 8"), (first, "spills", "spills 8"), (first["ptx"], "local", "local memory accesses 8")):
            place[what] = 8
            for options in ([], ["--accept"], ["--moved-is-no-failure"]):
                code, output = self.run_it(*options)
                self.assertEqual(code, 1)
                self.assertIn(f"local memory: first: {said}\n", output)
            place[what] = 0
        self.assertEqual(self.accepted.read_text(), accepted)

    def test_says_where_a_kernel_divides(self):
        self.report["kernels"]["second"]["ptx"]["divisions"] = 1
        self.assertIn("WARNING: second divides", self.run_it()[1])

    def test_compares_the_listing_that_both_have(self):
        self.accept()
        first = self.report["kernels"]["first"]
        first["sass"] = dict(first["ptx"], instructions=700)
        self.assertEqual(self.run_it()[0], 0)
        first["sha256"] = "bb"
        first["ptx"] = dict(first["ptx"], instructions=2)
        self.assertIn("first   moved: instructions 1 -> 2\n", self.run_it()[1])

    def test_says_what_is_missing(self):
        (self.folder / "bundle.json").unlink()
        code, output = self.run_it()
        self.assertEqual(code, 2)
        self.assertIn("configure first", output)
        (self.folder / "compile_commands.json").write_text("[]")
        self.assertIn("cannot say: no CUDA compiler", self.run_it()[1])


if __name__ == "__main__":
    unittest.main()
