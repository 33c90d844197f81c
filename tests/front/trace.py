#!/usr/bin/env python3
"""What a trace says of programs whose kernels and times are known.

usage: trace.py RUNNER RAWHAL FOLDER     FOLDER holds the test programs
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

RUNNER, RAWHAL, FOLDER = sys.argv[1:4]


def check(holds, *why):
    if not holds:
        sys.exit("not so: " + " ".join(map(str, why)))


def traced(path, options, program, *arguments):
    command = [RUNNER, RAWHAL, "exec", "--trace", path, *options, "--", os.path.join(FOLDER, program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    check(done.returncode == 0, done.stdout, done.stderr)
    return done.stdout, json.load(open(path))


def of_kind(events, phase, category=None):
    return [e for e in events if e["ph"] == phase and category in (None, e.get("cat"))]


def known_times(path):
    """Kernels of 2 ms each: every one is there, in order, one after the other, no shorter and with its name."""
    said, events = traced(path, [], "share", "300", "2000")
    launches = int(re.search(r"([0-9]+) launches", said).group(1)) + 1
    turns = [e for e in of_kind(events, "X", "dispatch") if e["name"] == "_Z4turnPyy"]
    check(len(turns) == launches, len(turns), "of", launches)
    check(all(t["dur"] >= 2000 for t in turns), min(t["dur"] for t in turns))
    check(all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(turns, turns[1:])), "one after the other")
    check(all(t["args"]["work_items"] == [1, 1, 1] and t["args"]["measured"] for t in turns), turns[0])
    check(len({t["args"]["object"] for t in turns}) == 1 and len(turns[0]["args"]["object"]) == 32, turns[0])
    check(not [e for e in events if e["name"] == "held back"], "nothing is held back without a limit")
    objects = {e["args"]["object"]: e["args"] for e in of_kind(events, "i", "object")}
    mine = objects[turns[0]["args"]["object"]]
    check(mine["bytes"] > 1000 and re.fullmatch(r"file://.*/share#offset=[0-9]+&size=[0-9]+", mine["uri"]), mine)
    names = {e["args"]["name"] for e in of_kind(events, "M")}
    check(f"queue {turns[0]['tid']}" in names, names)
    memory = [e["args"]["bytes"] for e in of_kind(events, "C")]
    check(memory and max(memory) >= 8, "the sum, and what HIP may have for itself", memory)


def held_back(path):
    """At a quarter of the time what is not run is held back, most of it."""
    said, events = traced(path, ["--gpu-share", "25%"], "share", "1000", "2000")
    ran = sum(e["dur"] for e in of_kind(events, "X", "dispatch"))
    held = sum(e["dur"] for e in events if e["name"] == "held back")
    check(ran > 0 and held > ran, ran, held)


def copies(path):
    """Each by an engine is there with its time, and no two of one way at once; the others as they were called."""
    command = [RUNNER, RAWHAL, "exec", "--trace", path, "--", os.path.join(FOLDER, "copies"), "300", "async"]
    done = subprocess.run(command, input="\n", capture_output=True, text=True, timeout=240)
    check(done.returncode == 0, done.stdout, done.stderr)
    rounds = int(re.search(r"([0-9]+) rounds", done.stdout).group(1))
    events = json.load(open(path))
    names = {e["tid"]: e["args"]["name"] for e in of_kind(events, "M") if e["name"] == "thread_name"}
    whole = [e for e in of_kind(events, "X", "copy") if e["args"]["bytes"] == 4 << 20]
    ways = {}
    for e in whole:
        ways.setdefault(names[e["tid"]], []).append(e)
    check({k: len(v) for k, v in ways.items()} == {"copies to a device": rounds, "copies from a device": rounds},
          rounds, {k: len(v) for k, v in ways.items()})
    for way in ways.values():
        way.sort(key=lambda e: e["ts"])
        check(all(e["dur"] > 0 for e in way), "they take time")
        check(all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(way, way[1:])), "one after the other")
    for there, back in zip(ways["copies to a device"], ways["copies from a device"]):
        check(there["ts"] + there["dur"] <= back["ts"] + 0.002, there, back)
    check(not of_kind(events, "i", "copy"), "all times are known")


def killed(path):
    """What was written is whole lines, and nothing of the program's is waited for."""
    command = [RUNNER, RAWHAL, "exec", "--trace", path, "--", os.path.join(FOLDER, "share"), "60000", "500"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if os.path.exists(path) and open(path).read().count('"dispatch"') > 10:
                break
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
    whole = open(path).read().rpartition("\n")[0].rstrip(",")
    check(len(of_kind(json.loads(whole + "]"), "X", "dispatch")) > 10, "dispatches before it was killed")


def one_each(path):
    """Of two at once the second takes another name."""
    command = [RUNNER, RAWHAL, "exec", "--", os.path.join(FOLDER, "share"), "1500", "500"]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "RAWHAL_TRACE": path})
               for _ in range(2)]
    check([r.wait() for r in running] == [0, 0], "both end well")
    folder = os.path.dirname(path)
    found = [os.path.join(folder, n) for n in os.listdir(folder) if n.startswith(os.path.basename(path))]
    check(len(found) == 2 and all(of_kind(json.load(open(f)), "X", "dispatch") for f in found), found)


def one_after_another(path):
    """Of several in turn each keeps its own, and another run leaves alone what is there."""
    program = os.path.join(FOLDER, "times")
    command = [RUNNER, RAWHAL, "exec", "--trace", path, "--", "sh", "-c", '"$0" && "$0"', program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    check(done.returncode == 0, done.stdout, done.stderr)
    folder = os.path.dirname(path)
    found = [os.path.join(folder, n) for n in os.listdir(folder) if n.startswith(os.path.basename(path))]
    check(len(found) == 2 and os.path.exists(path), found)
    check(all(of_kind(json.load(open(f)), "X", "dispatch") for f in found), found)
    again = subprocess.run(command, capture_output=True, text=True, timeout=240)
    check(again.returncode == 2 and "already exists" in again.stderr, again)


with tempfile.TemporaryDirectory() as scratch:
    for test in (known_times, held_back, copies, killed, one_each, one_after_another):
        test(os.path.join(scratch, test.__name__))
