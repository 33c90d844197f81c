#!/usr/bin/env python3
"""README.md's example works as it is printed, and the commands that it lists have the options it shows.

usage: readme.py CHECKOUT BUILD
The block behind "For example" is run by a shell in an empty folder that has the checkout's tests and the build.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

CHECKOUT, BUILD = map(os.path.abspath, sys.argv[1:3])
TEXT = open(os.path.join(CHECKOUT, "README.md")).read()
TOOL = os.path.join(BUILD, "tools/rawhal")


def block_behind(words):
    return re.search(re.escape(words) + r"\n\n((?:    .*\n)+)", TEXT).group(1)


def example_faults():
    script = re.sub(r"^    ", "", block_behind("For example"), flags=re.M)
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "build"))
        os.symlink(BUILD, os.path.join(folder, "build/release"))
        os.symlink(os.path.join(CHECKOUT, "tests"), os.path.join(folder, "tests"))
        done = subprocess.run(["/bin/sh", "-eu", "-c", script], cwd=folder, text=True, timeout=240,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "RAWHAL_DEVICE": "softgpu"})
        if done.returncode:
            yield f"the example ends with {done.returncode}: {done.stdout}"
            return
        for words in ("kernel vector_add", "28 of them explicit", "wrote     c.bin (4096 bytes)"):
            if words not in done.stdout:
                yield f"the example does not say '{words}': {done.stdout}"
        values = struct.unpack("<1024f", open(os.path.join(folder, "c.bin"), "rb").read())
        if set(values) != {3.5}:
            yield f"the example leaves {sorted(set(values))[:4]}"
        if not re.search(r"^0000000 +3\.5 +3\.5", done.stdout, re.M):
            yield f"the example does not show its result: {done.stdout}"


def list_faults():
    rows = [row.split("#")[0] for row in block_behind("## By hand").split("\n") if row.strip()]
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


found = list(example_faults()) + list(list_faults())
sys.exit("\n".join(found) or 0)
