#!/usr/bin/env python3
"""Kernels of ours in the place of a program's: substitute.py RUNNER RAWHAL PROGRAMS TEST_HIP program|rocrand|rocsparse

Exit status 77: the library is not there.
"""
import os, random, re, signal, struct, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from child import signal_group

runner, rawhal, programs, test_hip, part = sys.argv[1:]
program = os.path.join(programs, "replaced")
kernels = os.path.join(programs, "replacements.co")
libraries = os.path.join(programs, "library_kernels.co")
COUNT, ROUNDS = 1000, 20
A, B = [i % 13 for i in range(COUNT)], [i % 5 for i in range(COUNT)]


def command(*options, what=(program,)):
    return [runner, rawhal, "exec", *options, "--", *what]


def run(*options, what=(program,), status=0):
    done = subprocess.run(command(*options, what=what), capture_output=True, text=True)
    assert done.returncode == status, (options, done)
    return done.stdout, done.stderr


def weighted(values):
    return sum(v * (i % 7) for i, v in enumerate(values))


def reverse(values, more=lambda lane: 0):
    return [values[i // 50 * 50 + 49 - i % 50] * 2 + more(i % 50) for i in range(COUNT)]


def expected(combine, reversed_=reverse):
    made = [combine(a, b) for a, b in zip(A, B)]
    return f"combine {weighted(made)}\nreversed {weighted(reversed_(made))}\n"


ORIGINAL = expected(lambda a, b: a + b)
PRODUCT = expected(lambda a, b: a * b)


def replaced(errors, name="combine"):
    return tuple(map(int, re.search(rf"{re.escape(name)}: (\d+) dispatches replaced, (\d+) not replaced", errors).groups()))


def check_replaced(folder):
    assert run() == (ORIGINAL, ""), run()
    for target in (kernels, kernels + ":combine"):
        out, errors = run("--substitute", f"combine={target}")
        assert (out, replaced(errors)) == (PRODUCT, (ROUNDS, 0)), (out, errors)
    counts = os.path.join(folder, "counts")
    out, errors = run("--substitute", f"comb?ne={kernels}:counted,buffer=4K:{counts},dispatch,value=3")
    assert (out, replaced(errors, "comb?ne")) == (expected(lambda a, b: a * b * 3), (ROUNDS, 0)), (out, errors)
    words = struct.unpack("<512Q", open(counts, "rb").read())
    assert words[0] == 16 * ROUNDS and words[1:1 + ROUNDS] == (256,) * ROUNDS and not any(words[1 + ROUNDS:]), words
    out, errors = run("--substitute", f"reversed={kernels}:reversed_large")
    assert out == expected(lambda a, b: a + b, lambda v: reverse(v, lambda lane: (lane + 2) % 64)), out
    # The first that is for a kernel counts; limits, checks and traces have it beside.
    trace = os.path.join(folder, "trace")
    out, errors = run("--substitute", f"combine={kernels}", "--substitute", f"*={kernels}:reversed_large", "--gpu-share",
                      "60%", "--check=refuse", "--trace", trace)
    assert out == expected(lambda a, b: a * b, lambda v: reverse(v, lambda lane: (lane + 2) % 64)), (out, errors)
    assert '"combine"' in open(trace).read()


def check_streams(folder):
    """Eight threads and queues: each dispatch is replaced once, with a number of its own."""
    counts, launches = os.path.join(folder, "steps"), 8 * 2000
    out, errors = run("--gpu-share", "95%", "--substitute", f"_Z4stepPjj={kernels}:step,buffer=16:{counts},dispatch",
                      what=(os.path.join(programs, "streams"), "8", "2000"))
    assert (out, replaced(errors, "_Z4stepPjj")) == ("ok\n", (launches, 0)), (out, errors)
    words = struct.unpack("<2Q", open(counts, "rb").read())
    assert words == (launches, launches * (launches - 1) // 2), words


REFUSED = [
    ("combine", "shorter", ROUNDS, "the original takes 4 arguments, the replacement 3"),
    ("combine", "counted", ROUNDS, "the original takes 4 arguments, the replacement 7"),
    ("combine", "combine,value=3", ROUNDS, "takes 4 arguments, and 1 are appended, the replacement takes 4"),
    ("combine", "wider", ROUNDS, "argument 3 has 4 bytes (by_value), the replacement's 8 (by_value)"),
    ("combine", "valued", ROUNDS, "argument 2 has 8 bytes (global_buffer), the replacement's 8 (by_value)"),
    ("combine", "counted,dispatch,dispatch,value=1", ROUNDS, "argument 4, of 8 bytes (global_buffer), cannot be the"),
    ("combine", "counted,buffer=8K,dispatch,value=70000", ROUNDS, "argument 6, of 2 bytes (by_value), cannot be that"),
    ("combine", "nothing", ROUNDS, "the replacement's file has no kernel 'nothing'"),
    ("reversed", "reversed_too_large", 1, "needs 65720 bytes of group memory; the device has 65536"),
    ("reversed", "reversed_of_32", 1, "50 work-items, the kernel allows 32"),
]


def check_refused(folder):
    for name, spec, count, words in REFUSED:
        out, errors = run("--substitute", f"{name}={kernels}:{spec}")
        assert out == ORIGINAL and replaced(errors, name) == (0, count), (out, errors)
        said = [line for line in errors.splitlines() if "is not replaced" in line]
        assert len(said) == 1 and f"{name} is not replaced: " in said[0] and words in said[0], errors
    data = bytearray(open(kernels, "rb").read())
    elf = data.index(b"\x7fELF")
    struct.pack_into("<Q", data, elf + struct.unpack_from("<Q", data, elf + 40)[0] + 64 + 32, 1 << 47)  # a section's size
    damaged = os.path.join(folder, "damaged.co")
    with open(damaged, "wb") as file:
        file.write(data)
    out, errors = run("--substitute", f"combine={damaged}")
    assert out == ORIGINAL and "cannot be loaded: a section lies outside of the file" in errors, (out, errors)
    for spec, words in [("combine", "NAME=FILE"), (f"combine={kernels}:", None), (f"combine={kernels}:combine,buffer", None),
                        (f"combine={folder}/nothing.co", "rawhal exec: NOT_FOUND: RAWHAL_SUBSTITUTE: "),
                        (f"combine={kernels}:counted,value=-1", None),
                        (f"combine={kernels}:counted,buffer=4K:{kernels},dispatch,value=3", "': File exists")]:
        done = subprocess.run(command("--substitute", spec), capture_output=True, text=True)
        assert done.returncode and not done.stdout.startswith("combine "), done
        assert (words or "rawhal exec: INVALID_ARGUMENT: RAWHAL_SUBSTITUTE: ") in done.stderr, done


def wait_for_cache(cache, running):
    """Until one of them has written to it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(process.poll() is None for process in running):
        if os.path.isdir(cache) and os.listdir(cache):
            return
        time.sleep(0.0005)


def check_cache(folder):
    """Eight at once, most of which are killed, as soon as the cache is written: each that lives says what is right."""
    seed = random.Random(15)
    lived = killed = 0
    for round_ in range(4):
        cache = os.path.join(folder, f"cache{round_}")
        options = ("--substitute-cache", cache, "--substitute", f"combine={kernels}", "--substitute",
                   f"reversed={kernels}:reversed_too_large")
        running = [subprocess.Popen(command(*options), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                    start_new_session=True) for _ in range(8)]
        wait_for_cache(cache, running)
        for process in running[:6]:
            if process.poll() is None:
                killed += bool(os.listdir(cache))
                signal_group(process.pid, signal.SIGKILL)
            time.sleep(seed.uniform(0, 0.02))
        for process in running:
            out, _ = process.communicate()
            if process.returncode == 0:
                lived += 1
                assert out in (PRODUCT, ORIGINAL), out
        out, errors = run(*options)
        assert out in (PRODUCT, ORIGINAL), (out, errors)
    assert killed >= 4, f"{killed} were killed while there was a cache"
    assert lived >= 8, lived
    out, errors = run(*options)
    assert (out, replaced(errors)) == (PRODUCT, (ROUNDS, 0)), (out, errors)
    files = sorted(name for name in os.listdir(cache) if "." not in name)
    assert files, os.listdir(cache)
    whole = {name: open(os.path.join(cache, name), "rb").read() for name in files}
    for damage in (lambda b: b"", lambda b: b[:-1], lambda b: b.replace(b"accepted", b"refused "), lambda b: b * 50,
                   lambda b: b"\0" * len(b), lambda b: b[:40] + b"\xff" + b[41:]):
        for name in files:
            with open(os.path.join(cache, name), "wb") as file:
                file.write(damage(whole[name]))
        out, errors = run(*options)
        assert (out, replaced(errors)) == (PRODUCT, (ROUNDS, 0)), (out, errors)
        assert {name: open(os.path.join(cache, name), "rb").read() for name in files} == whole


def check_refusal_is_known(folder):
    cache = os.path.join(folder, "refused")
    options = ("--substitute-cache", cache, "--substitute", f"combine={kernels}:shorter")
    assert "(known from before)" not in run(*options)[1]
    assert "the replacement 3 (known from before)" in run(*options)[1]
    out, errors = run("--substitute-cache", cache, "--substitute", f"combine={kernels}")
    assert (out, replaced(errors)) == (PRODUCT, (ROUNDS, 0)), (out, errors)


def check_library(folder, tests, kernel, ours, least):
    """The library's own results are what our tests of it say, whoever makes them."""
    made = os.path.join(folder, f"made by {ours}")  # a file that is there would not be written over
    out, errors = run("--substitute", f"{kernel}={libraries}:{ours},buffer=4K:{made}",
                      what=(test_hip, "--gtest_filter=" + tests))
    if "[  SKIPPED ]" in out:
        return False
    assert "[  PASSED  ]" in out and replaced(errors, kernel)[0] > 0, (out, errors)
    assert struct.unpack("<Q", open(made, "rb").read(8))[0] >= least, errors
    return True


def check_rocrand(folder):
    return check_library(folder, "generators/RocRand.a_million_uniform_and_normal_numbers/401",
                         "*generate_kernelIf20uniform_distributionIf*", "uniform", 1 << 20)


def check_rocsparse(folder):
    sparse = "SparseProduct/0.ellmv_and_hybmv:SparseProduct/0.vectors"
    return all(check_library(folder, sparse, f"_ZL*{kernel}_kernel*", kernel, least)
               for kernel, least in (("axpyi", 700), ("gthr", 700), ("ellmvn", 900)))


def main():
    with tempfile.TemporaryDirectory() as folder:
        if part == "program":
            for check in (check_replaced, check_streams, check_refused, check_refusal_is_known, check_cache):
                check(folder)
            print(f"{len(REFUSED)} refused")
        elif not {"rocrand": check_rocrand, "rocsparse": check_rocsparse}[part](folder):
            print(f"skipped: nothing was replaced of lib{part}, which is not there")
            sys.exit(77)


main()
