#!/usr/bin/env python3
"""What does not get on in programs that were never changed: hangs.py RUNNER RAWHAL PROGRAM OBJECT

Nothing waits for a time: a program stays in its hang until all has been told that is to be told."""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

runner, rawhal, program, code_object = sys.argv[1:]
ENVIRONMENT = {**os.environ, "SOFTGPU_TIMEOUT_MS": "120000"}
for variable in ("ASAN_OPTIONS", "TSAN_OPTIONS"):  # which allow no core files else
    ENVIRONMENT[variable] = os.environ.get(variable, "") + ":disable_coredump=0"


def start(what, *options, **variables):
    """The program, and where the front's messages come out."""
    reading, writing = os.pipe()
    started = subprocess.Popen([runner, rawhal, "exec", *options, "--", program, code_object, what], text=True, pass_fds=(writing,),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**ENVIRONMENT, "RAWHAL_FRONT_REPORT": str(writing), **variables})
    os.close(writing)
    return started, os.fdopen(reading)


def told(what, lines, *options, **variables):
    """So many messages, after which the program gets on and ends well."""
    started, report = start(what, "--watchdog", "50ms", *options, **variables)
    said = [report.readline() for _ in range(lines)]
    out, _ = started.communicate("\n", timeout=120)
    rest = report.read()
    assert (out, rest, started.returncode) == ("done\n", "", 0), (what, out, said, rest, started.returncode)
    return sorted(said)


# Which kernel, how long, and where its waves are; with a limiter and without reports of faults; and as JSON.
KERNEL = r"rawhal: queue \d+ has not got on for \d\S* s: packet 0, kernel wait_for; 1 wave is resident: 1 .*entry\+\d+ .*\n"
said, = told("endless", 1, "--gpu-share", "50%", "--faults", "off")
assert re.fullmatch(KERNEL, said), said
line, text = sorted(told("endless", 2, "--faults", "json"))[::-1]
line, text = (line, text) if line.startswith("{") else (text, line)
fault = json.loads(line)
assert (fault["kind"], fault["kernel"], fault["packet"], fault["causes"][0]["kind"]) == (
    "time limit exceeded", "wait_for", 0, "never ends") and re.fullmatch(KERNEL, text), (fault, text)

# What barriers wait for: a queue that hangs, which is told, too; a signal, and who else waits for it; each other.
first, second = told("behind", 2)
assert re.fullmatch(KERNEL, first if "kernel" in first else second), (first, second)
assert re.search(r"packet 0, the barrier waits for packet 0 of queue \d+\n", first + second), (first, second)
for said in told("signal", 2, "--watchdog", "50ms,fail,wait:report"):
    assert re.search(r": packet 0, the barrier waits for signal 0x[0-9a-f]+, which is 7 and which no packet in flight sets, "
                     r"and queue \d+ waits for it, too\n", said), said
for said in told("cycle", 2):
    assert re.search(r"packet 0, the barrier waits for packet 0 of queue (\d+), which never ends: queue \1 waits for queue (\d+), "
                     r"which waits for queue \1\n", said), said

# The queue fails: the program hears of it, all is told, and a core file has the waves.
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
with tempfile.TemporaryDirectory() as folder:
    for what, cause in (("endless", "never ends"), ("waves", "unmet dependency"), ("cycle", "unmet dependency")):
        core = os.path.join(folder, what)
        started, report = start(what, "--watchdog", "50ms,fail", "--faults", "json", RAWHAL_CORE=core, RAWHAL_CORE_PER_HOUR="0")
        out, _ = started.communicate(timeout=120)
        said = report.read()
        lines = out.split("\n")  # of the other queue the program may hear when it has ended it
        assert "failed" in lines and re.search(r"queue [01] failed: 0x1000\n", out) and started.returncode == 0, (out, said)
        fault, *_ = [json.loads(line) for line in said.split("\n") if line.startswith("{")]
        assert (fault["kind"], fault["causes"][0]["kind"]) == ("time limit exceeded", cause), fault
        assert f"core file {core}: " in said and "a queue was stopped: queue " in said, said
        shown = json.loads(subprocess.run([rawhal, "core", "show", "--json", core], capture_output=True, check=True).stdout)
        assert bool(shown["waves"]) == (what in ("endless", "waves")), shown["waves"]

# What kernels and waits are to do apart; a core file of a queue that lives; the device's other queues; the end of the process.
with tempfile.TemporaryDirectory() as folder:
    core = os.path.join(folder, "lives")
    lines = told("endless", 3, "--watchdog", "50ms,kernel:dump", "--faults", "json", "--memory", "1G", RAWHAL_CORE=core,
                 RAWHAL_CORE_PER_HOUR="0")
    assert any(re.fullmatch(KERNEL, line) for line in lines) and any(f"core file {core}: " in line for line in lines), lines
    shown = json.loads(subprocess.run([rawhal, "core", "show", "--json", core], capture_output=True, check=True).stdout)
    assert re.fullmatch(r"memory: 1GiB\n(.*\n)*memory in use: \S+\n", shown["limits"]), shown["limits"]
started, report = start("device", "--watchdog", "50ms,device")
out, _ = started.communicate(timeout=120)
assert out.count("failed: 0x1000") == 2 and started.returncode == 0, (out, report.read())
started, report = start("endless", "--watchdog", "50ms,abort")
out, _ = started.communicate(timeout=120)
assert re.search(r"has not got on for .*kernel wait_for", report.read()), out
assert started.returncode in (-signal.SIGABRT, 128 + signal.SIGABRT), started.returncode
