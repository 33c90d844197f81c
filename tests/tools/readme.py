#!/usr/bin/env python3
"""What README.md shows of commands is what they print, and the commands that docs/guide.md lists have the options it shows.

usage: readme.py CHECKOUT BUILD
Blocks of ```console are run by one shell in a folder that has the checkout's tests and the build. Of what varies, times, addresses
and numbers of allocations, of which runtimes make their own, only the form is compared; `...` stands for any lines.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

CHECKOUT, BUILD = map(os.path.abspath, sys.argv[1:3])
README, GUIDE = (open(os.path.join(CHECKOUT, path)).read() for path in ("README.md", "docs/guide.md"))
TOOL = os.path.join(BUILD, "tools/rawhal")
VARIES = re.compile(r"\b0x[0-9a-f]+\b|\b\d+\.\d+ ms\b|\ballocation \d+")


def examples():
    """Each command, and the lines that are shown of what it prints."""
    shown = []
    for block in re.findall(r"^```console\n(.*?)^```", README, re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                shown.append((line[2:], []))
            else:
                shown[-1][1].append(line)
    return shown


def faults_of(command, lines, folder):
    built = re.search(r"build/release/(\S+)", command)
    if built and not os.path.exists(os.path.join(BUILD, built.group(1))):
        print(f"not tried, as it is not built: {command}")
        return
    done = subprocess.run(["/bin/sh", "-euc", command], cwd=folder, text=True, timeout=240, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          env={**os.environ, "RAWHAL_DEVICE": "softgpu", "PATH": f"{BUILD}/tools:{os.environ['PATH']}"})
    if done.returncode:
        yield f"'{command}' ends with {done.returncode}: {done.stdout}"
        return
    printed = [VARIES.sub("VARIES", line) for line in done.stdout.splitlines()]
    wanted = [VARIES.sub("VARIES", line) for line in lines if line != "..."]
    if any(line not in printed for line in wanted) or ("..." not in lines and len(printed) != len(wanted)):
        yield f"'{command}' prints {done.stdout}"


def example_faults():
    found = examples()
    if len(found) < 5:
        yield f"only {len(found)} commands are shown"
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "build"))
        os.symlink(BUILD, os.path.join(folder, "build/release"))
        os.symlink(os.path.join(CHECKOUT, "tests"), os.path.join(folder, "tests"))
        for command, lines in found:
            yield from faults_of(command, lines, folder)
        values = struct.unpack("<1024f", open(os.path.join(folder, "c.bin"), "rb").read())
        if set(values) != {3.5}:
            yield f"the example leaves {sorted(set(values))[:4]}"


def list_faults():
    block = re.search(r"## The command\n\n((?:    .*\n)+)", GUIDE).group(1)
    rows = [row.split("#")[0] for row in block.split("\n") if row.strip()]
    if len(rows) < 10:
        yield f"only {len(rows)} commands are listed"
    for row in rows:
        _, verb, *words = row.split()
        help_text = subprocess.run([TOOL, verb, "--help"], text=True, capture_output=True, timeout=60).stdout
        if not help_text.startswith(f"usage: rawhal {verb}"):
            yield f"there is no rawhal {verb}"
        options = re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", " ".join(words).split(" -- ")[0])
        for option in options:
            if not re.search(rf"(?<![\w-]){option}(?![\w-])", help_text):
                yield f"rawhal {verb} has no {option}"


faults = [f"README.md has {len(README.split())} words"] if len(README.split()) > 1200 else []
faults += list(example_faults()) + list(list_faults())
sys.exit("\n".join(faults) or 0)
