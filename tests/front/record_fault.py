#!/usr/bin/env python3
"""A dispatch of a program that ends in a fault is recorded with what it had, and faults likewise when it runs again.

usage: record_fault.py RUNNER RAWHAL PROGRAM KERNEL     KERNEL: which is at fault; it is the last
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

RUNNER, RAWHAL, PROGRAM, KERNEL = sys.argv[1:]


def run(*command):
    return subprocess.run([RUNNER, RAWHAL, *command], capture_output=True, text=True, timeout=120)


def fault(text):
    """Which instruction of which work-group did what, and where from its allocation; not at which addresses."""
    found = re.search(rf"kernel {KERNEL}\b.*?memory access fault.*", text)
    if not found:
        sys.exit(f"there is no fault of {KERNEL}: {text}")
    parts = re.search(r"\(entry\+\d+\): [a-z_0-9]+ .*?work-group \([0-9, ]+\), wave \d+, lane \d+, \d+ bytes", found.group())
    where = re.search(r"(\d+ bytes (?:past the end of|before)) \[0x[0-9a-f]+, (\+\d+)\)", found.group())
    if not parts or not where:
        sys.exit(f"that is not understood: {found.group()}")
    return parts.group(), *where.groups()


with tempfile.TemporaryDirectory() as scratch:
    path = os.path.join(scratch, "recording")
    recorded = run("record", "-o", path, "--buffers", "--", PROGRAM)
    if recorded.returncode != -signal.SIGABRT:
        sys.exit(f"the program ended with {recorded.returncode}: {recorded.stderr}")
    dispatches = json.loads(run("replay", "--list", "--json", path).stdout)["dispatches"]
    if not dispatches or dispatches[-1]["kernel"] != KERNEL:
        sys.exit(f"{KERNEL} is not the last: {dispatches}")
    before, after = dispatches[-1]["before"], dispatches[-1]["after"]
    if not before["buffers"] or after["buffers"]:
        sys.exit(f"what it had, and nothing that it left, is recorded: {dispatches[-1]}")
    replayed = run("replay", "--kernel", str(len(dispatches)), path)
    if replayed.returncode == 0 or "rawhal replay: FAULT: " not in replayed.stderr:
        sys.exit(f"it does not fault again: {replayed.returncode} {replayed.stdout}{replayed.stderr}")
    one, other = fault(recorded.stderr), fault(replayed.stderr)
    print(*one)
    sys.exit(f"another fault: {other}" if one != other else 0)
