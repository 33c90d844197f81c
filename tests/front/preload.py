#!/usr/bin/env python3
"""What wrapping HIP's functions sees of a program, and what the front does: preload.py RUNNER RAWHAL PROGRAM SHIM"""
import json, os, re, subprocess, sys, tempfile

runner, rawhal, program, shim = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    trace = os.path.join(folder, "trace")
    done = subprocess.run([runner, rawhal, "exec", "--trace", trace, "--", "env", f"LD_PRELOAD={shim}", program],
                          capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done
    own, fills = map(int, re.search(r"(\d+) kernels of the program, (\d+) fills", done.stdout).groups())
    wrapped = int(re.search(r"(\d+) launches were seen", done.stdout).group(1))
    events = [json.loads(line.rstrip(",\n")) for line in open(trace) if line.startswith("{")]
seen = [event["name"] for event in events if event.get("ph") == "X" and "work_items" in event.get("args", {})]
assert seen.count("_Z9incrementPj") == own and seen.count("__amd_rocclr_fillBufferAligned") == fills, seen
# Those that were launched by name, and those of a capture, which ran only as a graph.
assert wrapped == 105 and len(seen) == own + fills == 230, (wrapped, len(seen))
print(f"{len(seen)} dispatches: wrapped functions saw {wrapped} launches, 5 of which were none")
