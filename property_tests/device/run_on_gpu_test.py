#!/usr/bin/env python3
"""run_on_gpu.py on a machine without a GPU: programs that stand in for the driver's, for compute-sanitizer and for ours.

Usage: run_on_gpu_test.py PROGRAM, the slotproof program, which checks on the host here what it would check on the GPU.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = None

NVIDIA_SMI = 'echo "Test Device, 9.0, 580.1, 1024 MiB"'
# Findings exactly where a fault is planted.
SANITIZER = """case "$*" in
  *--version*) echo "Version 2025.3.0" ;;
  *faults/cuda/cuda-*)
    echo "========= Invalid __global__ write; Race reported; Uninitialized __global__ memory read; Barrier error detected"
    echo "========= ERROR SUMMARY: 3 errors" ;;
  *Diagnosis*) echo "[  PASSED  ] 5 tests."; echo "========= ERROR SUMMARY: 0 errors" ;;
  *racecheck*) echo "All invariants hold"; echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
  *) echo "All invariants hold"; echo "========= ERROR SUMMARY: 0 errors" ;;
esac"""
BLIND_SANITIZER = 'echo "[  PASSED  ] 5 tests."; echo "All invariants hold"; echo "========= ERROR SUMMARY: 0 errors"'
# It complains of each fault, but not of what is wrong there.
CONFUSED_SANITIZER = SANITIZER.replace("Invalid __global__ write; Race reported; Uninitialized __global__ memory read; Barrier error detected", "Program hit error 2")
# `cuda` becomes `host`; the page says cuda, as ours would.
SLOTPROOF = """case "$1" in
  replay) for name in reference host cuda; do echo "$name: 5 cases hold, 0 fail, 0 not applicable (x)"; done ;;
  *) arguments=(); for word in "$@"; do [[ "$word" == cuda ]] && word=host; arguments+=("$word"); done
     exec {program} "${{arguments[@]}}" ;;
esac"""
TESTS = """for word in "$@"; do case "$word" in --gtest_output=json:*) file="${{word#*json:}}" ;; esac; done
echo '{{"testsuites": [{{"testsuite": [{{"classname": "A", "name": "B", "result": "{result}"}}]}}]}}' >"$file" """

PLANTED = ["memcheck sees cuda-overrun", "racecheck sees cuda-race", "initcheck sees cuda-uninitialised", "synccheck sees cuda-divergent-barrier"]


class RunOnGpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        self.script("path/nvidia-smi", NVIDIA_SMI)
        self.script("path/compute-sanitizer", SANITIZER)
        self.script("build/bin/slotproof", SLOTPROOF.format(program=PROGRAM))
        self.script("build/bin/slotproof_tests", TESTS.format(result="COMPLETED"))
        (self.root / "build/bundle.json").write_text(json.dumps({"commit": "c0ffee", "is_dirty": True, "toolkit": "13.0"}))
        self.write_code(stack=0)

    def write_code(self, stack):
        """The report of a bundle with one kernel, for an architecture that nothing was accepted for."""
        kernel = {"source": "remap_cuda.cu", "sha256": "aa", "shared": 0, "registers": 32, "stack": stack, "spills": 0}
        (self.root / "build/code.json").write_text(json.dumps(
            {"format": "slotproof-code", "version": 1, "arch": "sm_0", "toolkit": "13.0", "kernels": {"remap_kernel<32>": kernel}}))

    def script(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)

    def run_it(self):
        environment = dict(os.environ, PATH=f"{self.root / 'path'}:{os.environ['PATH']}")
        done = subprocess.run([sys.executable, HERE / "run_on_gpu.py", "--build", self.root / "build", "--results", self.root / "results", "--findings",
                               self.root / "findings", "--seconds", "2"], env=environment, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr

    def record(self):
        return json.loads((self.root / "results/test-device.json").read_text())

    def test_writes_what_every_step_counted(self):
        code, output = self.run_it()
        self.assertEqual(code, 0, output)
        record = self.record()
        self.assertTrue(record["ok"])
        self.assertEqual((record["commit"], record["is_dirty"], record["toolkit"]), ("c0ffee", True, "13.0"))
        counts = {step["name"]: step["counts"] for step in record["steps"]}
        self.assertEqual(counts["machine code"]["kernels"], 1)
        self.assertIn("there is no code-sm_0.json", counts["machine code"]["moved since the accepted results"])
        self.assertEqual(counts["check, guarded buffers"]["kernel paths launched"], 414)
        self.assertGreaterEqual(counts["check, exact buffers"]["cases"], 256)
        self.assertEqual(counts["memcheck sees cuda-overrun"]["findings"], 3)
        page = (self.root / "results/test-device.md").read_text()
        for part in ("Every step went well", "c0ffee, with changes that are not committed", "580.1", "2025.3.0"):
            self.assertIn(part, page)

    def test_fails_where_a_planted_fault_is_not_seen_and_goes_on(self):
        for script in (BLIND_SANITIZER, CONFUSED_SANITIZER):
            self.script("path/compute-sanitizer", script)
            code, output = self.run_it()
            self.assertEqual(code, 1)
            self.assertEqual([step["name"] for step in self.record()["steps"] if not step["ok"]], PLANTED, output)
        self.assertIn("NOT EVERY STEP WENT WELL", (self.root / "results/test-device.md").read_text())

    def test_fails_where_the_tests_skip_or_a_kernel_has_a_stack_frame(self):
        self.script("build/bin/slotproof_tests", TESTS.format(result="SKIPPED"))
        self.write_code(stack=8)
        code, output = self.run_it()
        self.assertEqual(code, 1)
        self.assertEqual([step["name"] for step in self.record()["steps"] if not step["ok"]], ["machine code", "tests that use the GPU"], output)
        self.assertIn("FAILED: stack frames, spills or local memory: remap_kernel<32>: stack 8", output)
        self.assertIn("1 of 1 tests skipped: A.B", output)

    def test_fails_where_the_program_does_not_run(self):
        self.script("build/bin/slotproof", "echo no such thing; exit 2")
        code, output = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("exit code 2: no such thing", output)
        self.assertIn("no such thing", (self.root / "findings/device-run.log").read_text())

    def test_says_in_one_line_that_there_is_no_gpu(self):
        self.script("path/nvidia-smi", "echo NVIDIA-SMI has failed; exit 9")
        code, output = self.run_it()
        self.assertEqual(code, 2)
        self.assertEqual(output, "dev: no GPU here: nvidia-smi: NVIDIA-SMI has failed\n")


if __name__ == "__main__":
    PROGRAM = Path(sys.argv.pop(1)).resolve()
    unittest.main()
