#!/usr/bin/env python3
"""Assembles kernels.s into kernels.inc, so that the tests need no assembler.

usage: kernels.py OUTPUT        (needs llvm-mc-19)

In kernels.s, "//# macros all" begins what every kernel may use, "//# name chip" a kernel; "//# instructions chip" and
"//# forms chip" begin lines that are one instruction each, the latter for the decoder alone. Of one with {a|b} there are as
many as ways to read it, the last braces changing fastest; of a kernel with {a|b} as many as alternatives, and all its
braces are read alike.
"""
import itertools
import os
import re
import struct
import subprocess
import sys
import tempfile


def text_section(elf):
    offset, size_, count, strings = struct.unpack_from("<Q", elf, 40)[0], *struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + i * size_) for i in range(count)]
    for h in headers:
        name = elf[headers[strings][4] + h[0]:].split(b"\0")[0]
        if name == b".text":
            return struct.unpack(f"<{h[5] // 4}I", elf[h[4]:h[4] + h[5]])
    raise SystemExit("no .text")


def assemble(chip, text):
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        subprocess.run(["llvm-mc-19", "--triple=amdgcn-amd-amdhsa", f"--mcpu={chip}", "--filetype=obj", "-o", out.name],
                       input=text, text=True, check=True)
        return text_section(open(out.name, "rb").read())


def row(kind, name, chip, words):
    return f'{kind}("{name}", "{chip}", {", ".join(f"0x{w:08x}" for w in words)})\n'


def alternatives(text):
    return [part.split("|") if n % 2 else [part] for n, part in enumerate(re.split(r"\{(.*?)\}", text))]


def instructions(line):
    return ["".join(way) for way in itertools.product(*alternatives(line))]


def kernels(text):
    parts = alternatives(text)
    return ["".join(part[n % len(part)] for part in parts) for n in range(max(map(len, parts)))]


def main():
    source = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.s")).read()
    with open(sys.argv[1], "w") as out:
        out.write("/* Written by kernels.py from kernels.s; do not edit. */\n")
        for head, body in re.findall(r"^//# (.*)\n((?:(?!//#).*\n)*)", source, re.M):
            name, chip = head.split()
            if name == "macros":
                macros = body
                continue
            if name not in ("instructions", "forms"):
                for one_name, one_body in zip(kernels(name), kernels(body), strict=True):
                    out.write(row("KERNEL", one_name, chip, assemble(chip, macros + one_body)))
                continue
            lines = [re.sub(r"\s*//.*", "", line).strip() for line in body.split("\n")]
            lines = [one for line in lines if line for one in instructions(line)]
            # One run for all of them: a marker between each two.
            words = assemble(chip, "".join(f"{line}\ns_nop 0xabc\n" for line in lines))
            for line in lines:
                end = words.index(0xBF800ABC)
                out.write(row(name.upper()[:-1], line, chip, words[:end]))
                words = words[end + 1:]


main()
