#!/usr/bin/env python3
"""What tests/budget.py fails for, and for what it does not.

usage: tests/budget_test.py"""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import budget  # noqa: E402

TEXT = "# what it is\ncalibration: 1.00 a machine\nrelease run: 100 the tests\n"


class Budget(unittest.TestCase):
    def grown(self, seconds, loop, stage="release run"):
        return list(budget.grown(budget.read_budget(TEXT), [(stage, seconds, loop)]))

    def test_a_stage_that_grew(self):
        self.assertEqual(self.grown(109, 1), [])
        self.assertEqual(len(self.grown(111, 1)), 1)
        self.assertEqual(len(self.grown(111, 0.5)), 1)

    def test_a_slower_machine_never_fails(self):
        self.assertEqual(self.grown(1000, 1.1), [])

    def test_a_stage_that_has_no_budget(self):
        self.assertEqual(self.grown(1000, 1, "debug run"), [])

    def test_what_is_raised_says_why(self):
        before = {"release run": (100, "the tests")}
        self.assertEqual(list(budget.raised({"release run": (120, "more of them")}, before)), [])
        self.assertEqual(list(budget.raised({"release run": (90, "the tests")}, before)), [])
        self.assertEqual(len(list(budget.raised({"release run": (120, "the tests")}, before))), 1)

    def test_a_line_without_a_reason(self):
        with self.assertRaises(ValueError):
            budget.read_budget("release run: 100\n")

    def test_of_a_checkout(self):
        with tempfile.TemporaryDirectory() as root:
            def write(path, text):
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)

            def git(*command):
                subprocess.run(["git", "-C", root, "-c", "user.name=t", "-c", "user.email=t@t", *command], check=True,
                               capture_output=True)
            git("init", "-q")
            write(".ci/budget", TEXT)
            git("add", "-A")
            git("commit", "-qm", "first")
            self.assertEqual(list(budget.findings(root)), [])
            write("build/spent", "release run\t150\t1.00\nrelease build\t10\t1.00\n")
            self.assertEqual(len(list(budget.findings(root))), 1)
            write(".ci/budget", TEXT.replace("100", "150"))
            self.assertEqual(len(list(budget.findings(root))), 1)  # for the reason that it had
            git("commit", "-qam", "second")
            self.assertEqual(len(list(budget.findings(root))), 1)
            write(".ci/budget", TEXT.replace("100 the tests", "150 more of them"))
            self.assertEqual(list(budget.findings(root)), [])


if __name__ == "__main__":
    unittest.main()
