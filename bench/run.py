#!/usr/bin/env python3
"""Runs the benchmarks and holds their medians against bench/targets.json.

usage: bench/run.py FOLDER [--check] [--filter RE] [--names]
FOLDER holds the bench_* programs. A target's value is a median, or such a one "over" or "minus" another. One with
"unless" is not held against a machine whose own value is above that; an "optional" one may be skipped by its benchmark,
which says why. One that names a benchmark or a counter that does not exist is an error always. --check exits with 1
when a target is missed by more than its tolerance: "tolerance" says how much of it that is, a quarter where it does
not; with 0 the target is the bound itself. --names runs nothing and only looks whether there is what targets name."""
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
NOT_COUNTERS = {"real_time", "cpu_time", "time_unit", "iterations", "threads", "repetitions", "family_index",
                "repetition_index", "per_family_instance_index"}


def benchmark_and_field(text):
    name, _, field = text.rpartition(":")
    return name, field


def named(target):
    """Every "BENCH:field" of a target."""
    texts = [target.get(key) for key in ("value", "over", "minus")] + [target.get("unless", {}).get("value")]
    return [text for text in texts if text]


def list_names(program, pattern=None):
    command = [program, "--benchmark_list_tests=true"] + ([f"--benchmark_filter={pattern}"] if pattern else [])
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"{program} ended with {result.returncode}")
    return [line for line in result.stdout.split("\n") if line]


def run(program, pattern):
    """Of one program: {benchmark: {"time_ns": .., counter: ..}}, medians, and {benchmark: why it skipped}. Its table goes to
    standard output."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [program, f"--benchmark_repetitions={REPETITIONS}", "--benchmark_report_aggregates_only=true",
                   "--benchmark_enable_random_interleaving=true",
                   f"--benchmark_out={out.name}", "--benchmark_out_format=json", "--benchmark_min_time=0.2"]
        if pattern:
            command.append(f"--benchmark_filter={pattern}")
        result = subprocess.run(command)
        if result.returncode:
            sys.exit(f"{program} ended with {result.returncode}")
        text = out.read()
    medians, skipped = {}, {}
    for row in json.loads(text)["benchmarks"] if text.strip() else []:
        if row.get("error_occurred"):
            skipped[row["run_name"]] = row.get("error_message", "")
        elif row.get("aggregate_name") == "median":
            values = {k: v for k, v in row.items() if isinstance(v, (int, float)) and k not in NOT_COUNTERS}
            values["time_ns"] = row["real_time"] * UNIT_NS[row["time_unit"]]
            values["cpu_ns"] = row["cpu_time"] * UNIT_NS[row["time_unit"]]
            medians[row["run_name"]] = values
    return medians, skipped


def quantity(medians, spec):
    """A target's value: "BENCH:field", or the ratio or difference of two such, or None when a benchmark did not run."""
    def one(text):
        name, field = benchmark_and_field(text)
        return medians.get(name, {}).get(field)
    value = one(spec["value"])
    if "over" in spec and value is not None:
        base = one(spec["over"])
        value = value / base if base else None
    if "minus" in spec and value is not None:
        base = one(spec["minus"])
        value = value - base if base is not None else None
    return value


def verdict(target, medians, skipped, chosen):
    """A target's outcome, "kept", "missed", "wrong", "skipped" or "left out", and what to print of it."""
    pairs = [benchmark_and_field(text) for text in named(target)]
    for name, field in pairs:
        if name in medians and field not in medians[name]:
            return "wrong", f"'{name}' has no counter '{field}'"
    if any(name not in chosen for name, _ in pairs):
        return "left out", None
    value = quantity(medians, target)
    if value is None:
        why = next((skipped[name] for name, _ in pairs if name in skipped), None)
        excused = target.get("optional") and why is not None
        return "skipped" if excused else "missed", f"did not run: {why or 'no reason given'}"
    unless = target.get("unless")
    if unless and (quantity(medians, unless) or 0) > unless["above"]:
        return "skipped", f"{value:12.4g}   {unless['why']}"
    low = "at_least" in target
    wanted = target["at_least" if low else "at_most"]
    ok = value >= wanted if low else value <= wanted
    tolerance = target.get("tolerance", TOLERANCE)
    near = value >= wanted * (1 - tolerance) if low else value <= wanted * (1 + tolerance)
    word = "" if ok else "  within tolerance" if near else "  MISSED"
    return "kept" if near else "missed", f"{value:12.4g} {'>=' if low else '<='}{wanted:10.4g}{word}"


def unknown_names(targets, names):
    for target in targets:
        for name, _ in map(benchmark_and_field, named(target)):
            if name not in names:
                yield f"{target['name']}: there is no benchmark '{name}'"


def parse(arguments):
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets.json")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--filter")
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--targets", default=beside, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    programs = sorted(p for p in glob.glob(os.path.join(options.folder, "bench_*")) if os.access(p, os.X_OK))
    if not programs:
        sys.exit(f"no bench_* program in {options.folder}")
    with open(options.targets) as file:
        targets = json.load(file)
    existing = {name for program in programs for name in list_names(program)}
    unknown = list(unknown_names(targets, existing))
    if unknown or options.names:
        print("\n".join(unknown + [f"{len(targets)} targets, {len(unknown)} names that no benchmark has"]))
        return 1 if unknown else 0

    chosen = existing
    if options.filter:
        chosen = {name for program in programs for name in list_names(program, options.filter)}
    if not chosen:
        print(f"no benchmark matches '{options.filter}'")
        return 1
    medians, skipped = {}, {}
    for program in programs:
        print(f"\n{os.path.basename(program)}", flush=True)
        for into, part in zip((medians, skipped), run(program, options.filter)):
            into.update(part)

    print(f"\n{'target':58} {'measured':>12} {'wanted':>12}")
    count = dict.fromkeys(("kept", "missed", "wrong", "skipped", "left out"), 0)
    for target in targets:
        outcome, text = verdict(target, medians, skipped, chosen)
        count[outcome] += 1
        if text:
            print(f"{target['name']:58} {text}")
    print(f"{count['kept']} kept, {count['missed']} missed, {count['wrong']} wrong, {count['skipped']} optional or excused ones "
          f"without a value, {count['left out']} not asked for")
    return 1 if count["wrong"] or options.check and count["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
