#!/usr/bin/env python3
"""Which tests tests/discover.cmake tells ctest of, and which of them share a process.

usage: tests/discover_test.py"""
import json
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = """Running main() from ./googletest/src/gtest_main.cc
Copies.
  Overlap
  Align
Typed/0.  # TypeParam = float
  Sorts
Many/Sizes.
  Fit/small  # GetParam() = 4-byte object <01-00 00-00>
  Fit/large  # GetParam() = "[;]"
Forks.
  Die
Last.
  Ends
"""
NAMES = ["hal.Copies.Overlap", "hal.Copies.Align", "hal.Typed.Sorts<float>", "hal.Many/Sizes.Fit/small",
         "hal.Many/Sizes.Fit/large", "hal.Forks.Die", "hal.Last.Ends"]


def discovered(*arguments, program="program", **environment):
    """What ctest knows then: [(name, filter)]."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "program"), "w") as file:
            file.write(f"#!/bin/sh\ncat <<'TEXT'\n{LIST}TEXT\n")
        os.chmod(os.path.join(folder, "program"), 0o755)
        with open(os.path.join(folder, "CTestTestfile.cmake"), "w") as file:
            file.write(f"include([==[{HERE}/discover.cmake]==])\n"
                       f"rawhal_discover([==[{folder}/{program}]==] hal. [==[{folder}]==])\n")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RAWHAL_TEST_")}
        done = subprocess.run(["ctest", "--show-only=json-v1", *arguments], cwd=folder, env={**clean, **environment},
                              stdout=subprocess.PIPE, check=True)
        return [(test["name"], test.get("command", ["", ""])[-1]) for test in json.loads(done.stdout)["tests"]]


class Discovery(unittest.TestCase):
    def test_each_is_one_by_default(self):
        found = discovered()
        self.assertEqual([name for name, _ in found], NAMES)
        self.assertEqual(found[2][1], "--gtest_filter=Typed/0.Sorts")
        self.assertEqual(found[4][1], "--gtest_filter=Many/Sizes.Fit/large")

    def test_what_is_left_out_is_ctests_then(self):
        self.assertEqual([name for name, _ in discovered("-E", "Copies", RAWHAL_TEST_NOT="Copies")], NAMES[2:])

    def test_batches(self):
        self.assertEqual(discovered(RAWHAL_TEST_BATCH="3"), [
            ("hal.Copies.Overlap+2", "--gtest_filter=Copies.Overlap:Copies.Align:Typed/0.Sorts"),
            ("hal.Many/Sizes.Fit/small+2", "--gtest_filter=Many/Sizes.Fit/small:Many/Sizes.Fit/large:Forks.Die"),
            ("hal.Last.Ends", "--gtest_filter=Last.Ends")])

    def test_batches_have_what_runs_here_alone(self):
        found = discovered("-R", "^hal", "-E", "Copies|/large", RAWHAL_TEST_BATCH="16", RAWHAL_TEST_ONLY="^hal",
                           RAWHAL_TEST_NOT="Copies|/large", RAWHAL_TEST_ALONE=r"^hal\.Forks\.")
        self.assertEqual(found, [
            ("hal.Typed.Sorts<float>+1", "--gtest_filter=Typed/0.Sorts:Many/Sizes.Fit/small"),
            ("hal.Forks.Die", "--gtest_filter=Forks.Die"), ("hal.Last.Ends", "--gtest_filter=Last.Ends")])
        self.assertEqual(discovered(RAWHAL_TEST_BATCH="16", RAWHAL_TEST_ONLY="Last"),
                         [("hal.Last.Ends", "--gtest_filter=Last.Ends")])

    def test_one_that_is_not_built(self):
        self.assertEqual([name for name, _ in discovered(program="missing")], ["hal.NOT_BUILT"])


if __name__ == "__main__":
    unittest.main()
