#!/usr/bin/env python3
"""What skipped, and why, of a run of ctest; and whether it was expected to.

usage: tests/skips.py LOG [EXPECTED]
LOG is Testing/Temporary/LastTest.log of a build folder. EXPECTED has a regular expression a line, of reasons that a
machine with everything installed may have: another one is an error, for a test that skips where it could run holds
nothing."""
import collections
import re
import sys

HEADING = re.compile(r"^\d+/\d+ Testing: (.*)$", re.M)
REASON = re.compile(r"(?:^\S+:\d+: Skipped\n(.*)$)|(?:^(?:-- )?skipped: (.*)$)", re.M)


def skipped(log):
    """[(test, reason)]; of a test whose reason was not found, ""."""
    parts = HEADING.split(log)
    for test, text in zip(parts[1::2], parts[2::2]):
        if re.search(r"\[  SKIPPED \]|^(?:-- )?skipped: ", text, re.M) and "Test Failed." not in text:
            found = REASON.search(text)
            yield test, next(filter(None, found.groups()), "") if found else ""


def main(arguments):
    with open(arguments[0], errors="replace") as file:
        rows = list(skipped(file.read()))
    by_reason = collections.defaultdict(list)
    for test, reason in rows:
        by_reason[reason].append(test)
    for reason, tests in sorted(by_reason.items(), key=lambda row: -len(row[1])):
        print(f"skipped {len(tests):4}: {reason or 'no reason given'} ({tests[0]}{', ...' if len(tests) > 1 else ''})")
    if len(arguments) < 2:
        return 0
    with open(arguments[1]) as file:
        expected = [re.compile(line.rstrip("\n")) for line in file if line.strip() and not line.startswith("#")]
    wrong = [(test, reason) for test, reason in rows if not any(one.search(reason) for one in expected)]
    for test, reason in wrong:
        print(f"not expected to skip: {test}: {reason or 'no reason given'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
