#!/usr/bin/env python3
"""Compiles every C file of the library, softgpu and the tools with another compiler than the build tree's.

usage: compilers.py COMPILER COMPILE_COMMANDS SOURCE

For aarch64 headers of other libraries are this machine's: what the project uses of them says nothing of processors.
clang, which the fuzzers are built with, has to find nothing to warn of. Nothing is linked and nothing run. Says
"skipped: ..." where there is no such compiler."""
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys

# (The runtime's headers ask the build for it where they do not know the processor.)
OPTIONS = {
    "aarch64-linux-gnu-gcc": ["-DLITTLEENDIAN_CPU", "-O0", "-idirafter", "/usr/include"],
    "clang-19": ["-Werror", "-fsyntax-only"],
}
FOLDERS = ("base", "hsaco", "kernarg", "queue", "debug", "hal", "library", "record", "front", "hiplaunch", "softgpu", "tools",
           "examples")


def command_for(compiler, entry):
    """The entry's command for the other compiler: its -D, -I, -std, -f and -W, no output."""
    words = shlex.split(entry["command"])
    kept = [word for word in words if word.startswith(("-D", "-I", "-std=", "-ffp", "-W")) and word != "-Werror"]
    for at, word in enumerate(words):
        if word in ("-isystem", "-include"):
            kept += [word, words[at + 1]]
    return [compiler, *kept, *OPTIONS[compiler], "-c", entry["file"], "-o", os.devnull]


def compile_one(compiler, entry):
    done = subprocess.run(command_for(compiler, entry), cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], done.returncode, done.stderr


def main():
    compiler, commands, source = sys.argv[1:]
    if os.environ.get("RAWHAL_TEST_EXTENDED", "once") == "once" or not shutil.which(compiler):  # a minute of the processors
        print(f"skipped: not asked for (RAWHAL_TEST_EXTENDED), or no {compiler}")
        return 0
    entries = {}
    for entry in json.load(open(commands)):
        path = os.path.relpath(entry["file"], source)
        if entry["file"].endswith(".c") and path.split(os.sep)[0] in FOLDERS:
            entries.setdefault(entry["file"], entry)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, status, errors in pool.map(lambda entry: compile_one(compiler, entry), entries.values()):
            if status:
                failed += 1
                print(f"{os.path.relpath(file, source)}:\n{errors}")
    print(f"{len(entries) - failed} of {len(entries)} files compile with {compiler}")
    return 1 if failed or not entries else 0


sys.exit(main())
