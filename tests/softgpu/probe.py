#!/usr/bin/env python3
"""What softgpu records where SOFTGPU_PROBE says so: probe.py RUNNER RAWHAL PROGRAM FIXTURES PART    PROGRAM: front_probed

Nothing of the front is in these programs. Their records are held against those that the front has softgpu make, and against those
of probes in the code, by what docs/recording.md says of the files."""
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from child import signal_group
from probe_file import ACCESS, STOPPED, read

RUNNER, RAWHAL, PROGRAM, FIXTURES, PART = sys.argv[1:6]
ALL = "waves+blocks+edges+exec+memory+barriers"
KERNELS = ["vector_add", "reduce", "matmul", "use_variables"]  # and one that has no arguments
ONE_THREAD = {"SOFTGPU_THREADS": "1"}  # waves come in one order


def run(*what, environment={}, front=(), status=0):
    command = [RUNNER, *([RAWHAL, "exec", *front, "--"] if front else []), PROGRAM, FIXTURES, *what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    assert done.returncode == status, done
    return done.stdout, done.stderr


def by_softgpu(rule, path, *what, environment={}, **others):
    return run(*what, environment={"SOFTGPU_PROBE": rule, "SOFTGPU_PROBE_FILE": path, **environment}, **others)


def counts(errors, who="softgpu"):
    """Dispatches that were, and were not, and records that are lost."""
    return tuple(map(int, re.search(rf"^{who}: probe: .*: (\d+) dispatches probed, (\d+) not.*, (\d+) records lost$", errors, re.M).groups()))


def records(dispatch):
    """All but times, with addresses by the argument that led there; those of memory without a name are what it was given."""
    places = {point.offset: point for point in dispatch.points(ACCESS)}

    def event(one):
        point = places.get(one.offset)
        if not point or point.source not in (1, 2):  # barriers have the time; LDS, buffers
            return one.execute, one.offset, one.wave, point and (one.scalar, one.lanes)
        base = one.scalar[0] | one.scalar[1] << 32 if point.source == 2 else 0
        lanes = [(base + one.lanes[lane] + point.immediate0) & (1 << 64) - 1 for lane in range(64) if one.execute >> lane & 1]
        named = [[(name, lane - start) for start, size, name in dispatch.allocations if name and start <= lane < start + size]
                 for lane in lanes]
        return one.execute, one.offset, one.wave, named

    return (dispatch.probe, dispatch.grid, dispatch.workgroup, dispatch.flags, dispatch.counters, dispatch.all_waves,
            dispatch.all_events, [wave._replace(start=0, end=0) for wave in dispatch.waves],
            [event(one) for one in dispatch.events])


def check_same(folder):
    own, fronts = os.path.join(folder, "own"), os.path.join(folder, "front")
    bare, _ = run("run", "2")
    for reference in "01":
        environment = {**ONE_THREAD, "SOFTGPU_REFERENCE": reference}
        out, errors = by_softgpu(ALL, own, "run", "2", environment=environment)
        assert out == bare and counts(errors) == (8, 2, 0), (out, errors)
        _, errors = run("run", "2", environment=environment,
                        front=("--probe", ALL + ",by=softgpu,wait", "-o", fronts))
        assert counts(errors, "rawhal") == (8, 2, 0), errors
        made, its = read(own), read(fronts)
        assert [dispatch.probe.kernel for dispatch in made] == KERNELS * 2 and len(its) == 8
        for one, other in zip(made, its):
            assert records(one) == records(other), (one.probe.kernel, records(one), records(other))
            assert all(0 < wave.start <= wave.end for wave in one.waves)
        assert sum(len(dispatch.events) for dispatch in made) > 1000
        # Probes in the code count the same.
        os.remove(fronts)
        run("run", "1", front=("--probe", "blocks+edges+exec,wait", "-o", fronts))
        its = {dispatch.probe.kernel: dispatch for dispatch in read(fronts)}
        by_softgpu("blocks+edges+exec", own + "2", "run", "1")
        for dispatch in read(own + "2"):
            other = its.get(dispatch.probe.kernel)
            assert other is None or (other.probe.points, other.counters) == (dispatch.probe.points, dispatch.counters)
        assert len(its) == 4
        for path in (own, own + "2", fronts):
            os.remove(path)
    by_softgpu(ALL, own, "run", "1")
    shown = subprocess.run([RAWHAL, "probe", "show", own], capture_output=True, text=True)
    assert shown.returncode == 0 and "dispatch 3: matmul" in shown.stdout and not shown.stderr, shown


def check_rules(folder):
    for rule, kernels, expected in [
            ("blocks,kernel=*reduce*", ["reduce"] * 3, (3, 0, 0)),
            ("waves,first=1", KERNELS, (4, 11, 0)),
            ("waves,sample=1/2,kernel=matmul", ["matmul"] * 2, (2, 1, 0)),
            ("waves,grid>=1001", ["reduce", "matmul"] * 3, (6, 9, 0)),
            ("waves,queue=12345", [], (0, 15, 0)),
            ("waves,skip=1,kernel=reduce", ["reduce"] * 2, (2, 1, 0)),
            ("memory,kernel=empty,buffer=4K", [], (0, 3, 0))]:
        path = os.path.join(folder, "rule")
        _, errors = by_softgpu(rule, path, "run", "3")
        assert counts(errors) == expected, (rule, errors)
        assert [dispatch.probe.kernel for dispatch in read(path)] == kernels, rule
        os.remove(path)
    # Of two rules, the first that is for a kernel.
    _, errors = by_softgpu("waves,kernel=matmul\nblocks", path, "run", "1")
    assert [dispatch.probe.kinds for dispatch in read(path)] == [2, 2, 1, 2], errors
    os.remove(path)
    # A register of the first instruction: the work-item's number.
    by_softgpu("values,value=v0@0,kernel=vector_add", path, "run", "1")
    assert sorted(event.lanes for event in read(path)[0].events) == [(*range(40), *[0] * 24)] + [tuple(range(64))] * 15
    os.remove(path)
    # A register that there is not: that kernel runs as it is.
    out, errors = by_softgpu("values,value=v0@2,kernel=reduce", path, "run", "1")
    assert counts(errors) == (0, 1, 0) and "probe: reduce is not probed: " in errors and read(path) == [], errors


def check_hostile(folder):
    """What makes no sense is said, and the program is as without."""
    bare, _ = run("run", "1")
    path = os.path.join(folder, "there")
    for rule, file, why in [
            ("wave", path, "expected waves, blocks"),
            ("waves,", path, "expected kernel=NAME"),
            ("waves+", path, "expected waves, blocks"),
            ("waves,kernel", path, "expected kernel=NAME"),
            ("waves,buffer=1", path, "a buffer of '1' bytes"),
            ("memory,buffer=8G", path, "a buffer of '8G' bytes"),
            ("memory,buffer=-1", path, "'-1' is not understood"),
            ("waves,sample=1/0", path, "sample=1/0"),
            ("waves,first=-1", path, "-1"),
            ("waves\nblocks,client=x", path, "got 'client=x'"),
            ("values", path, "values requires value="),
            ("\n", path, "there is no rule in it"),
            ("waves," + "kernel=" + "x" * 100000 + ",?", path, "expected kernel=NAME"),
            ("waves", "", "SOFTGPU_PROBE_FILE must be set, too"),
            ("waves", "x" * 5000, "too long"),
            ("waves", os.path.join(folder, "none", "file"), "No such file"),
            ("waves", folder + "/", "directory"),
            ("waves", "/dev/full/file", "Not a directory")]:
        out, errors = by_softgpu(rule, file, "run", "1")
        said = [line for line in errors.splitlines() if line.startswith("softgpu: SOFTGPU_PROBE: nothing is recorded: ")]
        assert out == bare and len(said) == 1 and why in said[0] and errors == said[0] + "\n", (rule[:50], errors)
        assert not os.listdir(folder), os.listdir(folder)
    for size in ("64X", "-1"):
        out, errors = by_softgpu("waves", path, "run", "1", environment={"SOFTGPU_PROBE_BYTES": size})
        assert out == bare and "nothing is recorded" in errors and not os.listdir(folder), errors
    out, errors = by_softgpu("waves,kernel=a\x1b[31m\x7fb", path, "run", "1")  # what a name has is no terminal's
    said = "softgpu: probe: waves,kernel=a?[31m?b: 0 dispatches probed, 0 not, 0 records lost\n"
    assert out == bare and errors == said, errors


def check_full(folder):
    """Buffers and files that are too small lose exactly what they count."""
    whole, small, ends = (os.path.join(folder, name) for name in ("whole", "small", "ends"))
    bare, _ = by_softgpu("memory", whole, "run", "2", environment=ONE_THREAD)
    out, errors = by_softgpu("memory,buffer=16K", small, "run", "2", environment=ONE_THREAD)
    lost = 0
    for all_of, some in zip(read(whole), read(small)):
        assert (all_of.all_waves, all_of.all_events) == (some.all_waves, some.all_events)
        assert records(all_of)[7][:len(some.waves)] == records(some)[7]
        assert records(all_of)[8][:len(some.events)] == records(some)[8]
        lost += some.all_events - len(some.events) + some.all_waves - len(some.waves)
    assert out == bare and lost > 100 and counts(errors) == (8, 2, lost), (errors, lost)
    out, errors = by_softgpu("memory", ends, "run", "3", environment={"SOFTGPU_PROBE_BYTES": "64K"})
    assert os.path.getsize(ends) <= 64 << 10 and "softgpu: probe: the file ends here: " in errors, errors
    made = read(ends)
    lost = sum(one.all_waves - len(one.waves) + one.all_events - len(one.events) for one in made)
    assert len(made) < 15 and counts(errors) == (len(made), 15 - len(made), lost), (len(made), lost, errors)


def check_threads(folder):
    """Sixteen queues at a time, each of which has its records in the file when it is known to have ended."""
    path = os.path.join(folder, "threads")
    out, errors = by_softgpu("waves+blocks+memory,buffer=64K", path, "streams", "16", "50")
    made = read(path)
    assert out == "right\n" and counts(errors) == (800, 0, 0) and len(made) == 800, errors
    assert all(dispatch.all_waves == 1 for dispatch in made) and len({dispatch.counters for dispatch in made}) == 1


def check_fault(folder):
    path = os.path.join(folder, "fault")
    bare, _ = run("fault")
    out, errors = by_softgpu("waves+memory", path, "fault")
    made = read(path)
    assert out == bare and [dispatch.probe.kernel for dispatch in made] == ["fault_store"] and made[0].flags & STOPPED, errors
    assert [wave.end for wave in made[0].waves] == [0] and len(made[0].events) == 1, made[0].waves


def check_fork(folder):
    """Two processes: each a file of its own. A child of one that has the device has no device, and leaves its file alone."""
    out, errors = by_softgpu("waves", os.path.join(folder, "fork"), "fork")
    assert "children 0 7\n" in out, (out, errors)
    names = sorted(os.listdir(folder))
    assert len(names) == 2 and names[0] == "fork" and re.fullmatch(r"fork\.\d+", names[1]), names
    assert sorted(len(read(os.path.join(folder, name))) for name in names) == [8, 12], errors


def check_kill(folder):
    """What was known to have ended is in the file."""
    path = os.path.join(folder, "kill")
    process = subprocess.Popen([RUNNER, PROGRAM, FIXTURES, "waits"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True,
                               env={**os.environ, "SOFTGPU_PROBE": "waves+memory", "SOFTGPU_PROBE_FILE": path})
    try:
        while process.stdout.readline() != "ready\n":
            assert process.poll() is None
    finally:
        signal_group(process.pid, signal.SIGKILL)
        process.wait()
    assert [dispatch.probe.kernel for dispatch in read(path)] == KERNELS
    shown = subprocess.run([RAWHAL, "probe", "show", path], capture_output=True, text=True)
    assert shown.returncode == 0 and "vector_add" in shown.stdout, shown


with tempfile.TemporaryDirectory() as place:
    {"same": check_same, "rules": check_rules, "hostile": check_hostile, "full": check_full, "threads": check_threads,
     "fault": check_fault, "fork": check_fork, "kill": check_kill}[PART](place)
