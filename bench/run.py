#!/usr/bin/env python3
"""Runs the benchmarks and holds their medians against bench/targets.json.

usage: bench/run.py FOLDER [--check] [--filter RE]
FOLDER holds the bench_* programs. A target's value is a median, or such a one "over" or "minus" another. One with
"unless" is not held against a machine whose own value is above that. --check exits with 1 when a target is missed by
more than its tolerance: "tolerance" says how much of it that is, a quarter where it does not; with 0 the target is the
bound itself."""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

REPETITIONS = 5
TOLERANCE = 0.25
UNIT_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def run(program, pattern):
    """Medians of one program: {benchmark: {"time_ns": .., counter: ..}}; its table goes to standard output."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [program, f"--benchmark_repetitions={REPETITIONS}", "--benchmark_report_aggregates_only=true",
                   "--benchmark_enable_random_interleaving=true",
                   f"--benchmark_out={out.name}", "--benchmark_out_format=json", "--benchmark_min_time=0.2"]
        if pattern:
            command.append(f"--benchmark_filter={pattern}")
        result = subprocess.run(command)
        if result.returncode:
            sys.exit(f"{program} ended with {result.returncode}")
        text = open(out.name).read()
    known = {"real_time", "cpu_time", "time_unit", "iterations", "threads", "repetitions", "family_index",
             "repetition_index", "per_family_instance_index"}
    medians = {}
    for row in json.loads(text)["benchmarks"] if text.strip() else []:
        if row.get("aggregate_name") == "median":
            values = {k: v for k, v in row.items() if isinstance(v, (int, float)) and k not in known}
            values["time_ns"] = row["real_time"] * UNIT_NS[row["time_unit"]]
            values["cpu_ns"] = row["cpu_time"] * UNIT_NS[row["time_unit"]]
            medians[row["run_name"]] = values
    return medians


def quantity(medians, spec):
    """A target's value: "BENCH:field", or the ratio or difference of two such, or None when a benchmark did not run."""
    def one(text):
        name, _, field = text.rpartition(":")
        return medians.get(name, {}).get(field)
    value = one(spec["value"])
    if "over" in spec and value is not None:
        base = one(spec["over"])
        value = value / base if base else None
    if "minus" in spec and value is not None:
        base = one(spec["minus"])
        value = value - base if base is not None else None
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--filter")
    options = parser.parse_args()
    medians = {}
    programs = sorted(p for p in glob.glob(os.path.join(options.folder, "bench_*")) if os.access(p, os.X_OK))
    if not programs:
        sys.exit(f"no bench_* program in {options.folder}")
    for program in programs:
        print(f"\n{os.path.basename(program)}", flush=True)
        medians.update(run(program, options.filter))

    targets = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets.json")))
    print(f"\n{'target':58} {'measured':>12} {'wanted':>12}")
    missed = 0
    for target in targets:
        value = quantity(medians, target)
        if value is None:
            if not options.filter and not target.get("optional"):
                missed += 1
                print(f"{target['name']:58} {'did not run':>12}")
            continue
        unless = target.get("unless")
        if unless and (quantity(medians, unless) or 0) > unless["above"]:
            print(f"{target['name']:58} {value:12.4g}   {unless['why']}")
            continue
        low = "at_least" in target
        wanted = target["at_least" if low else "at_most"]
        ok = value >= wanted if low else value <= wanted
        tolerance = target.get("tolerance", TOLERANCE)
        near = value >= wanted * (1 - tolerance) if low else value <= wanted * (1 + tolerance)
        missed += not near
        verdict = "" if ok else "  within tolerance" if near else "  MISSED"
        print(f"{target['name']:58} {value:12.4g} {'>=' if low else '<='}{wanted:10.4g}{verdict}")
    sys.exit(1 if options.check and missed else 0)


main()
