#!/usr/bin/env python3
"""The commands of docs/debugging.md, and more sessions of gdb, with the gdb that RAWHAL_GDB names.

usage: debugging.py CHECKOUT BUILD
In a block of the page a line "$ COMMAND" is run by a shell in a folder of its own, in which examples/ is the checkout's. What
follows is some of what it says, in this order; "..." stands for anything in a line.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile

CHECKOUT, BUILD = map(os.path.abspath, sys.argv[1:3])
TOOL = os.path.join(BUILD, "tools/rawhal")
BLOCK = re.compile(r"^```text\n(.*?)^```\n", re.M | re.S)
SECONDS = 120  # of a session, which a watchdog ends then
FIRST = ["set confirm off", "set pagination off", "set breakpoint pending on", "set auto-load safe-path /"]
CLANG = "clang-19 -target amdgcn-amd-amdhsa -mcode-object-version=5 -nogpulib -x cl -cl-std=CL2.0 -g".split()


def environment(folder, more=()):
    """With `rawhal` in PATH."""
    os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
    link = os.path.join(folder, "bin/rawhal")
    if not os.path.exists(link):
        os.symlink(TOOL, link)
    path = os.path.join(folder, "bin") + ":" + os.environ["PATH"]
    return {**os.environ, "PATH": path, "RAWHAL_DEVICE": "softgpu", **dict(more)}


def lacks(said, wanted):
    """The first of the wanted lines that is not there, behind those before it; or None."""
    lines = iter(said.split("\n"))
    for line in wanted:
        form = re.compile(".*?".join(map(re.escape, line.split("..."))) + r"\s*")
        if not any(form.fullmatch(one) for one in lines):
            return line
    return None


def run(command, folder, more=(), **options):
    """Status and what was said; a session that hangs has the status None."""
    process = subprocess.Popen(command, cwd=folder, env=environment(folder, more), text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **options)
    try:
        said, _ = process.communicate(timeout=SECONDS)
        return process.returncode, said
    except subprocess.TimeoutExpired:
        process.kill()
        return None, process.communicate()[0]


def page_faults(folder):
    os.symlink(os.path.join(CHECKOUT, "examples"), os.path.join(folder, "examples"))
    text = open(os.path.join(CHECKOUT, "docs/debugging.md")).read()
    blocks = BLOCK.findall(text)
    if len(blocks) < 3:
        yield "the page shows no session"
    for block in blocks:
        command, *wanted = block.rstrip("\n").split("\n")
        status, said = run(command.removeprefix("$ "), folder, shell=True)
        missing = lacks(said, wanted)
        if status != 0 or missing is not None:
            yield f"{command}: status {status}, without '{missing}', said\n{said}"


# Sessions: chip, gdb's commands, what is said. The program is reverse.cl of examples/, 4 work-groups; its fault is that of the
# page.
SESSIONS = {
    "steps": ("gfx90a", ["break reverse", "run", "delete"] + ["stepi"] * 12 + ["p $pc - (long)&reverse", "continue"],
              ["...hit Breakpoint...", "...received signal SIGSEGV..."]),
    "registers": ("gfx90a", ["tbreak reverse.cl:8", "run", "set $v2[7] = 0x1234", "p/x $v2[7]", "p $v2[6] == $v2[7]", "p/x $exec"],
                  ["$1 = 0x1234", "$2 = 0", "$3 = 0xffffffffffffffff"]),
    "waves": ("gfx942", ["break reverse", "run", "info threads", "thread apply all -s p/x $exec"],
              ["...AMDGPU Wave...", "...AMDGPU Wave...", "...AMDGPU Wave...", "...AMDGPU Wave...", "...0xffffffffffffffff"]),
    "fault": ("gfx942", ["run", "x/i $pc", "info threads", "signal SIGSEGV"],
              ["...received signal SIGSEGV...", "=>...global_store_dword..."]),
    "kill": ("gfx90a", ["break reverse", "run", "kill", "info threads"], ["...hit Breakpoint...", "...killed]", "No threads."]),
    "again": ("gfx90a", ["break reverse", "run", "kill", "run", "bt"], ["...hit Breakpoint...", "...hit Breakpoint...", "#0...reverse..."]),
    "host": ("gfx90a", ["break hsa_init", "run", "break reverse", "continue", "info threads"],
             ["Breakpoint 1,...hsa_init...", "...hit Breakpoint 2...", "...LWP...", "...AMDGPU Wave..."]),
    "devices": ("gfx90a,gfx90a", ["break reverse", "run", "delete", "detach", "info threads"],
                ["...hit Breakpoint...", "...detached]", "No threads."]),
}


def session_faults(folder):
    words = ["--kernel", "reverse", "--grid", "4", "--block", "64", "out:out:1K", "ptr:in", "u32:256"]
    with open(os.path.join(folder, "in"), "wb") as file:
        file.write(bytes(range(256)) * 4)
    for chip in ("gfx90a", "gfx942"):
        subprocess.run([*CLANG, f"-mcpu={chip}", "-O1", os.path.join(CHECKOUT, "examples/debugging/reverse.cl"), "-o", f"{chip}.co"],
                       cwd=folder, check=True)
    for name, (chips, commands, wanted) in SESSIONS.items():
        chip = chips.split(",", maxsplit=1)[0]
        line = [TOOL, "gdb", "--batch"]
        for command in FIRST + commands:
            line += ["--ex", command]
        more = {"SOFTGPU_CHIPS": chips, "SOFTGPU_LISTED": "gfx90a"}
        status, said = run([*line, "--", TOOL, "run", f"{chip}.co", *words], folder, more)
        missing = lacks(said, wanted)
        if status is None or missing is not None:
            yield f"{name}: status {status}, without '{missing}', said\n{said}"


def attach_faults(folder):
    """To a kernel that does not end, twice; and an interrupt."""
    subprocess.run([*CLANG, "-mcpu=gfx90a", "-O1", os.path.join(CHECKOUT, "tests/fixtures/src/spin.cl"), "-o", "spin.co"],
                   cwd=folder, check=True)
    words = ["run", "spin.co", "--kernel", "spin", "--grid", "2", "--block", "128", "out:spun:4K"]
    program = subprocess.Popen([TOOL, *words], cwd=folder, env=environment(folder, {"SOFTGPU_DEBUG": "1"}.items()),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        waves = ["...AMDGPU Wave...in spin..."] * 4
        for last, said_last in (("detach", "...detached]"), ("kill", "...killed]")):
            line = [TOOL, "gdb", "--batch", "--pid", str(program.pid)]
            for command in FIRST + ["info threads", "thread 4", "stepi", "stepi", "bt 1", last]:
                line += ["--ex", command]
            for _ in range(20):  # until it has come so far
                status, said = run(line, folder)
                missing = lacks(said, waves + ["#0...spin...", said_last])
                if missing is None or status is None or program.poll() is not None:
                    break
            if status is None or missing is not None:
                yield f"{last}: status {status}, without '{missing}', said\n{said}"
    finally:
        if program.poll() is None:
            program.send_signal(signal.SIGKILL)
        program.wait()


def main():
    if not os.environ.get("RAWHAL_GDB"):
        print("skipped: RAWHAL_GDB names no gdb that knows GPUs")
        return 77
    found = []
    for faults in (page_faults, session_faults, attach_faults):
        with tempfile.TemporaryDirectory() as folder:
            found += faults(folder)
    print("\n".join(found) or "no fault")
    return 1 if found else 0


sys.exit(main())
