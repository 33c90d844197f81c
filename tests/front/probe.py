#!/usr/bin/env python3
"""Probes in a running program: probe.py RUNNER RAWHAL PROGRAM FIXTURES run|rules|clients|quota|verified|streams|unload|churn|leaves|fault|fork|observed|kill    PROGRAM: probed
or any program: probe.py RUNNER RAWHAL PROGRAM KINDS same [ARGUMENTS...]

The program's results are the same with probes and without; what they recorded is held against the grid, the device's count of
instructions and the addresses of the arguments. The files are read by what docs/recording.md says of them, not by rawhal."""
import collections
import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from child import signal_group
from probe_file import ACCESS, ACTIVE, ARRIVE, COUNT, PROBE, STOPPED, frames, read

RUNNER, RAWHAL, PROGRAM, FIXTURES, PART = sys.argv[1:6]


def run(*what, options=(), status=0, environment={}):
    command = [RUNNER, *([RAWHAL, "exec", *options, "--"] if options else []), PROGRAM, FIXTURES, *what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    assert done.returncode == status, (options, done)
    return done.stdout, done.stderr


def probed(errors):
    """Dispatches that were, and were not, and records that are lost."""
    return tuple(map(int, re.search(r"^rawhal: probe: .*: (\d+) dispatches probed, (\d+) not.*, (\d+) records lost$", errors, re.M).groups()))


def results(out):
    return [line for line in out.splitlines() if " ran" not in line]


def instructions(out):
    return {name: int(count) for name, count in re.findall(r"^(\w+) ran (\d+) instructions$", out, re.M)}


GROUPS_OF = {"vector_add": 16, "reduce": 4, "matmul": 4, "use_variables": 1}
WAVES_OF = {"vector_add": 16, "reduce": 16, "matmul": 16, "use_variables": 1}


def check_waves(dispatch):
    assert dispatch.all_waves == len(dispatch.waves) == WAVES_OF[dispatch.probe.kernel], dispatch.probe.kernel
    assert all(0 < wave.start <= wave.end for wave in dispatch.waves), dispatch.waves
    x, y, z = dispatch.groups()
    groups = collections.Counter((wave.x, wave.y, wave.z) for wave in dispatch.waves)
    each = len(dispatch.waves) // (x * y * z)
    assert groups == {(i, j, k): each for i in range(x) for j in range(y) for k in range(z)}, groups


def check_memory(dispatch):
    """Each lane's address is in memory that an argument led to."""
    points = {point.offset: point for point in dispatch.points(ACCESS)}
    assert len({start for start, _, _ in dispatch.allocations}) == len(dispatch.allocations), dispatch.allocations
    named = collections.defaultdict(list)
    for event in dispatch.events:
        point = points.get(event.offset)
        assert event.wave < len(dispatch.waves)
        if not point or point.source not in (1, 2):  # flat and global memory
            continue
        base = event.scalar[0] | event.scalar[1] << 32 if point.source == 2 else 0
        for lane in range(64):
            if event.execute >> lane & 1:
                address = (base + event.lanes[lane] + point.immediate0) & (1 << 64) - 1
                inside = [name for start, size, name in dispatch.allocations if start <= address < start + size]
                named[inside[0] if inside else ""].append((address, point.flags & 3, point.bytes))
    return named


def check_run(folder):
    bare, errors = run("run", "3")
    assert not errors, errors
    counted = instructions(bare)
    path = os.path.join(folder, "all")
    out, errors = run("run", "3", options=("--probe", "waves+blocks+edges+exec+memory+barriers,wait,buffer=2M", "-o", path))
    assert results(out) == results(bare), (out, bare)
    assert probed(errors) == (12, 3, 0), errors
    told = [line for line in errors.splitlines() if "is not probed" in line]
    assert told == ["rawhal: probe: empty is not probed: it is not given the address of its arguments"], errors
    assert "3 not (3 of kernels that cannot be probed)" in errors, errors
    made = read(path)
    assert [dispatch.probe.kernel for dispatch in made] == ["vector_add", "reduce", "matmul", "use_variables"] * 3
    for dispatch in made:
        kernel = dispatch.probe.kernel
        check_waves(dispatch)
        if counted:
            assert dispatch.instructions() == counted[kernel], (kernel, dispatch.instructions(), counted)
        assert dispatch.all_events == len(dispatch.events) and not dispatch.flags & STOPPED
        named = check_memory(dispatch)
        if kernel == "vector_add":
            start = [start for start, _, name in dispatch.allocations if name == "c"][0]
            assert sorted(named["c"]) == [(start + 4 * i, 2, 4) for i in range(1000)], named["c"][:9]
            assert len(named["a"]) == len(named["b"]) == 1000 and len(named) == 3, named.keys()
            entry = min(dispatch.points(ACTIVE), key=lambda point: point.offset)
            assert dispatch.counters[entry.counter] == 15 * 64 + 40, dispatch.counters
        if kernel == "reduce":
            assert len(named["values"]) == 1024 and len(named["sums"]) == 4 and len(named) == 2, named.keys()
            arrived = sum(event.offset in {point.offset for point in dispatch.points(ARRIVE)} for event in dispatch.events)
            assert arrived == 16 * 9, arrived
    shown = subprocess.run([RAWHAL, "probe", "show", path, "--json"], capture_output=True, text=True)
    assert shown.returncode == 0 and json.loads(shown.stdout) and "vector_add" in shown.stdout, shown
    # The device's own records of the same kernels, whose code is not changed.
    path = os.path.join(folder, "softgpu")
    out, errors = run("run", "3", options=("--probe", "waves+blocks+edges+exec+memory+barriers,wait,buffer=2M,by=softgpu", "-o", path))
    assert out == bare and probed(errors)[::2] == (12, 0), errors
    for mine, its in zip(made, read(path)):
        assert (mine.probe.kernel, mine.probe.points, mine.counters) == (its.probe.kernel, its.probe.points, its.counters), mine.probe.kernel
        assert (mine.probe.maker, its.probe.maker) == (0, 1) and mine.all_waves == its.all_waves, its.probe
        accesses = [sorted((event.execute, event.offset) for event in dispatch.events) for dispatch in (mine, its)]
        assert accesses[0] == accesses[1], mine.probe.kernel
        sizes = [{name: sorted(a - starts[name] for a, _, _ in found) for name, found in check_memory(dispatch).items()
                  if name in starts}
                 for dispatch in (mine, its)
                 for starts in [{name: start for start, _, name in dispatch.allocations if name}]]
        assert sizes[0] == sizes[1], mine.probe.kernel
    # Registers: the work-item's number is in the first of the vector's.
    path = os.path.join(folder, "values")
    _, errors = run("run", "6", options=("--probe", "values,value=v0@0,wait,kernel=[vrm]*", "-o", path))
    assert probed(errors) == (18, 0, 0), errors
    for dispatch in read(path):
        lanes = sorted(event.lanes for event in dispatch.events)
        assert dispatch.probe.kernel != "vector_add" or lanes == [(*range(40), *[0] * 24)] + [tuple(range(64))] * 15, lanes
    # What an operator does not want to have recorded.
    path, policy = os.path.join(folder, "policy"), os.path.join(folder, "policy.json")
    with open(policy, "w") as file:
        json.dump({"version": 1, "rules": [{"kernel": "matmul", "record": False}]}, file)
    _, errors = run("run", "2", options=("--probe", "waves,wait,kernel=*m*", "-o", path, "--policy", policy))
    assert probed(errors) == (0, 4, 0), errors
    assert "4 not (2 of kernels that cannot be probed, 2 of kernels that the policy does not record)" in errors, errors
    # Too small a buffer: what is lost is counted exactly, and the rest is there.
    whole = {dispatch.probe.kernel: dispatch.all_events for dispatch in made}
    path = os.path.join(folder, "small")
    out, errors = run("run", "1", options=("--probe", "memory,wait,buffer=16K", "-o", path))
    kept = read(path)
    lost = sum(dispatch.all_events - len(dispatch.events) + dispatch.all_waves - len(dispatch.waves) for dispatch in kept)
    assert results(out) == results(bare)[:len(results(out))] and lost > 0 and probed(errors) == (4, 1, lost), (errors, lost)
    assert all(dispatch.all_events < whole[dispatch.probe.kernel] or dispatch.probe.kernel in ("vector_add", "use_variables")
               for dispatch in kept)
    # More waves than half of it has room for: events have the other half.
    path = os.path.join(folder, "large")
    _, errors = run("large", options=("--probe", "waves+memory,wait,buffer=16K", "-o", path))
    dispatch, = read(path)
    lost = dispatch.all_events - len(dispatch.events) + dispatch.all_waves - len(dispatch.waves)
    assert dispatch.all_waves == 200 and 100 < len(dispatch.waves) < 128 and len(dispatch.events) > 12, errors
    assert probed(errors) == (1, 0, lost), (errors, lost)
    # Limits, checks, a trace, a recording beside.
    path, trace = os.path.join(folder, "beside"), os.path.join(folder, "trace")
    out, errors = run("run", "2", options=("--probe", "blocks,wait", "-o", path, "--gpu-share", "80%", "--memory", "1G", "--check=refuse",
                                           "--trace", trace, "--record", os.path.join(folder, "recording"), "--record-buffers"))
    assert results(out) == results(bare)[:len(results(out))] and probed(errors) == (8, 2, 0), errors
    assert "checked 10, unknown 0, mistaken 0" in errors and "recorded 10 of 10" in errors, errors
    assert '"vector_add"' in open(trace).read() and len(read(path)) == 8
    # A replaced kernel is not probed.
    path = os.path.join(folder, "replaced")
    co = os.path.join(FIXTURES, "vector_add-gfx90a-v4.co")
    out, errors = run("run", "2", options=("--probe", "waves,wait,kernel=vector_add", "-o", path, "--substitute", f"vector_add={co}"))
    assert results(out) == results(bare)[:len(results(out))] and probed(errors) == (0, 2, 0), errors
    assert "2 not (2 of replaced kernels)" in errors, errors
    # The cache of outcomes.
    cache = os.path.join(folder, "cache")
    for known in (False, True):
        path = os.path.join(folder, f"cached {known}")
        _, errors = run("run", "1", options=("--probe", "waves,wait", "-o", path, "--substitute-cache", cache))
        assert probed(errors) == (4, 1, 0) and ("(known from before)" in errors) == known, errors
    # A file that ends: the program does not.
    path = os.path.join(folder, "ends")
    out, errors = run("run", "3", options=("--probe", "memory,wait", "-o", path, "--probe-bytes", "64K"))
    assert results(out) == results(bare) and os.path.getsize(path) <= 64 << 10, errors
    yes, no, lost = probed(errors)
    made = read(path)
    assert (yes, no) == (len(made), 15 - len(made)) and "after the end of the file" in errors, (len(made), errors)
    assert lost == sum(one.all_waves - len(one.waves) + one.all_events - len(one.events) for one in made), (lost, errors)


def check_rules(folder):
    """What rules leave out, and the first that matches."""
    bare, _ = run("run", "3")
    for rule, kernels, counts in [
            ("blocks,wait,kernel=*reduce*", ["reduce"] * 3, (3, 0, 0)),
            ("waves,wait,first=1", ["vector_add", "reduce", "matmul", "use_variables"], (4, 11, 0)),
            ("waves,wait,sample=1/2,kernel=matmul", ["matmul"] * 2, (2, 1, 0)),
            ("waves,wait,skip=1,kernel=matmul", ["matmul"] * 2, (2, 1, 0)),
            ("waves,wait,skip=1,sample=1/2,kernel=matmul", ["matmul"], (1, 2, 0)),
            ("waves,wait,skip=1,first=1,kernel=matmul", ["matmul"], (1, 2, 0)),
            ("waves,wait,grid>=1001", ["reduce", "matmul"] * 3, (6, 9, 0)),
            ("waves,wait,grid<=999,kernel=[!e]*", ["use_variables"] * 3, (3, 9, 0)),
            ("waves,wait,queue=12345", [], (0, 15, 0)),
            ("waves,wait,after=1000s", [], (0, 15, 0)),
            ("waves,wait,until=0s", [], (0, 15, 0)),
            ("waves,wait,after=0s,until=1000s,kernel=matmul", ["matmul"] * 3, (3, 0, 0))]:
        path = os.path.join(folder, "rule")
        out, errors = run("run", "3", options=("--probe", rule, "-o", path))
        assert results(out) == results(bare) and probed(errors) == counts, (rule, errors)
        assert [dispatch.probe.kernel for dispatch in read(path)] == kernels, rule
        os.remove(path)


def check_clients(folder):
    """A rule is of some programs, or of a tenant's; in others it is none."""
    path, name = os.path.join(folder, "client"), os.path.basename(PROGRAM)
    for client, tenant, is_own in [(name, "", True), (PROGRAM, "", True), ("*robed", "", True), ("bl*", "blue", True),
                                   ("sh", "", False), ("blue", "red", False), ("blue", "", False), (name + "/", "", False)]:
        rules = "--probe", f"waves,wait,kernel=reduce,client={client}", "--probe", "waves,wait,kernel=[rm]*"
        _, errors = run("run", "1", options=(*rules, "-o", path), environment={"RAWHAL_TENANT": tenant} if tenant else {})
        assert [dispatch.probe.kernel for dispatch in read(path)] == ["reduce", "matmul"], errors
        assert ("client=" in errors) == is_own, (client, tenant, errors)
        os.remove(path)
    # None is left: nothing is probed, and no file made.
    _, errors = run("run", "1", options=("--probe", "waves,client=other", "-o", path))
    assert not errors and not os.path.exists(path), errors
    # The program that is started is another.
    done = subprocess.run([RUNNER, RAWHAL, "exec", "--probe", f"waves,wait,client={name}", "-o", path, "--", "sh", "-c",
                           '"$@" && true', "sh", PROGRAM, FIXTURES, "run", "1"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and probed(done.stderr) == (4, 1, 0) and len(read(path)) == 4, done


def check_quota(folder):
    """The code of copies is charged to the device's quota; records are in the host's memory. A program that has all of its
    quota runs as without, and nothing is probed."""
    bare, _ = run("run", "1")
    path, fits = os.path.join(folder, "quota"), 1 << 20

    def runs(quota, *options):
        command = [RUNNER, RAWHAL, "exec", "--memory", str(quota), *options, "--", PROGRAM, FIXTURES, "run", "1"]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    _, errors = run("run", "1", options=("--memory", str(fits), "--probe", "waves+memory,wait,buffer=64M", "-o", path))
    assert probed(errors) == (4, 1, 0), errors
    os.remove(path)
    for bit in reversed(range(12, 20)):
        if runs(fits - (1 << bit)).returncode == 0:
            fits -= 1 << bit
    done = runs(fits, "--probe", "waves+memory,wait", "-o", path)
    assert results(done.stdout) == results(bare) and probed(done.stderr) == (0, 5, 0), done
    assert done.stderr.count("is not probed: the runtime does not load the kernel (0x1008)") == 4, done


def check_verified(folder):
    """Only copies that are known to do the same are used; nothing else about a program depends on it."""
    bare, _ = run("run", "1")
    recording, certificates, path = (os.path.join(folder, name) for name in ("recording", "certificates", "seen"))
    run("run", "1", options=("--record", recording, "--record-buffers"))
    done = subprocess.run([RAWHAL, "probe", "verify", "--recording", recording, "--device", "softgpu", "-o", certificates],
                          capture_output=True, text=True, timeout=120)
    names = [name for name in os.listdir(certificates) if name.endswith(".json")]
    assert done.returncode == 1 and len(names) == 4 and "4 of 5 kernels" in done.stdout and "1 cannot be probed" in done.stdout, done

    def look(rule, counts, *told, options=(), environment={}):
        out, errors = run("run", "1", options=("--probe", rule, "-o", path, *options), environment=environment)
        assert results(out) == results(bare) and probed(errors) == counts and all(text in errors for text in told), (rule, told, errors)
        os.remove(path)

    unverified = "of kernels whose copies have no certificate"
    look(f"waves+blocks,wait,verified={certificates}", (4, 1, 0), "1 not (1 of kernels that cannot be probed)")
    look(f"waves,wait,verified={certificates}", (0, 5, 0), f"5 not (1 of kernels that cannot be probed, 4 {unverified})",
         f"probe: matmul is not probed: its copy has no certificate: cannot open {certificates}/")
    # What was refused for want of a certificate may have one later.
    cache, empty = os.path.join(folder, "cache"), os.path.join(folder, "empty")
    os.mkdir(empty)
    look(f"waves+blocks,wait,verified={empty}", (0, 5, 0), f"4 {unverified}", options=("--substitute-cache", cache))
    look(f"waves+blocks,wait,verified={certificates}", (4, 1, 0), options=("--substitute-cache", cache))
    # One file, of one kernel; and others that are not quite.
    file, = (name for name in names if json.load(open(os.path.join(certificates, name)))["kernel"] == "vector_add")
    file = os.path.join(certificates, file)
    look(f"waves+blocks,wait,kernel=[vm]*,verified={file}", (1, 1, 0), f"1 not (1 {unverified})", "it is of another kernel")
    good = open(file).read()
    other = os.path.join(folder, "other")
    digit = json.loads(good)["copy"][0]
    for change, why in [
            (lambda text: text.replace("certificate-1", "certificate-2"), 'its "schema" is not'),
            (lambda text: text.replace('"copy": "' + digit, '"copy": "' + ("0" if digit != "0" else "1")), "it is of another copy"),
            (lambda text: text.replace("gfx90a:sramecc+:xnack-", "gfx942:sramecc+:xnack-"), "it is of another device"),
            (lambda text: text.replace("true", "false"), "it is of hardware where this is software"),
            (lambda text: text.replace('"blocks"', '"edges"'), "it is of other kinds of probes"),
            (lambda text: text.replace('"bytes"', '"more": 1, "bytes"'), "members that are none of its"),
            (lambda text: text[:len(text) // 2], "line"),
            (lambda text: "", "line"),
            (lambda text: text + " " * (1 << 20), "more than")]:
        with open(other, "w") as out:
            out.write(change(good))
        look(f"waves+blocks,wait,kernel=vector_add,verified={other}", (0, 1, 0), f"1 not (1 {unverified})", why)
    os.remove(other)
    os.mkfifo(other)
    look(f"waves+blocks,wait,kernel=vector_add,verified={other}", (0, 1, 0), "is not a regular file")
    # A path is from where the command is; what is not there is told before the program starts.
    command = [RUNNER, RAWHAL, "exec", "--probe", "waves+blocks,wait,verified=certificates,kernel=[!e]*", "-o", path, "--"]
    done = subprocess.run([*command, "sh", "-c", 'cd / && exec "$@"', "sh", PROGRAM, FIXTURES, "run", "1"], capture_output=True,
                          text=True, timeout=120, cwd=folder)
    assert done.returncode == 0 and probed(done.stderr) == (4, 0, 0), done
    os.remove(path)
    done = subprocess.run([*command[:4], "waves,verified=nothing", *command[5:], PROGRAM, FIXTURES, "run", "1"], capture_output=True,
                          text=True, timeout=120, cwd=folder)
    assert done.returncode == 3 and not done.stdout and "nothing': No such file" in done.stderr, done
    # What is gone when the program begins, or a child of its, changes nothing.
    done = subprocess.run([*command, "sh", "-c", 'rm -r certificates && exec "$@"', "sh", PROGRAM, FIXTURES, "run", "1"],
                          capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == 0 and results(done.stdout) == results(bare) and probed(done.stderr) == (0, 4, 0), done


def check_streams(folder):
    """Sixteen threads and queues, which do not wait for the copy."""
    path, launches = os.path.join(folder, "streams"), 16 * 200
    for rule in ("waves+blocks", "waves+blocks,wait,buffer=64K", "memory,buffer=256K"):
        out, errors = run("streams", "16", "200", options=("--probe", rule, "-o", path))
        yes, no, lost = probed(errors)
        assert out == "right\n" and yes + no == launches and (yes or "wait" not in rule), (out, errors)
        made = read(path)
        assert len(made) == yes and all(dispatch.all_waves == 1 for dispatch in made) and lost == 0, (len(made), errors)
        assert len({dispatch.counters for dispatch in made}) <= 1
        os.remove(path)


def check_unload(folder):
    """Code that is unloaded while it runs: what runs is the copy, which stays until then."""
    path = os.path.join(folder, "unload")
    rounds = 24  # and no copies of what has gone: there is no memory for so many
    out, errors = run("unload", str(rounds), options=("--probe", "waves,wait", "-o", path, "--memory", "160K"))
    assert out == "63\n" * rounds and probed(errors) == (rounds, 0, 0), (out, errors)
    assert [dispatch.probe.kernel for dispatch in read(path)] == ["waits"] * rounds
    assert [kind for kind, _ in frames(path)].count(PROBE) == rounds  # each load has a copy of its own


def check_churn(folder):
    """Sixteen threads that each load code, launch it, and unload it when it has ended, while the others' runs."""
    path, launches = os.path.join(folder, "churn"), 8 * 4
    for rule in ("waves+blocks,wait", "memory"):
        out, errors = run("churn", "8", "4", options=("--probe", rule, "-o", path))
        yes, no, lost = probed(errors)
        assert out == "right\n" and yes + no == launches and not lost and (not no or "wait" not in rule), (out, errors)
        made = read(path)
        assert len(made) == yes and not any(dispatch.flags & STOPPED for dispatch in made), errors
        os.remove(path)


def check_leaves(folder):
    """A program that ends with probed dispatches on their way: none is counted that is not written, and none is half."""
    for how in ("returns", "destroys", "shuts", "at-once"):
        path = os.path.join(folder, how)
        out, errors = run("leaves", how, options=("--probe", "waves+memory,wait", "-o", path))
        made = read(path)
        assert not out and len(made) <= 16, (out, errors)
        if how != "at-once":
            assert probed(errors)[:2] == (16, 0) and (how == "shuts" or len(made) == 16), (how, len(made), errors)
        for dispatch in made:
            ended = not dispatch.flags & STOPPED
            assert not ended or dispatch.all_waves == len(dispatch.waves) == 1 and dispatch.waves[0].end, (how, dispatch)


def check_fault(folder):
    """What stops a dispatch stops it with probes, too, and is told of the kernel by its name."""
    bare, _ = run("fault", "3")
    path = os.path.join(folder, "fault")
    out, errors = run("fault", "3", options=("--probe", "waves+memory,wait,buffer=1M", "-o", path))
    assert results(out) == results(bare) and probed(errors) == (4, 0, 0), (out, errors)
    place = r"in kernel 'fault_store'(?:\n  .*)+\n  instruction .*(\(entry\+\d+\): \S+ \S+ \S+ in the code object)"
    _, told = run("fault", options=("--faults", "text"))
    assert re.search(place, errors)[1] == re.search(place, told)[1], (errors, told)
    assert "in its copy with probes: packet" in errors and "copy" not in told, (errors, told)
    made = read(path)
    assert [dispatch.probe.kernel for dispatch in made] == ["fault_store"] * 4 and made[0].flags & STOPPED, made
    assert [wave.end for wave in made[0].waves] == [0] and len(made[0].events) == 1, made[0].waves
    for dispatch in made[1:]:  # as if there had been none before
        assert not dispatch.flags & STOPPED and dispatch.all_waves == dispatch.all_events == 1 and dispatch.waves[0].end, made
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    core = os.path.join(folder, "core")
    _, errors = run("fault", options=("--faults", "text", "--probe", "waves,wait", "-o", path + "2"),
        environment={"RAWHAL_CORE": core, "RAWHAL_CORE_PER_HOUR": "1000"})
    if "no core file: RLIMIT_CORE is 0" in errors:  # as sanitizers have it
        return
    shown = subprocess.run([RAWHAL, "core", "show", core], capture_output=True, text=True)
    assert re.search(r"memory violation +fault_store\+0x", shown.stdout), shown
    assert re.search(place, shown.stdout)[1] == re.search(place, told)[1], (shown, told)


def check_fork(folder):
    path = os.path.join(folder, "fork")
    out, errors = run("fork", options=("--probe", "waves,wait", "-o", path))
    assert "children 0 7\n" in out, (out, errors)
    names = sorted(os.listdir(folder))
    assert len(names) == 2 and names[0] == "fork" and names[1].startswith("fork."), names
    assert sorted(len(read(os.path.join(folder, name))) for name in names) == [8, 12], errors


@contextlib.contextmanager
def waiting(path, *options):
    """A program that has launched each kernel once, and waits until it is killed."""
    command = [RUNNER, RAWHAL, "exec", *options, "-o", path, "--", PROGRAM, FIXTURES, "waits"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True)
    try:
        while process.stdout.readline() != "ready\n":
            assert process.poll() is None
        yield process
    finally:
        signal_group(process.pid, signal.SIGKILL)
        process.wait()


def check_observed(folder):
    """Who looks from outside sees what the program has launched, and how it ran."""
    co = os.path.join(FIXTURES, "vector_add-gfx90a-v5.co")
    with waiting(os.path.join(folder, "observed"), "--probe", "waves,wait,kernel=[rw]*", "--substitute", f"vector_add={co}") as process:
        pid = running(process.pid)
        lines = subprocess.run([RAWHAL, "events", "--list", "--json", pid], capture_output=True, text=True, timeout=60).stdout
        kernels = [event for event in map(json.loads, lines.splitlines()) if event["event"] == "kernel"]
        own = {event["text"]: event for event in kernels if "instead" not in event}
        instead = {(event["text"], event["instead"], event["instead_of"], event["id"]) for event in kernels if "instead" in event}
        assert set(own) == {"vector_add", "reduce", "matmul", "use_variables", "empty", "waits"}, lines
        assert instead == {(name, how, own[name]["kernel_object"], own[name]["id"])
                           for name, how in [("vector_add", "substitute"), ("reduce", "probed"), ("waits", "probed")]}, lines
        shown = subprocess.run([RAWHAL, "attach", pid], capture_output=True, text=True, timeout=60).stdout
        assert re.search(r" vector_add \(substitute\)$", shown, re.M) and re.search(r" waits \(probed\)$", shown, re.M), shown
        assert re.search(r" matmul$", shown, re.M) and "\n6 kernels," in shown, shown
    done = subprocess.run([RUNNER, RAWHAL, "exec", "--probe", "waves,wait,kernel=[rm]*", "-o", os.path.join(folder, "live"), "--", RAWHAL,
                           "events", "--json", "--types", "submit", "--", PROGRAM, FIXTURES, "run", "1"],
                          capture_output=True, text=True, timeout=60)
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [(event["kernel"], event.get("instead")) for event in events] == [
        ("vector_add", None), ("reduce", "probed"), ("matmul", "probed"), ("use_variables", None), ("empty", None)], done


def running(pid):
    """The process of the program, which has replaced the one that started it, or is a child of that."""
    while True:
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
        if not children:
            return str(pid)
        pid = children[0]


def check_kill(folder):
    """What was written before is whole."""
    path = os.path.join(folder, "kill")
    with waiting(path, "--probe", "waves+memory,wait") as process:
        while len(read(path)) < 4:
            assert process.poll() is None
    made = read(path)
    assert [dispatch.probe.kernel for dispatch in made] == ["vector_add", "reduce", "matmul", "use_variables"], made
    for dispatch in made:
        check_waves(dispatch)


def check_same(folder):
    """A program of HIP's ends as without and says the same, but for times, in whatever order."""
    path = os.path.join(folder, "same")
    said, errors = [], ""
    for options in ([], [RAWHAL, "exec", "--probe", FIXTURES + ",wait", "-o", path, "--"]):
        done = subprocess.run([RUNNER, *options, PROGRAM, *sys.argv[6:]], capture_output=True, text=True, timeout=280)
        if "[  SKIPPED ]" in done.stdout:
            print(f"skipped: {done.stdout}")
            sys.exit(77)
        text = re.sub(r"\(\d+ ms( total)?\)|0x[0-9a-f]+", "", done.stdout)
        said.append((done.returncode, sorted(text.splitlines())))
        errors = done.stderr
    assert said[0] == said[1], (said, errors)
    yes, no, lost = probed(errors)
    assert yes > 0 and len(read(path)) == yes and not lost, errors
    refused = re.search(r"(\d+) of kernels that cannot be probed", errors)
    assert no == (int(refused[1]) if refused else 0), errors


with tempfile.TemporaryDirectory() as place:
    globals()[f"check_{PART}"](place)
