#!/usr/bin/env python3
"""The commands of docs/debugging.md, and more sessions of gdb, with the gdb that RAWHAL_GDB names.

usage: debugging.py CHECKOUT BUILD
In a block of the page a line "$ COMMAND" is run by a shell in a folder of its own, in which examples/ is the checkout's. What
follows is some of what it says, in this order; "..." stands for anything in a line.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from child import signal_child

CHECKOUT, BUILD = map(os.path.abspath, sys.argv[1:3])
TOOL = os.path.join(BUILD, "tools/rawhal")
BLOCK = re.compile(r"^```text\n(.*?)^```\n", re.M | re.S)
PROBED = os.path.join(BUILD, "tests/front/front_probed")  # kernels on several threads, whose code comes and goes
SECONDS = 120  # of a session, which a watchdog ends then, and says where
FIRST = ["set confirm off", "set pagination off", "set breakpoint pending on", "set auto-load safe-path /"]
CLANG = "clang-19 -target amdgcn-amd-amdhsa -mcode-object-version=5 -nogpulib -x cl -cl-std=CL2.0 -g".split()
NEWER = ["clang-22", f"--ld-path={shutil.which('ld.lld-19')}", *CLANG[1:]]  # which knows gfx950


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


def text_of(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def members(session):
    """Processes of a session: gdb, and what it debugs, which is a group of its own."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = text_of(f"/proc/{name}/stat").rpartition(")")[2].split()
        if len(fields) > 3 and int(fields[3]) == session:
            yield int(name)


def where(session):
    """What each thread of a session waits for."""
    lines = []
    for process in members(session):
        lines.append(f"process {process}: " + text_of(f"/proc/{process}/cmdline").replace("\0", " ")[:100])
        for task in sorted(os.listdir(f"/proc/{process}/task")):
            at = f"/proc/{process}/task/{task}/"
            state = text_of(at + "stat").rpartition(")")[2][1:2]
            lines.append(f"    {text_of(at + 'comm')} {state} {text_of(at + 'wchan')} system call {text_of(at + 'syscall').split(' ')[0]}")
    return "\n".join(lines)


def run(command, folder, more=(), **options):
    """Status and what was said; a session that hangs has the status None, and where it hangs is said."""
    process = subprocess.Popen(command, cwd=folder, env=environment(folder, more), text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **options)
    try:
        said, _ = process.communicate(timeout=SECONDS)
        return process.returncode, said
    except subprocess.TimeoutExpired:
        place = where(process.pid)
        for member in members(process.pid):
            signal_child(member, signal.SIGKILL)
        return None, process.communicate()[0] + f"\nno end after {SECONDS} s:\n{place}\n"


def commands_of(commands):
    return [word for command in FIRST + commands for word in ("--ex", command)]


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
    "gfx950": ("gfx950", ["set amdgpu precise-memory on", "break reverse.cl:8", "run", "info threads", "delete", "stepi", "p/x $exec", "continue"],
               ["...hit Breakpoint...reverse.cl:8", "...AMDGPU Wave...", "$1 = 0xffffffffffffffff", "...received signal SIGSEGV..."]),
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
    compilers = {"gfx90a": CLANG, "gfx942": CLANG, **({"gfx950": NEWER} if shutil.which(NEWER[0]) else {})}
    for chip, compiler in compilers.items():
        subprocess.run([*compiler, f"-mcpu={chip}", "-O1", os.path.join(CHECKOUT, "examples/debugging/reverse.cl"), "-o", f"{chip}.co"],
                       cwd=folder, check=True)
    for name, (chips, commands, wanted) in SESSIONS.items():
        chip = chips.split(",", maxsplit=1)[0]
        if chip not in compilers:
            print(f"skipped: {name}: {NEWER[0]} is not installed")
            continue
        line = [TOOL, "gdb", "--batch", *commands_of(commands)]
        more = {"SOFTGPU_CHIPS": chips, "SOFTGPU_LISTED": "gfx90a"}
        status, said = run([*line, "--", TOOL, "run", f"{chip}.co", *words], folder, more)
        missing = lacks(said, wanted)
        if status is None or missing is not None:
            yield f"{name}: status {status}, without '{missing}', said\n{said}"


# Programs that end, become others, have children and threads, and unload what has a breakpoint; and some without a GPU. Each is
# let go on until it ends.
OTHERS = {
    "unload": (["break clamp_to", "run", "ignore 1 1000", "continue", "info breakpoints"], ["clamp"],
               ["...hit Breakpoint...", "...exited normally]", "...clamp_to", "...already hit 2 times..."]),
    "again": (["break clamp_to", "run", "delete", "continue", "break clamp_to", "run", "delete", "continue"], ["clamp"],
              ["...hit Breakpoint...", "...exited normally]", "...hit Breakpoint...", "...exited normally]"]),
    "nothing": (["run"], ["/bin/true"], ["...exited normally]"]),
    "no dispatch": (["run"], ["devices"], ["...gfx90a...", "...exited normally]"]),
    "exec": (["break clamp_to", "run", "info threads", "delete", "continue"], ["/bin/sh", "-c", "/bin/true; exec {clamp}"],
             ["...hit Breakpoint...", "...AMDGPU Wave...", "...exited normally]"]),
    "without stopping all": (["set non-stop on", "break clamp_to", "run", "info threads", "delete", "continue -a"], ["clamp"],
                             ["...hit Breakpoint...", "...AMDGPU Wave...", "...exited normally]"]),
    "detach": (["break clamp_to", "run", "detach", "info threads"], ["clamp"],
               ["...hit Breakpoint...", "...detached]", "No threads."]),
    "threads": (["run"], ["probed", "streams", "4", "6"], ["right", "...exited normally]"]),
    "code that comes and goes": (["run"], ["probed", "churn", "4", "6"], ["right", "...exited normally]"]),
    "children": (["run"], ["probed", "fork"], ["children 0 ...", "...exited normally]"]),
    "children that are followed": (["set follow-fork-mode child", "run"], ["probed", "fork"], ["...exited..."]),
}


def other_faults(folder):
    subprocess.run([*CLANG, "-mcpu=gfx90a", "-O0", os.path.join(CHECKOUT, "examples/debugging/clamp.cl"), "-o", "clamp.co"],
                   cwd=folder, check=True)
    with open(os.path.join(folder, "in"), "wb") as file:
        file.write(bytes(512))
    clamp = [TOOL, *"run clamp.co --kernel clamp_to --grid 2 --block 64 out:out:512 ptr:in i32:10".split()]
    short = {"clamp": clamp, "devices": [TOOL, "devices"], "probed": [PROBED, os.path.join(CHECKOUT, "tests/fixtures")]}
    for name, (commands, words, wanted) in OTHERS.items():
        program = short.get(words[0], words[:1]) + [word.replace("{clamp}", " ".join(clamp)) for word in words[1:]]
        if program[0] == PROBED and not os.path.exists(PROBED):
            continue
        status, said = run([TOOL, "gdb", "--batch", *commands_of(commands), "--", *program], folder,
                           {"SOFTGPU_CHIP": "gfx90a", "SOFTGPU_LISTED": "gfx90a"})
        missing = lacks(said, wanted)
        if status is None or missing is not None:
            yield f"{name}: status {status}, without '{missing}', said\n{said}"


def attach_faults(folder):
    """To a kernel that does not end: detached; while the program is stopped; by a gdb that is killed in the middle; once more, for a
    thousand steps; and killed."""
    subprocess.run([*CLANG, "-mcpu=gfx90a", "-O1", os.path.join(CHECKOUT, "tests/fixtures/src/spin.cl"), "-o", "spin.co"],
                   cwd=folder, check=True)
    words = ["run", "spin.co", "--kernel", "spin", "--grid", "2", "--block", "128", "out:spun:4K"]
    program = subprocess.Popen([TOOL, *words], cwd=folder, env=environment(folder, {"SOFTGPU_DEBUG": "1"}.items()),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    looks = ["info threads", "thread 4", "stepi", "stepi", "bt 1"]
    waves = ["...AMDGPU Wave...in spin..."] * 4
    sessions = [
        ("detach", None, [*looks, "detach"], [*waves, "#0...spin...", "...detached]"]),
        ("stopped", signal.SIGSTOP, [*looks, "detach"], [*waves, "#0...spin...", "...detached]"]),
        ("gdb is killed", signal.SIGCONT, ["thread 4", "break *$pc", "stepi", "shell kill -9 $PPID"], []),
        ("steps", None, ["thread 4", "stepi 1000", "bt 1", "detach"], ["#0...spin...", "...detached]"]),
        ("kill", None, [*looks, "kill"], [*waves, "#0...spin...", "...killed]"]),
    ]
    try:
        for name, first, commands, wanted in sessions:
            if first:
                signal_child(program.pid, first)
            for _ in range(20):  # until it has come so far
                status, said = run([TOOL, "gdb", "--batch", "--pid", str(program.pid), *commands_of(commands)], folder)
                missing = lacks(said, wanted)
                if missing is None or status is None or program.poll() is not None:
                    break
            if status is None or missing is not None:
                yield f"{name}: status {status}, without '{missing}', said\n{said}"
    finally:
        if program.poll() is None:
            program.send_signal(signal.SIGKILL)
        program.wait()


def main():
    if not os.environ.get("RAWHAL_GDB"):
        print("skipped: RAWHAL_GDB names no gdb that knows GPUs")
        return 77
    found = []
    for faults in (page_faults, session_faults, other_faults, attach_faults):
        with tempfile.TemporaryDirectory() as folder:
            found += faults(folder)
    print("\n".join(found) or "no fault")
    return 1 if found else 0


sys.exit(main())
