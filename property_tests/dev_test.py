#!/usr/bin/env python3
"""What `./dev test` says at its end, and its exit code: the script itself, and the ctest of the build, on a few tests of one line.

Usage: dev_test.py CTEST. Only cmake is stood in for, which would build, and what would install packages.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CTEST = None

PASSES = 'add_test(passes "true")'
FAILS = 'add_test(fails "false")'
SKIPS = 'add_test(skips "sh" "-c" "exit 77")\nset_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)'
SKIPS_BY_WORD = 'add_test(skips2 "echo" "skipped:")\nset_tests_properties(skips2 PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")'
DISABLED = 'add_test(off "true")\nset_tests_properties(off PROPERTIES DISABLED ON)'
MISSING = 'add_test(missing "/nowhere/no-such-program")'
HANGS = 'add_test(hangs "sleep" "60")\nset_tests_properties(hangs PROPERTIES TIMEOUT 1)'


class DevTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("dev", "packages.txt", "CMakePresets.json"):
            shutil.copy(ROOT / name, self.root)
        for preset in ("dev", "fuzz"):  # Where clang is, the fuzz targets' tests run behind those of dev.
            (self.root / "build" / preset).mkdir(parents=True)
        (self.root / "build/fuzz/CTestTestfile.cmake").write_text(PASSES + "\n")
        (self.root / "path").mkdir()
        (self.root / "path/ctest").symlink_to(CTEST)
        self.script("cmake", "exit 0")
        self.script("dpkg-query", "echo install ok installed")
        self.script("nvidia-smi", "exit 9")

    def script(self, name, text):
        path = self.root / "path" / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)

    def run_it(self, *tests, preset="dev"):
        """Exit code, and the last line that the script says."""
        (self.root / "build/dev/CTestTestfile.cmake").write_text("\n".join(tests) + "\n")
        environment = dict(os.environ, PATH=f"{self.root / 'path'}:{os.environ['PATH']}")
        done = subprocess.run([self.root / "dev", "test", preset], env=environment, capture_output=True, text=True, timeout=60, check=False)
        self.output = done.stdout + done.stderr
        return done.returncode, ([line for line in done.stderr.splitlines() if re.match("dev: (?!fuzz:)", line) and "preset fuzz" not in line] or [""])[-1]

    def test_counts_what_passed(self):
        self.assertEqual(self.run_it(PASSES), (0, "dev: dev: 1 tests ran, 0 failed, 0 skipped"))

    def test_a_skipped_test_did_not_run_and_is_no_failure(self):
        self.assertEqual(self.run_it(PASSES, SKIPS, SKIPS_BY_WORD, DISABLED), (0, "dev: dev: 1 tests ran, 0 failed, 2 skipped"))

    def test_ends_with_the_exit_code_of_ctest_where_one_fails(self):
        self.assertEqual(self.run_it(PASSES, FAILS, SKIPS), (8, "dev: dev: 2 tests ran, 1 failed, 1 skipped"))

    def test_a_test_without_its_program_or_that_hangs_has_failed(self):
        self.assertEqual(self.run_it(PASSES, MISSING, SKIPS), (8, "dev: dev: 2 tests ran, 1 failed, 1 skipped"))
        self.assertEqual(self.run_it(PASSES, HANGS), (8, "dev: dev: 2 tests ran, 1 failed, 0 skipped"))

    def test_fails_without_any_test(self):
        self.assertEqual(self.run_it(), (8, "dev: dev: 0 tests ran, 0 failed, 0 skipped"))

    def test_never_reads_the_report_of_an_earlier_run(self):
        self.assertEqual(self.run_it(PASSES)[0], 0)
        for code, due in ((3, 3), (0, 1)):
            self.script("ctest", f"exit {code}")
            self.assertEqual(self.run_it(PASSES), (due, f"dev: dev: ctest ended with exit code {code} and left no report"))

    def test_stops_where_the_build_stops(self):
        self.script("cmake", "echo no compiler; exit 1")
        self.assertEqual(self.run_it(PASSES), (1, "dev: configuring preset dev"))
        self.assertIn("no compiler", self.output)
        self.script("cmake", 'if [[ "$1" == --build ]]; then exit 5; fi')
        self.assertEqual(self.run_it(PASSES), (5, "dev: building preset dev"))

    def test_refuses_a_preset_that_it_does_not_know(self):
        self.assertEqual(self.run_it(preset="no-such")[0], 2)


if __name__ == "__main__":
    CTEST = Path(sys.argv.pop(1)).resolve()
    unittest.main()
