#!/usr/bin/env python3
"""Why kernels of programs fail that were never changed: faults.py RUNNER RAWHAL PROGRAM EVENT FLIGHTS FIXTURES LIBRARY all|hardware"""
import concurrent.futures
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

runner, rawhal, program, event, flights, fixtures, library, what = sys.argv[1:]
code_object, others = (os.path.join(fixtures, f"mistakes-{chip}-v5.co") for chip in ("gfx90a", "gfx942"))
# What is done: what failed, the likeliest cause, whose argument's index, and what follows "kernel " of its name.
CATALOGUE = {
    # In programs of HIP.
    "past_the_end": ("memory access fault", "out of bounds", 0, "store_at"),
    "within_its_page": ("memory access fault", "out of bounds", 0, "fill"),
    "far": ("memory access fault", "out of bounds", 0, "store_at"),
    "before_the_start": ("memory access fault", "out of bounds", 0, "store_at"),
    "freed": ("memory access fault", "freed memory", 0, "fill"),
    "null": ("memory access fault", "null pointer", 0, "fill"),
    "null_and_offset": ("memory access fault", "null pointer", 0, "store_at"),
    "heap": ("memory access fault", "pointer to no memory", 0, "fill"),
    "nowhere": ("memory access fault", "pointer to no memory", 0, "fill"),
    "neighbour": ("access to memory that the device was not given", "no access", 0, "fill"),
    "in_structure": ("memory access fault", "freed memory", 0, "fill_box"),
    "in_memory": ("memory access fault", "freed memory", 0, "fill_table"),
    "swapped": ("memory access fault", "wrong arguments", 0, "fill_some"),
    "swapped_buffers": ("memory access fault", "wrong arguments", 0, "widen"),
    "other_blob": ("memory access fault", "wrong arguments", 0, "uniform"),
    "grid": ("memory access fault", "grid larger than the buffers", 0, "fill"),
    "misaligned": ("misaligned access", "misaligned argument", 0, "atomic_at"),
    "scratch": ("access beyond the private segment", "private segment", None, "scratch_at"),
    "unwritten": ("read of unwritten memory", "unwritten memory", 1, "widen"),
    "lds": ("access beyond the work-group's LDS", "LDS", None, "lds_at"),
    "trap": ("trap", "aborted by the kernel", None, "give_up"),
    "trap_number": ("trap", "aborted by the kernel", None, "give_up_by_number"),
    "assertion": ("trap", "aborted by the kernel", None, "assert_that"),
    "instruction": ("illegal instruction", "illegal instruction", None, "not_code"),
    "endless": ("time limit exceeded", "never ends", None, "wait_for"),
    "barrier": ("time limit exceeded", "unmet dependency", None, "half_barrier"),
    # What HIP does not let its programs do, by HSA; beside these hangs.py has barriers and signals.
    "freed_in_flight": ("memory access fault", "freed memory", 0, "fill"),
    "arguments_freed": ("kernarg fault", "freed memory", None, "fill"),
    "few_arguments": ("memory access fault", "arguments not supplied", 1, "widen"),
    "unloaded": ("invalid packet", "no code", None, ""),
    "read_only": ("write to read-only memory", "read-only memory", 0, "fill"),
    "destroyed": ("queue destroyed", "queue destroyed", None, "wait_for"),
}
HSA = ("freed_in_flight", "arguments_freed", "few_arguments", "unloaded", "read_only", "destroyed", "target")
ENVIRONMENT = {**os.environ, "SOFTGPU_GPUS": "2", "SOFTGPU_CHECK_LDS": "refuse", "SOFTGPU_CHECK_MEMORY": "refuse"}
ENDLESS = {"SOFTGPU_TIMEOUT_MS": "100"}
UNKNOWN_TO_HARDWARE = ("within_its_page", "unwritten")
BEHIND_A_PROXY = ("in_structure", "grid", "trap", "unloaded", "destroyed")
AT_ONCE = 2


def run(name, *options, command=None, **variables):
    """What the front said, what the program did, and its status."""
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        done = subprocess.run([runner, rawhal, "exec", *options, "--", *(command or (program, name, library))], capture_output=True, text=True,
                              timeout=120, env={**ENVIRONMENT, "RAWHAL_FRONT_REPORT": report, **variables})
        said = open(report).read() if os.path.exists(report) else ""
    return said, done.stdout + done.stderr, done.returncode


def all_of(function, names):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(names, pool.map(function, names)))


def causes_of(said):
    lines = [line for line in said.split("\n") if line.startswith("{")]
    assert len(lines) == 1, said
    fault = json.loads(lines[0])
    assert fault["causes"], fault
    return fault, fault["causes"][0]


def command_of(name, *more):
    return (flights, name, code_object, others) if name in HSA else (program, name, library, *more)


def check_cause(name):
    kind, cause, argument, kernel = CATALOGUE[name]
    options = ("--gpu-share", "90%", "--check") if name in BEHIND_A_PROXY else ()
    limit = ENDLESS if name in ("endless", "barrier") else {}
    said, out, status = run(name, "--faults", "json", *options, command=command_of(name), **limit)
    assert status == (0 if name in HSA else -signal.SIGABRT), (name, status, out, said)  # HIP's handler, after ours
    fault, first = causes_of(said)
    assert (fault["kind"], first["kind"], first["argument"]) == (kind, cause, argument), (name, json.dumps(fault, indent=1))
    assert re.match(rf"(_Z\d+)?{kernel}", fault["kernel"] or ""), (name, fault)
    return fault


# As hardware tells: the page of an address, of no queue, while other streams run. The true cause is among the first three.
def is_found(name):
    said, out, status = run(name, "--faults", "json", command=command_of(name, "busy"), SOFTGPU_HARDWARE_FAULTS="1")
    fault, _ = causes_of(said)
    if fault["packet"] is not None or fault["address"] is None or int(str(fault["address"]), 0) % 4096:
        return None, fault
    _, cause, argument, _ = CATALOGUE[name]
    return any((each["kind"], each["argument"]) == (cause, argument) for each in fault["causes"][:3]), fault


if what == "hardware":
    of_memory = [name for name, (kind, *_) in CATALOGUE.items() if ("memory" in kind or kind == "kernarg fault") and name not in UNKNOWN_TO_HARDWARE]
    found = all_of(is_found, of_memory)
    missed = {name: fault for name, (ok, fault) in found.items() if not ok}
    print(f"as hardware tells: {len(found) - len(missed)} of {len(found)}; not: {', '.join(missed) or 'none'}")
    assert len(found) >= 19 and len(missed) * 10 <= len(found), "\n".join(f"{name} {fault['address']}: {each['kind']} {each['argument']}: {each['text']}" for name, fault in missed.items() for each in fault["causes"])
    sys.exit()

faults = all_of(check_cause, CATALOGUE)
assert faults["unwritten"]["causes"][0]["offset"] == 4000, faults["unwritten"]
# 24 elements behind 1,000, which only the front knows.
first = faults["within_its_page"]["causes"][0]
assert (first["offset"], first["allocation_bytes"]) == (4000, 4000), first
assert "0 bytes past the end of [0x" in faults["within_its_page"]["device_text"], faults["within_its_page"]
alone = subprocess.run([runner, program, "within_its_page"], capture_output=True, text=True, env=ENVIRONMENT)
assert (alone.stdout, alone.returncode) == ("done\n", 0), alone
past_the_end = faults["past_the_end"]["causes"][0]
assert past_the_end["offset"] == 4096 and past_the_end["allocation_bytes"] == 4096, past_the_end
for name in ("in_structure", "in_memory"):
    first = faults[name]["causes"][0]
    assert first["levels"] == 1 and first["freed_ns"], first

# What is refused before it gets to the device.
said, out, status = run("quota", "--memory", "32M", "--faults", "text")
assert re.fullmatch(r"rawhal: device 0: 12582912 bytes of device memory asked for \(buffers\); \d+ of the tenant's 33554432 are in use: "
                    r"the program is told that there is no memory\n", said) and (status, bool(re.search("hipErrorOutOfMemory|out of memory", out))) == (1, True), (said, out)
said, out, status = run("target", command=command_of("target"))
assert said == ("rawhal: a code object for gfx942 was not loaded: device 0 is gfx90a:sramecc+:xnack-: processor: object gfx942, "
                "device gfx90a:sramecc+:xnack-\n") and status == 1, (said, out)


# Where an address is all that is known: the argument of what runs that leads nearest to it. The program's handler is
# called afterwards, and the runtime ends the program where there is none.
# What has ended, and has been given other kernargs since, is known where queues have proxies.
for state, *options in (("handled",), ("handled", "--gpu-share", "90%"), ("ended", "--gpu-share", "90%")):
    said, out, status = run("", "--faults", "json", *options, command=(event, code_object, state))
    assert (out.startswith("event 0\ndone\n"), status) == (True, 0), (out, status)
    fault, first = causes_of(said)
    assert fault["packet"] is None and fault["status"] is None and fault["bytes"] == 0, fault
    assert (first["kind"], first["argument_name"], first["offset"], first["packet"]) == (
        "out of bounds", "flag", 1 << 20, 0), fault
said, out, status = run("", command=(event, code_object, "unhandled"))
assert status == -signal.SIGABRT and "Memory access fault by GPU node-1" in out, (out, status)
assert re.search(r"causes\n  1\. +\d+ %  out of bounds: kernel 'wait_for' of packet 0: just past the end of argument 0 'flag'", said), said

# For people, which is the default, where nothing else is asked for; and off.
GOLDEN = re.compile(r"""rawhal: memory access fault in kernel '_Z8store_atPjlj'
  dispatch .*packet \d+ of queue \d+
  runtime      status 0x[0-9a-f]+
  access       (?:write|access) of 4 bytes at 0x[0-9a-f]+
  work-item    lane 0 of wave 0 of work-group 0,0,0(; lanes 0x1, 1 in all)?
  instruction  pc 0x[0-9a-f]+ \(entry\+\d+\): 0x[0-9a-f]{8} 0x[0-9a-f]{8}, 0x[0-9a-f]+ in the code object
  device       .*
causes
  1\. +\d+ %  out of bounds: one element past the end of argument 0.* \(4096 bytes, offset 4096\)
(  \d\. .*\n)*""")
said, out, status = run("past_the_end")
assert GOLDEN.fullmatch(said) and status == -signal.SIGABRT, (said, out)

# A core file of it, for debuggers and for rawhal core.
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
with tempfile.TemporaryDirectory() as folder:
    for name, *options in (("past_the_end",), ("grid", "--gpu-share", "90%")):
        core = os.path.join(folder, name)
        said, out, status = run(name, *options, RAWHAL_CORE=core, RAWHAL_CORE_PER_HOUR="0")
        assert f"core file {core}: " in said, said
        shown = json.loads(subprocess.run([rawhal, "core", "show", "--json", core], capture_output=True, check=True).stdout)
        # Behind a proxy what the runtime's own kernel filled the buffer with is known, too, though it has ended.
        outcomes = [dispatch["outcome"] for dispatch in shown["dispatches"]]
        assert shown["fault"]["causes"] and outcomes == (["failed", "done", "done"] if len(shown["objects"]) > 1 else ["failed"]), shown
        assert len(shown["objects"]) == (2 if options else 1), shown
        assert [wave["stopped"] for wave in shown["waves"] if wave["pc"] == shown["fault"]["pc"]], shown["waves"]
    assert run("past_the_end", "--faults", "off", RAWHAL_CORE=os.path.join(folder, "none"))[0] == ""
    assert sorted(name for name in os.listdir(folder) if name[0] != ".") == ["grid", "past_the_end"]
assert run("right") == ("", "done\n", 0)
