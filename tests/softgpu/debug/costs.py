#!/usr/bin/env python3
"""Nothing of debugging costs a program that nobody debugs: costs.py CHECKOUT TARGET THUNK

Counts what a dispatch executes, by callgrind: nothing of softgpu/debug, nor of what the engine has for it, and as much with
SOFTGPU_DEBUG=0 as without the variable. That it is more with a debugger to come shows that it is counted."""
import os
import re
import subprocess
import sys
import tempfile

CHECKOUT, TARGET, THUNK = sys.argv[1:4]
sys.path.insert(0, os.path.join(CHECKOUT, "bench"))
from counted import NAME, calls_of  # noqa: E402

DISPATCHES = 8
# What asks, once for a device or a queue, whether there is debugging.
ASK = {"service_start", "service_runtime", "live_queue_add", "live_queue_leave", "live_queue_remove", "softgpu_debug_devices"}
SUPERVISED = {"isa_group_run_supervised", "work_supervised"}


def of_debugging():
    """What its headers declare."""
    folder = os.path.join(CHECKOUT, "softgpu/debug")
    texts = [open(os.path.join(folder, name)).read() for name in os.listdir(folder) if name.endswith(".h")]
    found = {name for text in texts for name in re.findall(r"^[a-z][\w *]*?\b(\w+)\([^{]*?\);", text, re.M | re.S)}
    assert {"live_suspend", "save_store", "service_start", "watch_hits"} <= found, found
    return found | SUPERVISED


def counted(folder, debug):
    """Names of all functions that ran, and instructions of a dispatch."""
    out = os.path.join(folder, "out")
    lines = "".join("run 0 0 4 128\nwait 0\n" for _ in range(DISPATCHES))
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", TARGET, THUNK], input=lines + "end\n",
                          env={**os.environ, "SOFTGPU_CHIPS": "gfx90a", "SOFTGPU_THREADS": "1", "SOFTGPU_DEBUG": debug},
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", timeout=200)
    assert done.returncode == 0 and done.stdout.count("done") == DISPATCHES, done.stdout[-300:]
    with open(out, errors="replace") as file:
        names = {match.group(3).split("'")[0] for match in map(NAME.match, file) if match and match.group(3)}
    calls, spent = calls_of(out, "^softgpu_execute$")
    assert calls == DISPATCHES, calls
    return names, spent


def main():
    if subprocess.run(["valgrind", "--version"], stdout=subprocess.DEVNULL).returncode:
        return 1
    with tempfile.TemporaryDirectory() as folder:
        (bare, spent), (off, again) = counted(folder, ""), counted(folder, "0")
    for names in bare, off:
        extra = sorted(names & (of_debugging() - ASK))
        assert not extra, extra
        assert "isa_group_run" in names
    assert spent == again, (spent, again)
    print(f"{spent} instructions of {DISPATCHES} dispatches, with SOFTGPU_DEBUG=0 and without")
    return 0


sys.exit(main())
