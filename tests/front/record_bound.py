#!/usr/bin/env python3
"""A recording that its bound ends, and one whose program is killed: what was written is there.

usage: record_bound.py RUNNER RAWHAL PROGRAM     PROGRAM: share, which launches for so many ms
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

RUNNER, RAWHAL, PROGRAM = sys.argv[1:4]
BOUND = 128 * 1024


def record(path, options, *arguments):
    return [RUNNER, RAWHAL, "record", "-o", path, *options, "--", PROGRAM, *arguments]


def listed(path):
    done = subprocess.run([RUNNER, RAWHAL, "replay", "--list", "--json", path], capture_output=True, text=True,
                          timeout=60)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"it cannot be listed: {done.stderr}")


def bounded(folder):
    for milliseconds in ("1000", "4000", "16000", "64000"):  # how far it gets is the machine's
        path = os.path.join(folder, milliseconds)
        done = subprocess.run(record(path, ["--bytes", "128K"], milliseconds, "20"), capture_output=True, text=True,
                              timeout=120)
        ended = "the recording ends here" in done.stderr
        if ended or done.returncode:
            break
    size = os.path.getsize(path)
    if done.returncode or not ended or not BOUND // 2 < size <= BOUND:
        sys.exit(f"{done.returncode}, {size} bytes: {done.stderr}")
    if len(listed(path)["dispatches"]) < 50:
        sys.exit("what was written before is not there")
    refused = subprocess.run(record(path + ".x", ["--bytes", "some"], "1", "1"), capture_output=True, text=True)
    if refused.returncode != 2 or os.path.exists(path + ".x"):
        sys.exit(f"--bytes some: {refused.returncode} {refused.stderr}")


def killed(path):
    with subprocess.Popen(record(path, ["--bytes", "1G"], "60000", "100"), stdout=subprocess.DEVNULL) as running:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (os.path.exists(path) and os.path.getsize(path) > 50000):
            time.sleep(0.02)
        running.send_signal(signal.SIGKILL)
    if len(listed(path)["dispatches"]) < 10:
        sys.exit("what was written before it was killed is not there")


with tempfile.TemporaryDirectory() as scratch:
    bounded(scratch)
    killed(os.path.join(scratch, "killed"))
