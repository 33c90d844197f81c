#!/usr/bin/env python3
"""Counts the instructions of what bench/counted.json names, and holds them against it.

usage: bench/counted.py FOLDER [--filter RE]
FOLDER holds the bench_* programs; valgrind runs them. What a machine takes for an instruction differs by half between two
processors, and with what else runs there; how many there are does not. A row has a "program" and the benchmark to run of
it; a count is that of a "function" with all that it calls, for each call, and with "over" that of two such; with "minus"
it is what one takes more than another. "without" names what is called as often as time passes, which is slow here. A row
with "test" names a test that counts by itself, and "says" where the number is in what it prints; where it counts nothing it
prints none. Exits with 1 when a row is above its "at_most"."""
import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

NAME = re.compile(r"^(c?fn)=\((\d+)\)(?: (.*))?$")


def calls_of(path, function):
    """Of one of callgrind's files: how often a function was called, and its instructions with those of what it calls."""
    names, called, calls, spent, pending = {}, "", 0, 0, 0
    with open(path, errors="replace") as lines:
        for line in lines:
            name = NAME.match(line)
            if name:
                if name.group(3):
                    names[name.group(2)] = name.group(3)
                if name.group(1) == "cfn":
                    called = names[name.group(2)]
            elif line.startswith("calls="):
                pending = int(line[6:].split()[0])
            elif pending:  # the line behind has what these calls took
                if re.search(function, called):
                    calls, spent = calls + pending, spent + int(line.split()[1])
                pending = 0
    return calls, spent


def said(folder, spec):
    result = subprocess.run([os.path.join(folder, "..", "tests", spec["program"]), f"--gtest_filter={spec['test']}"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.search(spec["says"], result.stdout)
    if result.returncode == 0 and not found:
        return None
    if result.returncode:
        sys.exit(f"{spec['test']} of {spec['program']} ended with {result.returncode}:\n{result.stdout[-2000:]}")
    return float(found.group(1))


@functools.lru_cache(maxsize=None)  # several rows hold theirs against the same benchmark's
def counted(folder, program, benchmark, function, without):
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out")
        result = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", os.path.join(folder, program),
                                 f"--benchmark_filter=^{benchmark}$", "--benchmark_min_time=0.0000001"],
                                env=dict(os.environ, BENCH_ROUNDS="4"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            sys.exit(f"{benchmark} of {program} ended with {result.returncode}:\n{result.stdout[-2000:]}")
        calls, spent = calls_of(out, function)
        if not calls:
            sys.exit(f"{benchmark} of {program} never called {function}")
        if without:
            spent -= calls_of(out, without)[1]
        return spent / calls


def count(folder, spec):
    if "test" in spec:
        return said(folder, spec)
    each = counted(folder, *(spec.get(key) for key in ("program", "benchmark", "function", "without")))
    return each * spec.get("times", 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "counted.json")) as file:
        rows = [row for row in json.load(file) if re.search(options.filter, row["name"])]
    if not rows:
        sys.exit(f"no row matches '{options.filter}'")
    above = 0
    for row in rows:
        value = count(options.folder, row["value"])
        if value is None:
            print(f"{row['name']:62} not counted on this machine", flush=True)
            continue
        if "minus" in row:
            value -= count(options.folder, row["minus"])
        if "over" in row:
            value /= count(options.folder, row["over"])
        above += value > row["at_most"]
        print(f"{row['name']:62} {value:12.4g} <={row['at_most']:8}{'  ABOVE' if value > row['at_most'] else ''}", flush=True)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
