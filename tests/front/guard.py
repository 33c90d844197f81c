#!/usr/bin/env python3
"""rawhal exec beside a program: guard.py RAWHAL FRONT HAS_QUEUE"""
import os, resource, shutil, signal, subprocess, sys, tempfile, time

RAWHAL, FRONT, HAS_QUEUE = map(os.path.abspath, sys.argv[1:4])
SAID = "has not loaded librawhal-front.so"


def start(*program, options=(), limit=("--gpu-share", "90%"), **more):
    return subprocess.Popen([RAWHAL, "exec", *limit, *options, "--", *program], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def expect(process, status, out=None, said=""):
    output, errors = process.communicate(timeout=120)
    assert process.returncode == status and (out is None or output == out) and \
        (said in errors if said else not errors), (process.args, process.returncode, output, errors)


def with_the_front():
    """It is left alone, and so is what it starts and what it becomes."""
    expect(start(HAS_QUEUE), 0, "queue\n")
    expect(start("sh", "-c", 'echo | "$0" && exec "$0"', HAS_QUEUE), 0, "queue\nqueue\n")


def without(folder):
    """It is ended, though it goes on for as long as somebody lets it; and nobody takes this for success."""
    bare = ("env", "-u", "HSA_TOOLS_LIB", HAS_QUEUE)
    ways = [bare, ("sh", "-c", '"$@"; exit 0', "sh", *bare), ("sh", "-c", 'echo | "$0" && exec env -u HSA_TOOLS_LIB "$0"',
                                                            HAS_QUEUE),
            ("sh", "-c", 'exec 3<&0; setsid "$@" <&3 & wait; exit 0', "sh", *bare)]
    for way in ways:
        process = start(*way)
        held = process.stdin  # its end would be the program's
        process.stdin = None
        expect(process, 126, said=SAID)
        held.close()
    # A folder that is not there for the program.
    hidden = os.path.join(folder, "hidden")
    os.mkdir(hidden)
    there = shutil.copy(FRONT, hidden)
    process = start("sh", "-c", 'rm -r "$0" && exec "$1"', hidden, HAS_QUEUE,
                    env={**os.environ, "RAWHAL_FRONT_LIBRARY": there})
    held, process.stdin = process.stdin, None
    expect(process, 126, said=SAID)
    held.close()


def again():
    """An image that differs from the last in nothing that /proc tells but its mappings: stacks begin at one place."""
    fixed = ("setarch", os.uname().machine, "-R")
    if subprocess.run((*fixed, "true"), stderr=subprocess.DEVNULL).returncode:
        return  # not allowed in some containers
    process = start(*fixed, HAS_QUEUE, "+", env={**os.environ, "HSA_DISABLE_FRAGMENT_ALLOCATOR": "1"})
    assert process.stdout.readline() == "queue\n"
    process.stdin.write("\n")
    process.stdin.flush()
    held, process.stdin = process.stdin, None
    expect(process, 126, said=SAID)
    held.close()


def no_descriptors():
    """Neither for the front nor for the device."""
    blind = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # LeakSanitizer opens files
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
           "env": dict(os.environ, ASAN_OPTIONS=blind.strip(":"))}
    process = start(HAS_QUEUE, "0", **few)
    assert (process.communicate(timeout=120)[0], process.returncode) == ("", 3)


def as_asked():
    """Said, or not looked for; and without a limit nobody stays."""
    bare = ("env", "-u", "HSA_TOOLS_LIB", HAS_QUEUE)
    for mode, lines in (("report", 2), ("warn", 1)):
        process = start("sh", "-c", "exec 3<&0; $0 <&3 & $0; wait", " ".join(bare), options=("--guard", mode))
        for _ in range(lines):
            assert SAID in process.stderr.readline()
        expect(process, 0, "queue\nqueue\n")
    for more in ({"options": ("--guard", "off")}, {"limit": ()}, {"limit": ("--check",)}):
        process = start("sh", "-c", "echo $PPID; exec $0", " ".join(bare), **more)
        assert process.stdout.readline() == f"{os.getpid()}\n", more
        expect(process, 0, "queue\n")


def daemons(folder):
    """What a program leaves behind is looked after; who waits for the program does not wait for it."""
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    # It uses the device when the program is gone, and would do so for a minute; until then it has the pipe open.
    late = 'while kill -0 $0; do sleep 0.05; done; exec timeout 60 env -u HSA_TOOLS_LIB "$1"'
    process = start("sh", "-c", 'exec 3>"$2"; setsid sh -c "$1" $$ "$0" </dev/zero >/dev/null 2>&1 &', HAS_QUEUE, late, pipe)
    expect(process, 0, "")
    os.set_blocking(end, True)
    began = time.monotonic()
    assert os.read(end, 1) == b"" and time.monotonic() - began < 50


def signals():
    process = start("sh", "-c", 'trap "echo ended; exit 5" TERM; echo ready; while :; do sleep 0.05; done')
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    expect(process, 5, "ended\n")
    expect(start("sh", "-c", "kill -ABRT $$"), -signal.SIGABRT)
    process = start("sh", "-c", "echo $$; exec sleep 1000")
    int(process.stdout.readline())
    process.kill()
    expect(process, -signal.SIGKILL, "")  # its output has ended: nobody has it open
    # It closes its output long before it ends.
    process = start("sh", "-c", "exec >&- 2>&-; read line")
    assert process.stdout.read() == ""
    expect(process, 1, "")


with tempfile.TemporaryDirectory() as scratch:
    with_the_front()
    without(scratch)
    again()
    no_descriptors()
    as_asked()
    daemons(scratch)
    signals()
