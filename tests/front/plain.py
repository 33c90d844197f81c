#!/usr/bin/env python3
"""Dispatches of a program that uses HSA alone: plain.py RUNNER RAWHAL PROGRAM FIXTURES PART"""
import os, re, subprocess, sys, tempfile

runner, rawhal, program, fixtures = map(os.path.abspath, sys.argv[1:5])
one, other = (os.path.join(fixtures, f"vector_add-gfx90a-{version}.co") for version in ("v4", "v5"))


def run(part, *options, command=("exec",), path=one):
    done = subprocess.run([runner, rawhal, *command, *options, "--", program, path, part], capture_output=True,
                          text=True, timeout=120)
    return dict(line.rsplit(": ", 1) for line in done.stdout.splitlines()), done.stderr, done.returncode


def expect(what, become, count, said):
    lines, errors, status = what
    assert status == 0 and len(lines) == count and set(lines.values()) == {become} and re.search(said, errors), what


def try_kernargs(folder):
    count, wrong = 9, 9
    expect(run("kernargs", "--check=refuse"), "ran", count, f"^rawhal: check: checked {count}, unknown 0, mistaken 0\n$")
    # Of another layout: the kernargs are copied, too.
    expect(run("kernargs", "--substitute", f"vector_add={other}"), "ran", count,
           f"^rawhal: substitute: vector_add: {count} dispatches replaced, 0 not replaced\n$")
    recording = os.path.join(folder, "recording")
    expect(run("kernargs", "-o", recording, "--buffers", command=("record",)), "ran", count,
           f"^rawhal: record: recorded {count} of {count}\n$")
    for number in (3, 6):  # across pages; a device's
        subprocess.run([runner, rawhal, "replay", "--kernel", str(number), recording], check=True, timeout=120)
    what = run("mistakes", "--check=refuse")
    expect(what, "stopped", wrong, f"\nrawhal: check: checked {wrong}, unknown 0, mistaken {wrong}\n$")
    for words in ("which the device maps at 0x", "have 16 bytes to the end of their memory; it takes 28",
                  "that the device cannot access", "of 28 bytes, were unmapped",
                  "in memory that was freed .allocation [0-9]*, 8192 bytes of host memory",
                  "in memory that was freed .allocation [0-9]*, 4096 bytes of host memory",
                  "in another device's memory that this one was not given"):
        assert re.search(f"\nrawhal: a queue was stopped: vector_add: kernargs .*{words}", what[1]), (words, what[1])


# What is not known is not checked, recorded or replaced, and that is said; or does not run.
def try_unknown(folder):
    what = run("unknown", "--check=refuse")
    expect(what, "stopped", 3, "\nrawhal: check: checked 0, unknown 3, mistaken 0\n$")
    for words in (": code object [0-9a-f]{32} has no kernel there", " is of no code object that was seen being loaded",
                  "0 is of no code object"):
        assert re.search(f"\nrawhal: a queue was stopped: kernel 0x[0-9a-f]*{words}.*: it cannot be checked", "\n" + what[1]), words
    policy = os.path.join(folder, "policy")
    with open(policy, "w") as file:  # one of these may be any
        file.write('{"version": 1, "rules": [{"kernel": "some_other", "check": "refuse"}]}')
    expect(run("unknown", "--policy", policy), "stopped", 3, "\nrawhal: check: checked 0, unknown 3, mistaken 0\n$")
    # Without metadata nobody tells where the pointers are.
    blob = os.path.join(folder, "blob")
    with open(blob, "wb") as file:
        file.write(bytes(12))
    done = subprocess.run([runner, rawhal, "exec", "--check=refuse", "--", rawhal, "run",
                           os.path.join(fixtures, "bare-gfx90a-v5.co"), "--kernel", "bare_store", "--grid", "1", "--block",
                           "1", "--kernarg-size", "12", f"blob:{blob}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 3 and re.search(
        "^rawhal: a queue was stopped: bare_store: what arguments it takes is not known: it cannot be checked$",
        done.stderr, re.M), done
    # What its metadata says cannot be.
    damaged = os.path.join(folder, "damaged.co")
    with open(one, "rb") as file, open(damaged, "wb") as to:
        to.write(file.read().replace(b".wavefront_size\x40", b".wavefront_size\x41"))
    what = run("loads", "--check=refuse", path=damaged)
    assert set(what[0].values()) == {"stopped", "not loaded"}, what
    assert "vector_add: .wavefront_size 65 is neither 32 nor 64: it cannot be checked\n" in what[1], what
    recording = os.path.join(folder, "recording")
    what = run("unknown", "--check", "--substitute", f"vector_add={other}", "--record", recording)
    for line in ("check: queue [0-9]+: kernel 0x0 is of no code object .*: it is not checked",
                 "check: checked 0, unknown 3, mistaken 0",
                 "substitute: 3 dispatches of unknown kernels were not replaced",
                 "record: recorded 0 of 3"):
        assert re.search(f"^rawhal: {line}$", what[1], re.M), (line, what)


# Numbers that are no signals end a queue, as they do without the front; commands may launch kernels.
def try_packets(folder):
    def became(commands):
        return {"a barrier": "ran", "a barrier of no signal": "stopped", "any of none": "stopped", "a value's barrier": "ran",
                "commands": commands}
    os.environ["RAWHAL_GPU_SHARE"] = "0.1%"  # so that something is held back
    assert run("packets")[::2] == (became("ran"), 0)
    lines, errors, status = run("packets", "--check=refuse")
    assert (lines, status) == (became("stopped"), 0), (lines, errors, status)
    assert re.search("^rawhal: a queue was stopped: a packet of vendor format 1 may launch kernels: it cannot", errors,
                     re.M), errors
    lines, errors, status = run("packets", "--check")
    assert (lines, status) == (became("ran"), 0), (lines, errors, status)
    assert re.search("^rawhal: 1 packets of vendor formats ran", errors, re.M), errors


# What the runtime refuses is not done, and is refused in its own words.
def try_copies(folder):
    for options in (), ("--gpu-share", "100%"), ("--gpu-share", "50%"):
        lines, errors, status = run("copies", *options)
        assert status == 0 and len(lines) == 10 and set(lines.values()) == {"0x1006"}, (options, lines, errors, status)


# Each entry by which code can come in, and an executable get it, as the headers have them.
WAYS = re.compile(r"\bhsa_\w*(?:code_object_reader_create\w*|code_object_deserialize|executable_load\w*)\b")
HEADERS = "/usr/include/hsa/hsa.h", "/usr/include/hsa/hsa_ven_amd_loader.h"
NONE = {"hsa_executable_load_program_code_object"}  # ROCr loads no kernels by it


def try_loads(folder):
    lines = run("loads", "--check=refuse")[0]
    known = set().union(*(WAYS.findall(open(header).read()) for header in HEADERS if os.path.exists(header)))
    assert known <= {name for how in lines for name in how.split(", ")}, known
    for how, became in lines.items():
        assert became == ("not loaded" if NONE & set(how.split(", ")) else "ran"), (how, became)
    count = sum(became == "ran" for became in lines.values())
    assert run("loads", "--memory", "64M")[::2] == (lines, 0)  # where it is charged
    recording = os.path.join(folder, "recording")
    for options, command, said in (
            (("--check=refuse",), "exec", f"check: checked {count}, unknown 0, mistaken 0"),
            (("--substitute", f"vector_add={other}"), "exec",
             f"substitute: vector_add: {count} dispatches replaced, 0 not replaced"),
            (("-o", recording), "record", f"record: recorded {count} of {count}")):
        what = run("loads", *options, command=(command,))
        assert what == (lines, f"rawhal: {said}\n", 0), what


with tempfile.TemporaryDirectory() as work:
    {"kernargs": try_kernargs, "loads": try_loads, "unknown": try_unknown, "packets": try_packets,
     "copies": try_copies}[sys.argv[5]](work)
