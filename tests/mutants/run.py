#!/usr/bin/env python3
"""Breaks the library one line at a time and looks whether a test notices.

usage: tests/mutants/run.py [--check] [--wide] [--list] [--changed] [--preset P] [-j JOBS] [--seconds N] [PATTERN...]

PATTERN: names of mutants or of files, with * and ?; all without. Each mutant is put into a copy of
the checkout, with its uncommitted changes, below build/mutants; what its tests need is built, and
they are run. Prints a table and exits with 1 unless every mutant was killed.

  --check    only look whether every entry still applies to the checkout (a second; part of ctest)
  --wide     run all tests of the programs, not only those an entry names
  --list     print the names
  --changed  only those whose line, or whose entry, is not yet in origin/main; in main itself, not in the commit before
  --preset   only those for which this preset is built; without `preset`, it is release
  -j JOBS    of the build
  --seconds  how long a test program may take (default 300)"""
import argparse
import collections
import fnmatch
import os
import signal
import subprocess
import sys
import time

import catalogue
import workshop

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GOOD = ("killed", "hangs")


def stop(number, _frame):
    raise KeyboardInterrupt(number)


class Runner:
    def __init__(self, shop, wide, seconds):
        self.shop, self.wide, self.seconds = shop, wide, seconds

    def runs(self, mutant):
        pairs = mutant.runs()
        return list(dict.fromkeys((program, "*") for program, _ in pairs)) if self.wide else pairs

    def prove(self, preset, mutants):
        """Builds the unchanged tree and runs everything that will be asked of the others: a test that
        fails anyway kills nothing."""
        runs = list(dict.fromkeys(run for mutant in mutants for run in self.runs(mutant)))
        self.shop.configure(preset)
        if not self.shop.build(preset, {program for program, _ in runs}):
            raise workshop.Failure(f"the unchanged tree does not build: {self.shop.build_log()}")
        for program, patterns in joined(runs):
            try:
                passed, failed = self.shop.run(preset, program, patterns, self.seconds)
            except workshop.TimedOut:
                raise workshop.Failure(f"{program} takes more than {self.seconds} s as it is") from None
            if not passed:
                raise workshop.Failure(f"the unchanged tree fails {program}: {' '.join(failed)}")

    def judge(self, mutant):
        """(verdict, by what)"""
        path = os.path.join(self.shop.tree, mutant.file)
        text = workshop.read(path)
        preset = mutant.preset or "release"
        runs = self.runs(mutant)
        workshop.write(path, catalogue.apply(mutant, text.decode()).encode())
        try:
            if not self.shop.build(preset, {program for program, _ in runs}):
                return "did not build", first_error(self.shop.build_log())
            for program, pattern in runs:
                try:
                    passed, failed = self.shop.run(preset, program, pattern, self.seconds)
                except workshop.TimedOut:
                    return ("hangs" if mutant.hangs else "timed out"), program
                if not passed:
                    return "killed", f"{program} {failed[0] if failed else '?'}"
            return "SURVIVED", " ".join(program for program, _ in runs)
        finally:
            self.shop.kill()
            workshop.write(path, text)


def by_preset(mutants):
    groups = collections.defaultdict(list)
    for mutant in mutants:
        groups[mutant.preset or "release"].append(mutant)
    return groups


def joined(runs):
    """[(program, filter)]: all filters of a program in one, but those that exclude something."""
    patterns, apart = collections.defaultdict(list), []
    for program, pattern in runs:
        if "-" in pattern:
            apart.append((program, pattern))
        else:
            patterns[program].append(pattern)
    return [(program, ":".join(those)) for program, those in patterns.items()] + apart


def first_error(log):
    for line in workshop.read(log).decode(errors="replace").split("\n"):
        if "error:" in line:
            return line.strip()
    return "see " + log


def selected(mutants, patterns, preset):
    def matches(mutant):
        if preset and preset != (mutant.preset or "release"):
            return False
        return not patterns or any(fnmatch.fnmatchcase(mutant.name, pattern) or
                                   fnmatch.fnmatchcase(mutant.file, pattern) for pattern in patterns)
    return [mutant for mutant in mutants if matches(mutant)]


def base_of(root):
    """What this checkout is a change of."""
    for revision in ("origin/main", "main", "HEAD^"):
        done = subprocess.run(["git", "-C", root, "merge-base", "HEAD", revision], capture_output=True, text=True, check=False)
        head = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        if done.returncode == 0 and done.stdout != head.stdout:
            return done.stdout.strip()
    return "HEAD"


def changed(mutants, root):
    """Those of which a commit since then, or the checkout, has another line or entry."""
    done = subprocess.run(["git", "-C", root, "diff", "-U0", "--no-color", base_of(root)], capture_output=True, text=True,
                          errors="replace", check=True)
    lines, path = collections.defaultdict(set), None
    for line in done.stdout.split("\n"):
        if line.startswith("+++ "):
            path = line[6:]
        elif line.startswith("+"):
            lines[path].add(line[1:].strip())
    for mutant in mutants:
        entries = lines[os.path.relpath(os.path.join(HERE, mutant.where.split(":")[0]), ROOT)]
        entry = {f"[{mutant.name}]", *(f"{key} = {value}" for key, value in mutant.keys.items())}
        if mutant.line in lines[mutant.file] or {f"[{mutant.name}]", f"becomes = {mutant.becomes}"} & entries & entry:
            yield mutant


def report(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, file, verdict, by in rows:
        print(f"{name:{widths[0]}}  {file:{widths[1]}}  {verdict:{widths[2]}}  {by}".rstrip())
    counts = collections.Counter(row[2] for row in rows)
    print(f"{len(rows)} mutants: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items()))


def run_all(shop, mutants, options):
    rows = []
    try:
        shop.open()
        runner = Runner(shop, options.wide, options.seconds)
        for preset, theirs in by_preset(mutants).items():
            print(f"mutants: building and testing the unchanged tree, {preset}, in {shop.tree}",
                  file=sys.stderr, flush=True)
            runner.prove(preset, theirs)
            for mutant in theirs:
                began = time.monotonic()
                verdict, by = runner.judge(mutant)
                rows.append((mutant.name, mutant.file, verdict, by))
                print(f"mutants: {len(rows)}/{len(mutants)} {mutant.name}: {verdict} ({by}), "
                      f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("mutants: stopped", file=sys.stderr)
        return rows, 130
    except workshop.Failure as failure:  # what is known so far is worth a table
        print(f"mutants: {failure}", file=sys.stderr)
        return rows, 2
    finally:
        shop.close()
    return rows, 0 if all(row[2] in GOOD for row in rows) else 1


def main():
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
        return 0
    parser = argparse.ArgumentParser(usage="see --help", add_help=False)
    parser.add_argument("patterns", nargs="*")
    for switch in ("--check", "--wide", "--list", "--changed"):
        parser.add_argument(switch, action="store_true")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--preset")
    options = parser.parse_args()
    try:
        everything = catalogue.read_lists(HERE)
        wrong = list(catalogue.check(everything, ROOT))
        if wrong or options.check:
            print("\n".join(wrong + [f"{len(everything)} mutants, {len(wrong)} findings"]))
            return 1 if wrong else 0
        mutants = selected(everything, options.patterns, options.preset)
        mutants = [mutant for mutant in mutants if not mutant.equivalent]
        if options.changed:
            mutants = list(changed(mutants, ROOT))
            if not mutants:
                print("0 mutants: none names a line that changed")
                return 0
        if not mutants:
            raise catalogue.Mistake("no mutant is called so")
        if options.list:
            print("\n".join(f"{mutant.name}  {mutant.file}  {mutant.why}" for mutant in mutants))
            return 0
        for number in workshop.STOPS:
            signal.signal(number, stop)
        rows, status = run_all(workshop.Workshop(ROOT, options.jobs), mutants, options)
        if rows:
            report(rows)
        return status
    except catalogue.Mistake as mistake:
        print(f"mutants: {mistake}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
