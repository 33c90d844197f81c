#!/usr/bin/env python3
"""What a replay needs is recorded, so that it is exact; each kind of what is not is taken away once, and is said when it
is recorded, when the recording is listed, and at replay.

usage: record_kinds.py RUNNER RAWHAL PROGRAM FIXTURES     PROGRAM: recorded
"""
import json
import os
import re
import subprocess
import sys
import tempfile

RUNNER, RAWHAL, PROGRAM, FIXTURES = sys.argv[1:]

# What the program calls a dispatch: the notes that it must have, and how its replay ends.
SAME, DIFFERENT, CANNOT = 0, 1, 3
KINDS = {
    "plain": ([], SAME),
    "halves": (["values"], SAME),
    "inside": (["values"], SAME),
    "packed": (["values"], SAME),
    "sentinel": (["nowhere"], SAME),
    "variables": ([], SAME),
    "variables again": ([], SAME),
    "by_variable": ([], SAME),
    "indirect": (["pointers"], SAME),
    "keeps": ([], SAME),
    "a variable's address": (["pointers"], SAME),  # of the one before
    "kernargs of the device": ([], SAME),
    "twice": (["pointers", "deep"], CANNOT),
    "objects": (["objects"], CANNOT),
    "clock_of": (["clock"], DIFFERENT),
    "order_of": (["atomics"], SAME),  # here work-items come in order
    "packet": (["queue"], DIFFERENT),
    "image_of": (["image"], CANNOT),
    "runtime": (["runtime"], CANNOT),
    "group_of": (["group"], SAME),
    "stack": (["stack"], CANNOT),
    "kernargs": (["kernargs"], None),
    "service": (["service"], SAME),
    "layout": (["layout", "values"], SAME),
    "unreadable": (["unreadable"], SAME),
    "shared": (["shared"], SAME),
    "many": (["pointers", "many"], None),
    "waits": (["pointers", "concurrent", "freed"], CANNOT),
    "beside": (["concurrent"], SAME),
}


def run(*command):
    return subprocess.run([RUNNER, RAWHAL, *command], capture_output=True, text=True, timeout=120)


def record(path, options, *arguments):
    done = run("record", "-o", path, "--buffers", *options, "--", PROGRAM, FIXTURES, *arguments)
    if done.returncode:
        sys.exit(f"the program ended with {done.returncode}: {done.stdout}{done.stderr}")
    listed = json.loads(run("replay", "--list", "--json", path).stdout)["dispatches"]
    names = [line for line in done.stdout.splitlines() if line != "done"]
    if len(names) != len(listed):
        sys.exit(f"{len(names)} dispatches, {len(listed)} recorded: {done.stderr}")
    return names, listed, done.stderr


def replay(path, number):
    done = run("replay", path, "--kernel", str(number), "--json", "--timeout", "1")
    return done.returncode, json.loads(done.stdout)


def check(path, number, name, listed, said, kinds, status):
    """What is wrong with one dispatch."""
    wrong = []
    notes = [note["about"] for note in listed["notes"]]
    if sorted(notes) != sorted(kinds):
        wrong.append(f"notes {notes}, not {kinds}")
    for note in listed["notes"]:
        if not re.search(rf"^rawhal: record: {listed['kernel']}: .* \({note['about']}, first in dispatch \d+\)$", said, re.M):
            wrong.append(f"{note['about']} was not told when it was recorded")
    got, document = replay(path, number)
    for note in listed["notes"]:
        if note["text"] not in document["notes"]:
            wrong.append(f"{note['about']} is not said at replay: {document['notes']}")
    if status is not None and got != status:
        wrong.append(f"replay ends with {got}, not {status}: {document}")
    return [f"{number} {name}: {text}" for text in wrong]


with tempfile.TemporaryDirectory() as scratch:
    path = os.path.join(scratch, "recording")
    names, dispatches, said = record(path, [])
    wrong = [f"{name} was not dispatched" for name in KINDS if name not in names]
    for number, (name, listed) in enumerate(zip(names, dispatches), 1):
        wrong += check(path, number, name, listed, said, *KINDS[name])
    lacking = sum(1 for listed in dispatches if listed["notes"])
    if f"recorded {len(names)} of {len(names)}; the replay of {lacking} may be incomplete" not in said:
        wrong.append(f"the last line does not count them: {said}")
    path = os.path.join(scratch, "large")
    names, dispatches, said = record(path, ["--bytes", "4M"], "large")
    wrong += check(path, 1, "large", dispatches[0], said, ["large"], CANNOT)
    wrong += check(path, 2, "plain", dispatches[1], said, [], SAME)
    sys.exit("\n".join(wrong) or 0)
