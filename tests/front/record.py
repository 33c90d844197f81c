#!/usr/bin/env python3
"""Records what a program dispatches, and replays every dispatch in a process of its own: bit for bit the same.

usage: record.py RUNNER RAWHAL LEAST KERNELS PROGRAM [ARGUMENTS...]     LEAST: of dispatches; KERNELS: that differ, at least
Exit status 77: the program says that it skipped what it has to do, or FRONT_EXTENDED is set and RAWHAL_TEST_EXTENDED not.
"""
import json
import os
import subprocess
import sys
import tempfile

RUNNER, RAWHAL, LEAST, KERNELS = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
PROGRAM = sys.argv[5:]
if os.environ.get("FRONT_EXTENDED") and not os.environ.get("RAWHAL_TEST_EXTENDED"):
    print("skipped: only with RAWHAL_TEST_EXTENDED")
    sys.exit(77)


def run(*command):
    return subprocess.run([RUNNER, RAWHAL, *command], capture_output=True, text=True, timeout=280)


with tempfile.TemporaryDirectory() as scratch:
    path = os.path.join(scratch, "recording")
    recorded = run("record", "-o", path, "--buffers", "--", *PROGRAM)
    if recorded.returncode:
        sys.exit(f"the program ended with {recorded.returncode}:\n{recorded.stdout}{recorded.stderr}")
    if "SKIPPED" in recorded.stdout:
        print("skipped:", recorded.stdout.partition(": Skipped\n")[2].partition("\n")[0])
        sys.exit(77)  # a library that is not here
    bare = subprocess.run([RUNNER, *PROGRAM], capture_output=True, text=True, timeout=280)
    if bare.returncode:
        sys.exit("it does not run by itself")
    listed = json.loads(run("replay", "--list", "--json", path).stdout)
    count = len(listed["dispatches"])
    kernels = len({dispatch["kernel"] for dispatch in listed["dispatches"]})
    print(f"{count} dispatches of {kernels} kernels")
    if count < LEAST or kernels < KERNELS:
        sys.exit(f"{LEAST} of {KERNELS} were expected")
    for dispatch in listed["dispatches"]:
        # HIP's fill reads its pattern from constant memory, which HIP writes for the next while this one runs.
        reads = 1 if "rocclr_fillBuffer" in dispatch["kernel"] else 0
        if len(dispatch["after"]["buffers"]) != len(dispatch["before"]["buffers"]) - reads:
            sys.exit(f"what was recorded after it: {dispatch}")
    wrong = 0
    for number in range(1, count + 1):
        replayed = run("replay", "--kernel", str(number), path)
        if replayed.returncode:
            wrong += 1
            print(f"dispatch {number}: {replayed.stdout}{replayed.stderr}")
    again = run("record", "-o", path, "--", *PROGRAM)
    if again.returncode != 2 or "already exists" not in again.stderr:
        sys.exit(f"what is there was recorded over: {again.returncode} {again.stderr}")
    sys.exit(f"{wrong} of {count} differ" if wrong else 0)
