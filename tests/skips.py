#!/usr/bin/env python3
"""What skipped, and why, of a run of ctest; and whether it was expected to.

usage: tests/skips.py LOG OUTPUT [EXPECTED]
LOG is Testing/Temporary/LastTest.log of a build folder, which has what tests said, and OUTPUT what ctest itself printed,
which has who skipped: a test that ends with SKIP_RETURN_CODE has passed by the log. EXPECTED has a regular expression a
line, of reasons that a machine with everything installed may have: another one is an error, and none as well, for a test
that skips where it could run holds nothing."""
import collections
import re
import sys

HEADING = re.compile(r"^\d+/\d+ Testing: (.*)$", re.M)
SKIPPED = re.compile(r"^ *\d+/\d+ Test +#\d+: (.*?) \.*\*\*\*Skipped ", re.M)
BATCH = re.compile(r"\+\d+$")  # several of GoogleTest's in a process, of which each may skip: discover.cmake
OF_BATCH = re.compile(r"^\[ RUN      \] (\S+)\n(?:(?!\[ RUN  ).*\n)*?\[  SKIPPED \] \1 \(\d+ ms\)$", re.M)
REASON = re.compile(r"(?:^\S+:\d+: Skipped\n(.*)$)|(?:^(?:-- )?skipped: (.*)$)", re.M)


def reason(text):
    found = REASON.search(text)
    return next(filter(None, found.groups()), "") if found else ""


def skipped(log, output):
    """[(test, reason)]; of a test whose reason was not found, ""."""
    parts = HEADING.split(log)
    said = dict(zip(parts[1::2], parts[2::2]))
    for test in SKIPPED.findall(output):
        yield test, reason(said.get(test, ""))
    for batch, text in said.items():
        if BATCH.search(batch):
            for found in OF_BATCH.finditer(text):
                yield f"{batch.split('.')[0]}.{found.group(1)}", reason(found.group(0))


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def main(arguments):
    rows = list(skipped(read(arguments[0]), read(arguments[1])))
    by_reason = collections.defaultdict(list)
    for test, reason in rows:
        by_reason[reason].append(test)
    for reason, tests in sorted(by_reason.items(), key=lambda row: -len(row[1])):
        print(f"skipped {len(tests):4}: {reason or 'no reason given'} ({tests[0]}{', ...' if len(tests) > 1 else ''})")
    if len(arguments) < 3:
        return 0
    lines = read(arguments[2]).split("\n")
    expected = [re.compile(line) for line in lines if line.strip() and not line.startswith("#")]
    wrong = [(test, reason) for test, reason in rows if not any(one.search(reason) for one in expected)]
    for test, reason in wrong:
        print(f"not expected to skip: {test}: {reason or 'no reason given'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
