#!/usr/bin/env python3
"""The tutorial's pages show programs and what they say: that is what the files have, and what they do say.

usage: tutorial.py CHECKOUT BUILD
Code that is followed by the name of a file is that file. A line "$ PROGRAM ARGUMENTS" runs the program, from the checkout, and
the rest of its block is its output; "..." stands for anything in a line.
"""
import os
import re
import subprocess
import sys

CHECKOUT, BUILD = map(os.path.abspath, sys.argv[1:3])
FOLDER = os.path.join(CHECKOUT, "docs/tutorial")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n`(\S+)`)?", re.M | re.S)


def pattern(lines):
    return "".join(".*?".join(map(re.escape, line.split("..."))) + "\n" for line in lines)


def faults(page):
    text = open(os.path.join(FOLDER, page)).read()
    for kind, block, file in BLOCK.findall(text):
        if kind == "c" and block != open(os.path.join(CHECKOUT, file)).read():
            yield f"{page}: does not show {file} as it is"
        if kind != "text":
            continue
        command, *wanted = block.rstrip("\n").split("\n")
        program, *arguments = command.removeprefix("$ ").split()
        program = os.path.join(BUILD, program.removeprefix("build/release/"))
        done = subprocess.run([program, *arguments], cwd=CHECKOUT, text=True, timeout=240,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode or not re.fullmatch(pattern(wanted), done.stdout):
            yield f"{page}: {command}: status {done.returncode}, said\n{done.stdout}"
    if len(BLOCK.findall(text)) < 2:
        yield f"{page}: shows no program, or not what it says"


pages = sorted(name for name in os.listdir(FOLDER) if name.endswith(".md"))
programs = sorted(name for name in os.listdir(os.path.join(CHECKOUT, "examples/tutorial")) if name.endswith(".c"))
found = [fault for page in pages for fault in faults(page)]
if [name.removesuffix(".c") for name in programs] != [name.removesuffix(".md") for name in pages]:
    found.append(f"programs {programs}, pages {pages}")
sys.exit("\n".join(found) or 0)
