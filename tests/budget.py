#!/usr/bin/env python3
"""Whether a stage of the last ./dev test cost more than .ci/budget allows it, and whether what was raised there says why.

usage: tests/budget.py [ROOT]; prints one line a finding, exits with 1 if there is any. Part of ./dev lint, not of .ci/run:
what a machine makes of a day fails nobody's submission.

.ci/budget has the lines `STAGE: SECONDS reason` and, before them, `calibration: SECONDS reason`: what a fixed loop took on
the machine on which the others were measured. build/spent has of each stage of the last run what it took and the slower
of the loops before and after it. A stage is judged only if its loop was as fast as the budget's, for seconds of a slow or
busy machine are no growth; so a slower machine never fails, and on a faster one growth is seen later. What is not seen: what
a stage waits for without computing, processes that outlive their parents, and what ccache saved of a build."""
import os
import re
import subprocess
import sys

GROWTH, LOOP = 1.10, 1.05
ROW = re.compile(r"^([a-z][a-z -]*): ([0-9.]+) +(\S.*)$")


def read_budget(text):
    """{stage: (seconds, reason)} of the lines that are no comments."""
    rows = {}
    for line in filter(None, (line.strip() for line in text.split("\n"))):
        match = ROW.match(line)
        if match:
            rows[match.group(1)] = (float(match.group(2)), match.group(3))
        elif not line.startswith("#"):
            raise ValueError(f"not 'STAGE: SECONDS reason': {line}")
    return rows


def raised(now, before):
    """What was raised for the reason it had before."""
    for stage, (seconds, reason) in now.items():
        if stage in before and seconds > before[stage][0] and reason == before[stage][1]:
            yield f"{stage}: raised from {before[stage][0]:.0f} to {seconds:.0f} s without a reason of its own"


def grown(budget, spent):
    """[(stage, seconds, loop)] against the budget."""
    loop_then = budget.get("calibration", (0, ""))[0]
    for stage, seconds, loop in spent:
        if stage not in budget or loop > loop_then * LOOP:
            continue
        if seconds > budget[stage][0] * GROWTH:
            yield f"{stage}: {seconds:.0f} s of the processors, more than 10 % above the {budget[stage][0]:.0f} s of .ci/budget"


def read_spent(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [(row[0], float(row[1]), float(row[2])) for row in rows if len(row) == 3]


def committed(root, revision):
    done = subprocess.run(["git", "-C", root, "show", f"{revision}:.ci/budget"], capture_output=True, text=True, check=False)
    return read_budget(done.stdout) if done.returncode == 0 else {}


def findings(root):
    with open(os.path.join(root, ".ci/budget"), encoding="utf-8") as file:
        budget = read_budget(file.read())
    head = committed(root, "HEAD")
    yield from raised(budget, head) if budget != head else raised(head, committed(root, "HEAD^"))
    yield from grown(budget, read_spent(os.path.join(root, "build/spent")))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    rows = list(findings(root))
    for stage, seconds, loop in read_spent(os.path.join(root, "build/spent")):
        print(f"{stage}: {seconds:.0f} s, the loop {loop:.2f} s")  # what a line of .ci/budget is made of
    print("\n".join(rows + [f"budget: {len(rows)} findings"]))
    return 1 if rows else 0


if __name__ == "__main__":
    sys.exit(main())
