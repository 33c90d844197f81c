#!/usr/bin/env python3
"""How much of a processor the front's threads take while a program is held back: one percent, and half of one more on
a machine where each look takes longer.

usage: service.py RUNNER RAWHAL FOLDER     FOLDER holds the test programs
Only with RAWHAL_TEST_EXTENDED; exit status 77 without. It is time on a processor, so that others on the machine do not
matter; what is measured begins with the first look and ends with the last before the program does.
"""
import os
import subprocess
import sys
import time

RUNNER, RAWHAL, FOLDER = sys.argv[1:4]
SECONDS, MOST = 6, 0.015
TICK = os.sysconf("SC_CLK_TCK")


def used(task):
    """Seconds that a thread has run, and its name."""
    with open(task + "/stat") as file:
        head, _, rest = file.read().rpartition(")")
    user, system = rest.split()[11:13]
    seconds = (int(user) + int(system)) / TICK
    try:  # in ns, where the kernel counts them
        with open(task + "/schedstat") as file:
            seconds = int(file.read().split()[0]) / 1e9
    except OSError:
        pass
    return head.partition("(")[2], seconds


def threads(pid):
    found = {}
    folder = f"/proc/{pid}/task"
    for task in os.listdir(folder):
        name, seconds = used(f"{folder}/{task}")
        if name.startswith("rawhal-"):
            found[name, task] = seconds
    return found


def measure(*program):
    command = [RUNNER, RAWHAL, "exec", "--guard", "off", "--gpu-share", "30%", "--", os.path.join(FOLDER, program[0]), *program[1:]]
    first, last = {}, {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and running.poll() is None:
            now = time.monotonic()
            try:
                for thread, seconds in threads(running.pid).items():
                    first.setdefault(thread, (now, seconds))
                    last[thread] = (now, seconds)
            except OSError:
                pass  # a thread that ends, or the program
            time.sleep(0.1)
        out, _ = running.communicate("\n", timeout=120)
    if running.returncode:
        sys.exit(f"{program}: status {running.returncode}: {out}")
    print(f"{' '.join(program)}: {out.strip()}")
    parts = {}
    for thread, (began, before) in first.items():
        ended, after = last[thread]
        if ended - began > SECONDS / 2:
            parts[thread] = (after - before) / (ended - began)
            print(f"  {thread[0]}: {100 * parts[thread]:.2f} % of a processor over {ended - began:.1f} s")
    return parts


def main():
    if not os.environ.get("RAWHAL_TEST_EXTENDED"):
        print("skipped: only with RAWHAL_TEST_EXTENDED")
        sys.exit(77)
    wrong = 0
    for name, program in (("rawhal-front", ("share", str((SECONDS + 1) * 1000), "1300")),
                          ("rawhal-copies", ("copies", str((SECONDS + 1) * 1000), "mixed"))):
        parts = measure(*program)
        if not any(thread[0] == name for thread in parts):
            sys.exit(f"there was no thread {name} for long enough: {parts}")
        wrong += sum(part > MOST for part in parts.values())
    sys.exit(f"{wrong} take more than {100 * MOST} %" if wrong else 0)


main()
