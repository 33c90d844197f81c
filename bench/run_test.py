#!/usr/bin/env python3
"""What bench/run.py makes of targets that programs keep, miss, skip, or do not know.

usage: bench/run_test.py"""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run  # noqa: E402

# A bench program as run.py sees one: it lists names, or writes rows where --benchmark_out says.
PROGRAM = """#!{python}
import json, re, sys
rows = {rows}
options = dict(re.match(r"--(\\w+)=(.*)", argument).groups() for argument in sys.argv[1:])
kept = [row for row in rows if re.search(options.get("benchmark_filter", ""), row["run_name"])]
if "benchmark_list_tests" in options:
    print("\\n".join(row["run_name"] for row in kept))
else:
    json.dump({{"benchmarks": kept}}, open(options["benchmark_out"], "w"))
"""


def median(name, **counters):
    return {"run_name": name, "aggregate_name": "median", "real_time": 5.0, "cpu_time": 5.0, "time_unit": "ns", **counters}


def skipped(name, why):
    return {"run_name": name, "error_occurred": True, "error_message": why, "real_time": 0, "cpu_time": 0, "time_unit": "ns"}


class Targets(unittest.TestCase):
    def outcome(self, rows, targets, *options):
        """(status, what was printed) of a run over one program with these rows."""
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "bench_toy")
            with open(program, "w") as file:
                file.write(PROGRAM.format(python=sys.executable, rows=repr(rows)))
            os.chmod(program, 0o755)
            path = os.path.join(folder, "targets.json")
            with open(path, "w") as file:
                json.dump(targets, file)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = run.main([folder, "--targets", path, *options])
            return status, out.getvalue()

    def test_one_that_is_kept(self):
        status, text = self.outcome([median("A")], [{"name": "a", "value": "A:time_ns", "at_most": 6}], "--check")
        self.assertEqual(status, 0, text)

    def test_one_that_is_missed(self):
        status, text = self.outcome([median("A")], [{"name": "a", "value": "A:time_ns", "at_most": 2}], "--check")
        self.assertEqual(status, 1)
        self.assertIn("MISSED", text)

    def test_the_unit_a_row_has(self):
        row = dict(median("A"), time_unit="us")
        status, text = self.outcome([row], [{"name": "a", "value": "A:time_ns", "at_most": 6}], "--check")
        self.assertEqual(status, 1, text)

    def test_an_optional_one_that_skipped_is_said_and_counted(self):
        target = {"name": "a", "value": "A:time_ns", "at_most": 6, "optional": True}
        status, text = self.outcome([skipped("A", "no such machine")], [target], "--check")
        self.assertEqual(status, 0, text)
        self.assertIn("no such machine", text)
        self.assertIn("1 optional", text)

    def test_another_that_skipped_is_missed(self):
        status, text = self.outcome([skipped("A", "no such machine")], [{"name": "a", "value": "A:time_ns", "at_most": 6}], "--check")
        self.assertEqual(status, 1, text)

    def test_a_name_that_no_program_has(self):
        for options in (["--check"], ["--names"], ["--check", "--filter", "A"], []):
            for wrong in ("value", "over"):
                target = {"name": "a", "value": "A:time_ns", "over": "A:time_ns", "at_most": 6, "optional": True, wrong: "A / b:time_ns"}
                status, text = self.outcome([median("A")], [target], *options)
                self.assertEqual(status, 1, f"{options} {wrong}: {text}")
                self.assertIn("no benchmark 'A / b'", text)

    def test_a_name_in_an_excuse(self):
        target = {"name": "a", "value": "A:time_ns", "at_most": 6, "unless": {"value": "B:time_ns", "above": 1, "why": ""}}
        self.assertEqual(self.outcome([median("A")], [target], "--names")[0], 1)

    def test_a_counter_that_a_benchmark_has_not(self):
        target = {"name": "a", "value": "A:speed", "at_most": 6, "optional": True}
        status, text = self.outcome([median("A")], [target], "--check")
        self.assertEqual(status, 1)
        self.assertIn("no counter 'speed'", text)

    def test_what_a_filter_leaves_out_is_not_asked_for(self):
        target = {"name": "b", "value": "B:time_ns", "at_most": 1}
        status, text = self.outcome([median("A"), median("B")], [target], "--check", "--filter", "A")
        self.assertEqual(status, 0, text)
        status, text = self.outcome([median("A"), median("B")], [target], "--check", "--filter", "B")
        self.assertEqual(status, 1, text)

    def test_names_runs_nothing(self):
        status, text = self.outcome([median("A")], [{"name": "a", "value": "A:time_ns", "at_most": 1}], "--names")
        self.assertEqual(status, 0, text)

    def test_a_filter_that_matches_nothing(self):
        target = {"name": "a", "value": "A:time_ns", "at_most": 6}
        self.assertEqual(self.outcome([median("A")], [target], "--check", "--filter", "nothing")[0], 1)


if __name__ == "__main__":
    unittest.main()
