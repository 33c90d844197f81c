#!/usr/bin/env python3
"""Someone else's probes in a running program.

usage: probe_engine.py RUNNER RAWHAL PROGRAM FIXTURES EXAMPLES run|share|ends|hostile|streams    PROGRAM: probed

Exit status 77: there is no clang with an ld.lld of its version. The example of examples/ is run as it is; hostile engines are
scripts that begin with what it has made."""
import collections
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

RUNNER, RAWHAL, PROGRAM, FIXTURES, EXAMPLES, PART = sys.argv[1:]
EXAMPLE = os.path.join(EXAMPLES, "probe_engine.py")
Dispatch = collections.namedtuple("Dispatch", "kernel grid workgroup ended maps")
try:  # which apt needs
    XXH3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
    XXH3.restype, XXH3.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
except OSError:
    XXH3 = None
OWN = 17  # the example's instructions, a wave
# Waves, lanes, and waves of each work-group; of a grid of two dimensions all are the first's.
COUNTS = {"vector_add": (16, 1000, [1] * 16), "reduce": (16, 1024, [4] * 4), "matmul": (16, 1024, [16, 0, 0, 0])}


def read(path):
    """As docs/probe-engine.md has it. What is torn, as by a process that was killed, is left out."""
    data = open(path, "rb").read()
    assert struct.unpack_from("<8sII8xQ", data) == (b"rawhalMP", 0x01020304, 1, 0), data[:32]
    at, made = 32, []
    while at + 96 <= len(data) and at + struct.unpack_from("<Q", data, at)[0] <= len(data):
        size, check, number, _, start, end, _, _, *shape = struct.unpack_from("<8Q8I", data, at)
        assert number == len(made) + 1 and size % 8 == 0 and start <= end
        maps, whole = {}, data[at:at + size]
        for i in range(shape[6]):
            name, rows, capacity, record, level, offset, length = struct.unpack_from("<64sQQIIQQ", data, at + 96 + 104 * i)
            assert length == rows * capacity * record and offset + length <= size and offset % 8 == 0
            maps[name.rstrip(b"\0").decode()] = rows, level, whole[offset:offset + length]
            if i == 0:
                summed = whole[16:offset]
                found = XXH3 and XXH3(summed, len(summed), 0)
            found = XXH3 and XXH3(whole[offset:offset + length], length, found)
        assert found == (XXH3 and check), (found, check)
        name = at + 96 + 104 * shape[6]
        made.append(Dispatch(data[name:name + shape[7]].decode(), shape[:3], shape[3:6], end != 0, maps))
        at += size
    return made


def check_counts(dispatch):
    rows, level, counts = dispatch.maps["counts"]
    groups = dispatch.maps["groups"]
    waves, lanes, each = COUNTS[dispatch.kernel]
    assert (rows, level) == (1, 0) and struct.unpack("<QQ", counts) == (waves, lanes), (dispatch.kernel, counts)
    assert groups[:2] == (len(each), 1) and list(struct.unpack(f"<{len(each)}Q", groups[2])) == each, (dispatch.kernel, groups)
    assert dispatch.ended


def command(*what, options=()):
    return [RUNNER, *([RAWHAL, "exec", *options, "--"] if options else []), PROGRAM, *what]


def run(*what, options=()):
    """With a descriptor that children inherit."""
    with open("/dev/null") as inherited:
        done = subprocess.run(command(*what, options=options), capture_output=True, text=True, timeout=250,
                              pass_fds=[inherited.fileno()])
    assert done.returncode == 0, (options, done)
    return done.stdout, done.stderr


def probed(errors):
    """Dispatches that were, and were not, of each rule; and what it says of those."""
    found = re.findall(r"^rawhal: probe: .*: (\d+) dispatches probed, (\d+) not(?: \((.*)\))?, \d+ records lost$", errors, re.M)
    return [(int(yes), int(no), why) for yes, no, why in found]


def refusals(errors):
    return dict(re.findall(r"^rawhal: probe: (\S+) is not probed: (.*)$", errors, re.M))


def results(out):
    return [line for line in out.splitlines() if " ran" not in line]


def instructions(out):
    return {name: int(count) for name, count in re.findall(r"^(\w+) ran (\d+) instructions$", out, re.M)}


def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)
    return path


def counting(folder):
    """The example, and a file with a line for each time that it was started."""
    started = os.path.join(folder, "started")
    return script(folder, "counting", f"echo \"$(cat \"$1/name\")\" >> {started}\nexec {EXAMPLE} \"$1\""), started


def lines(path):
    return sorted(open(path).read().split()) if os.path.exists(path) else []


def check_run(folder):
    bare, _ = run(FIXTURES, "run", "3")
    engine, started = counting(folder)
    work, cache, told = (os.path.join(folder, name) for name in ("work", "cache", "told"))
    callback = script(folder, "callback", f"echo \"$1\" >> {told}; env | grep -c RAWHAL_PROBE; ls /proc/self/fd | tail -1")
    options = ("--probe-engine", engine + ",wait,limit=100s", "--probe-folder", work, "--probe-callback", callback)
    for turn in range(2):
        out, errors = run(FIXTURES, "run", "3", options=(*options, "--substitute-cache", cache))
        assert results(out) == results(bare), (out, bare)
        assert probed(errors) == [(9, 6, "6 of kernels that cannot be probed")], errors
        said = refusals(errors)
        assert said.keys() == {"use_variables", "empty"}, errors
        for text in said.values():
            assert "declines it" in text and ("(known from before)" in text) == (turn == 1), errors
        counted = instructions(bare)
        if counted:
            assert instructions(out) == {name: count + OWN * (COUNTS[name][0] if name in COUNTS else 0)
                                         for name, count in counted.items()}, (out, bare)
        paths = open(told).read().split()
        assert len(paths) == turn + 1 and re.fullmatch(r"trace\.\d+" if turn else "trace", os.path.basename(paths[turn])), paths
        made = read(paths[turn])
        assert [dispatch.kernel for dispatch in made] == ["vector_add", "reduce", "matmul"] * 3, made
        for dispatch in made:
            check_counts(dispatch)
    assert lines(started) == sorted(["vector_add", "reduce", "matmul", "use_variables", "empty"]), lines(started)
    # By variables, with names in the folder that the program begins in.
    environment = {**os.environ, "RAWHAL_PROBE_ENGINE": "counting,wait,limit=100s", "RAWHAL_PROBE_FOLDER": "work",
                   "RAWHAL_PROBE_CALLBACK": "callback"}
    done = subprocess.run(command(FIXTURES, "run", "1", options=("--faults", "text")), capture_output=True, text=True, timeout=250,
                          env=environment, cwd=folder)
    assert done.returncode == 0 and len(open(told).read().split()) == 3 and "callback" not in done.stderr, done
    log = open(os.path.join(work, "callback.log")).read().split()
    assert log[:2] == ["0", "3"], log  # no variables of probes; descriptors but ls's own
    # Without waiting the original runs until there is a copy; what is limited, checked, traced and replaced is the program's.
    trace = os.path.join(folder, "times")
    out, errors = run(FIXTURES, "run", "3", options=(
        "--probe-engine", EXAMPLE, "--probe-folder", work, "--gpu-share", "60%", "--memory", "1G", "--check=refuse", "--trace", trace,
        "--probe", "blocks,kernel=reduce", "-o", os.path.join(folder, "blocks")))
    assert results(out) == results(bare) and sum(yes + no for yes, no, _ in probed(errors)) == 15, (out, errors)
    assert len(probed(errors)) == 2 and '"vector_add"' in open(trace).read(), errors
    check_little(folder, bare)


def check_little(folder, bare):
    """Maps for which there is no room, and a trace that is full; a kernel that stops."""
    wider = "s/\"capacity\": 1}]/\"capacity\": 64}]/"
    engine = script(folder, "wide", f"{EXAMPLE} \"$1\" && sed -i '{wider}' \"$1/manifest.json\"")
    for options, kept, why in (((engine + ",wait,limit=100s,buffer=4K", "1G"), 6, "3 for want of memory"),
                               ((EXAMPLE + ",wait,limit=100s", "1000"), 2, "after the end of the file")):
        work = os.path.join(folder, "little" + options[1])
        out, errors = run(FIXTURES, "run", "3", options=("--probe-engine", options[0], "--probe-folder", work, "--probe-bytes",
                                                         options[1]))
        assert results(out) == results(bare) and why in errors, errors
        (yes, no, _), = probed(errors)
        made = read(os.path.join(work, "trace"))
        assert yes + no == 15 and yes == kept == len(made), errors
        assert {dispatch.maps["groups"][0] for dispatch in made} <= {4, 16}, made
    work = os.path.join(folder, "fault")
    out, errors = run(FIXTURES, "fault", options=("--probe-engine", EXAMPLE + ",wait,limit=100s", "--probe-folder", work))
    assert out == run(FIXTURES, "fault")[0] and "memory access fault in kernel 'fault_store'" in errors, errors
    stopped, = read(os.path.join(work, "trace"))
    assert stopped.kernel == "fault_store" and not stopped.ended and stopped.maps["counts"][2][0] == 1, stopped


def check_share(folder):
    """Two processes, and a program that forks."""
    engine, started = counting(folder)
    work = os.path.join(folder, "work")
    options = ("--probe-engine", engine + ",wait,limit=100s", "--probe-folder", work)
    bare, _ = run(FIXTURES, "run", "2")
    both = [subprocess.Popen(command(FIXTURES, "run", "2", options=options), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True) for _ in range(2)]
    for process in both:
        out, errors = process.communicate(timeout=250)
        assert process.returncode == 0 and results(out) == results(bare) and probed(errors)[0][:2] == (6, 4), (out, errors)
    before = lines(started)
    out, errors = run(FIXTURES, "fork", options=options)
    assert "children 0 7\n" in out, (out, errors)
    assert [name for name in lines(started) if name in COUNTS] == [name for name in before if name in COUNTS], lines(started)
    traces = [os.path.join(work, name) for name in os.listdir(work) if name.startswith("trace")]
    assert sorted(len(read(path)) for path in traces) == [6, 6, 6, 9], traces
    for path in traces:
        for dispatch in read(path):
            check_counts(dispatch)


def is_gone(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def hang(folder, choose):
    """With an engine that starts another program, and hangs: it gets more time until it has. Both are gone then."""
    for turn in range(8):
        rule, rounds = choose(turn)
        pids = os.path.join(folder, "pids " + rule)
        engine = script(folder, "hangs",
                        f"echo $$ >> '{pids}'; sleep 3000 & echo $! >> '{pids}'; trap '' TERM; wait; sleep 3000")
        out, errors = run(FIXTURES, "run", str(rounds), options=("--probe-engine", f"{engine},{rule}", "--probe-folder",
                                                                 os.path.join(folder, rule)))
        assert results(out) == results(run(FIXTURES, "run", str(rounds))[0]), (out, errors)
        assert [counts[:2] for counts in probed(errors)] == [(0, 5 * rounds)], errors
        assert all(map(is_gone, lines(pids))), lines(pids)
        if len(lines(pids)) > 1:
            return errors
    raise AssertionError("nothing was started")


def check_ends(folder):
    """What hangs is ended by its limit, and by the program's end, with all that it has started."""
    said = refusals(hang(folder, lambda turn: (f"wait,limit={100 << turn}ms", 1)))
    assert all(" was ended after " in said[name] for name in COUNTS) and "3 times already" in said["empty"], said
    hang(folder, lambda turn: ("limit=1000s", 4 ** turn))
    # Where outcomes are kept it is tried five times.
    options = ("--probe-engine", script(folder, "fails", "exit 3") + ",wait,kernel=reduce", "--probe-folder", folder,
               "--substitute-cache", os.path.join(folder, "cache"))
    for turn in range(6):
        said = refusals(run(FIXTURES, "run", "1", options=options)[1])["reduce"]
        assert ("it did not end in 5 attempts" if turn == 5 else "ended with status 3") in said, (turn, said)


MAP = '{{"name": "{}", "level": "{}", "record_bytes": {}, "capacity": {}}}'
GOOD = MAP.format("a", "dispatch", 16, 1) + ", " + MAP.format("b", "work-group", 8, 1)


def manifest(text):
    return f"cat > $1/manifest.json <<'END'\n{text}\nEND"


def maps(*all_maps, version=1):
    return manifest(f'{{"version": {version}, "maps": [{", ".join(all_maps)}]}}')


WRONG = "manifest's map 0: expected a \"name\" of 1 to 63 bytes"
HOSTILE = [
    (manifest("maps"), "manifest's line 1"),
    (manifest(""), "manifest's line"),
    (maps(GOOD, version=2), "\"version\" is not 1"),
    (maps(), "1 to 16 \"maps\""),
    (manifest('{"version": 1, "maps": [' + GOOD + '], "variables": 0}'), "true or false, \"variables\" alone"),
    (maps(*[MAP.format("a", "item", 1, 1)] * 17), "1 to 16 \"maps\""),
    (maps(MAP.format("a", "item", 0, 1)), WRONG),
    (maps(MAP.format("a", "item", -8, 1)), WRONG),
    (maps(MAP.format("a", "item", 1 << 32, 1)), WRONG),
    (maps(MAP.format("a", "item", 1, 1 << 70)), "manifest's line"),
    (maps(MAP.format("a", "item", "1e3", 1)), WRONG),
    (maps(MAP.format("a", "lane", 1, 1)), WRONG),
    (maps(MAP.format("a" * 64, "item", 1, 1)), WRONG),
    (maps(MAP.format("a\\u0000b", "item", 1, 1)), "manifest's line"),
    (maps(MAP.format("a", "item", (1 << 32) - 1, (1 << 63) - 1)), "maps take more than the buffer"),
    (maps(MAP.format("a", "item", 8, 1 << 61), MAP.format("b", "item", 8, 1 << 61)), "maps take more than the buffer"),
    (maps(MAP.format("a", "dispatch", 1 << 26, 2)), "maps take more than the buffer"),
    (maps(GOOD.replace("}", ', "more": 1}', 1)), WRONG),
    (maps(MAP.format("a", "dispatch", 16, 1)), "takes 4 arguments, and 1 are appended"),
    ("rm $1/manifest.json", "manifest.json: No such file"),
    ("rm $1/manifest.json; mkdir $1/manifest.json", "is not a regular file"),
    ("rm $1/manifest.json; mkfifo $1/manifest.json", "is not a regular file"),
    ("head -c 70000 /dev/zero > $1/manifest.json", "has 70000 bytes"),
    ("rm $1/probed.bin", "probed.bin: No such file"),
    ("rm $1/probed.bin; mkfifo $1/probed.bin", "is not a regular file"),
    ("rm $1/probed.bin; ln -s /dev/zero $1/probed.bin", "is not a regular file"),
    ("head -c 300 $1/probed.bin > $1/b; mv $1/b $1/probed.bin", ""),
    ("head -c 3000 /dev/urandom > $1/probed.bin", ""),
    (": > $1/probed.bin", ""),
    ("printf '\\377\\377\\377\\377\\377\\377\\377\\177' | dd of=$1/probed.bin bs=1 seek=40 conv=notrunc", ""),
    (f"{sys.executable} - $1/probed.bin <<END\n" + """import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<Q", data, struct.unpack_from("<Q", data, 40)[0] + 64 + 32, 1 << 47)  # a section's size, of which the
open(sys.argv[1], "wb").write(data)  # runtime's loader does not think
END""", "cannot be loaded: a section lies outside of the file"),
    ("cp $1/original.bin $1/probed.bin", "and 2 are appended"),
    (f"cp {FIXTURES}/scratch-gfx90a-v5.co $1/probed.bin", "has no kernel"),
    (f"cp {FIXTURES}/vector_add-gfx942-v5.co $1/probed.bin", "gfx942"),
    ("kill -9 $$", "ended with signal 9"),
    ("exit 1", "ended with status 1"),
    ("exit 77", "declines it"),
    ("head -c 300000000 /dev/zero > $1/large || exit 5", "ended with status 5"),
]


def check_hostile(folder):
    """Three engines for each run of the program, one for each kernel of what the example has made."""
    bare, _ = run(FIXTURES, "run", "1")
    good = os.path.join(folder, "good")
    os.mkdir(good)
    keep = script(folder, "keep", f"{EXAMPLE} $1 && cp -r $1 {good}/$(cat $1/name)")
    run(FIXTURES, "run", "1", options=("--probe-engine", keep + ",wait,limit=100s", "--probe-folder", os.path.join(folder, "first")))
    kernels = sorted(os.listdir(good))
    assert kernels == ["matmul", "reduce", "vector_add"], kernels
    for first in range(0, len(HOSTILE), len(kernels)):
        options, expected = [], {}
        for kernel, (text, why) in zip(kernels, HOSTILE[first:]):
            engine = script(folder, f"{first}{kernel}",
                            f"cp {good}/{kernel}/probed.bin {good}/{kernel}/manifest.json $1\n{text}")
            options += ["--probe-engine", f"{engine},wait,limit=100s,kernel={kernel}"]
            expected[kernel] = why
        if first == 0:  # the interpreter is not there
            engine = script(folder, "no interpreter", "")
            open(engine, "w").write("#!/nothing/at/all\n")
            options += ["--probe-engine", engine + ",wait,kernel=empty"]
            expected["empty"] = "ended with status 127"
            engine = script(folder, "variables", f"cp {good}/reduce/probed.bin $1\n" + maps(GOOD))
            options += ["--probe-engine", engine + ",wait,kernel=use_variables"]
            expected["use_variables"] = "its code object has variables, which a copy does not share"
        out, errors = run(FIXTURES, "run", "1", options=(*options, "--probe-folder", os.path.join(folder, f"work{first}")))
        said = refusals(errors)
        assert out == bare and said.keys() == expected.keys(), (HOSTILE[first:first + 3], out, errors)
        for kernel, why in expected.items():
            why = why.replace("takes 4", "takes 2") if kernel == "reduce" else why
            assert why in said[kernel], (why, said[kernel])
        assert all(counts[:2] == (0, 1) for counts in probed(errors)), errors
        assert not read(os.path.join(folder, f"work{first}", "trace"))
    print(f"{len(HOSTILE) + 2} hostile engines")


def check_streams(folder):
    """Eight threads and queues, and each of their dispatches has maps of its own."""
    launches = 8 * 200
    out, errors = run(FIXTURES, "streams", "8", "200", options=("--probe-engine", EXAMPLE + ",wait,limit=100s,buffer=64K",
                                                                "--probe-folder", folder, "--gpu-share", "95%"))
    (yes, no, _), = probed(errors)
    made = read(os.path.join(folder, "trace"))
    assert out == "right\n" and (yes, no) == (launches, 0) and len(made) == yes, (out, errors)
    assert len({(tuple(dispatch.grid), dispatch.maps["counts"]) for dispatch in made}) == 1, made[0]


if not any(shutil.which("clang" + end) and shutil.which("ld.lld" + end) for end in ("", *(f"-{n}" for n in range(15, 23)))):
    print("skipped: there is no clang with an ld.lld of its version")
    sys.exit(77)
with tempfile.TemporaryDirectory() as place:
    {"run": check_run, "share": check_share, "ends": check_ends, "hostile": check_hostile, "streams": check_streams}[PART](place)
