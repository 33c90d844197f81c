#!/usr/bin/env python3
"""Holds what the description of the instruction set says of gfx950 beyond gfx942 against an assembler.

usage: gfx950_opcodes.py OPCODES_INC        (generated/opcodes.inc of softgpu/isa/describe)

LLVM 19, which llvm_opcodes.py asks, does not know gfx950; llvm-mc-22 does. Where that is not installed, an assembler is
named by RAWHAL_GFX950_ASSEMBLER, the beginning of a command that takes cc1as options, such as "python3 -m ziglang clang". Each
mnemonic below is assembled with a different register in each field, and again with each modifier; the words say encoding
and opcode, what assembles says which modifiers there are. A name of its own ("_ocp") is an instruction that computes
something else under the same mnemonic: gfx950's 8-bit floats are those of OCP.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

from described import compare, described

GFX950 = 4  # of the masks of chips

V_DST, V_SRC = 32, (64, 128, 192)

# Mnemonic: widths of the result and of the sources in dwords.
VALU = {
    "v_cvt_f32_bf16": (1, 1), "v_prng_b32": (1, 1), "v_permlane16_swap_b32": (1, 1), "v_permlane32_swap_b32": (1, 1),
    "v_ashr_pk_i8_i32": (1, 1, 1, 1), "v_ashr_pk_u8_i32": (1, 1, 1, 1),
    "v_bitop3_b16": (1, 1, 1, 1), "v_bitop3_b32": (1, 1, 1, 1),
    "v_maximum3_f32": (1, 1, 1, 1), "v_minimum3_f32": (1, 1, 1, 1),
    "v_pk_maximum3_f16": (1, 1, 1, 1), "v_pk_minimum3_f16": (1, 1, 1, 1),
    "v_cvt_pk_bf16_f32": (1, 1, 1), "v_cvt_pk_f16_f32": (1, 1, 1),
    "v_cvt_sr_bf16_f32": (1, 1, 1), "v_cvt_sr_f16_f32": (1, 1, 1),
    "v_dot2_f32_bf16": (1, 1, 1, 1), "v_dot2c_f32_bf16": (1, 1, 1),
}
for small in ("fp8", "bf8"):
    VALU[f"v_cvt_scalef32_pk_{small}_f32"] = (1, 1, 1, 1)
    VALU[f"v_cvt_scalef32_sr_{small}_f32"] = (1, 1, 1, 1)
    VALU[f"v_cvt_scalef32_pk_f32_{small}"] = (2, 1, 1)
    VALU[f"v_cvt_scalef32_f32_{small}"] = VALU[f"v_cvt_scalef32_f16_{small}"] = (1, 1, 1)
    for half in ("f16", "bf16"):
        VALU[f"v_cvt_scalef32_pk_{small}_{half}"] = VALU[f"v_cvt_scalef32_pk_{half}_{small}"] = (1, 1, 1)
        VALU[f"v_cvt_scalef32_sr_{small}_{half}"] = (1, 1, 1, 1)
for small in ("fp6", "bf6"):
    VALU[f"v_cvt_scalef32_2xpk16_{small}_f32"] = (6, 16, 16, 1)
    VALU[f"v_cvt_scalef32_pk32_f32_{small}"] = (32, 6, 1)
    VALU[f"v_cvt_scalef32_sr_pk32_{small}_f32"] = (6, 32, 1, 1)
    for half in ("f16", "bf16"):
        VALU[f"v_cvt_scalef32_pk32_{half}_{small}"] = (16, 6, 1)
        VALU[f"v_cvt_scalef32_pk32_{small}_{half}"] = (6, 16, 1)
        VALU[f"v_cvt_scalef32_sr_pk32_{small}_{half}"] = (6, 16, 1, 1)
VALU.update({"v_cvt_scalef32_pk_fp4_f32": (1, 1, 1, 1), "v_cvt_scalef32_sr_pk_fp4_f32": (1, 2, 1, 1),
             "v_cvt_scalef32_pk_f32_fp4": (2, 1, 1)})
for half in ("f16", "bf16"):
    VALU[f"v_cvt_scalef32_pk_fp4_{half}"] = VALU[f"v_cvt_scalef32_pk_{half}_fp4"] = (1, 1, 1)
    VALU[f"v_cvt_scalef32_sr_pk_fp4_{half}"] = (1, 1, 1, 1)

MATRIX = {"v_mfma_f32_16x16x128_f8f6f4": (4, 8, 8, 4), "v_mfma_f32_32x32x64_f8f6f4": (16, 8, 8, 16)}
for kind in ("f32_{}_f16", "f32_{}_bf16"):
    MATRIX["v_mfma_" + kind.format("16x16x32")] = (4, 4, 4, 4)
    MATRIX["v_mfma_" + kind.format("32x32x16")] = (16, 4, 4, 16)
    MATRIX["v_smfmac_" + kind.format("16x16x64")] = (4, 4, 8, 1)
    MATRIX["v_smfmac_" + kind.format("32x32x32")] = (16, 4, 8, 1)
MATRIX.update({"v_mfma_i32_16x16x64_i8": (4, 4, 4, 4), "v_mfma_i32_32x32x32_i8": (16, 4, 4, 16)})
for kind in ("i32_{}_i8", "f32_{}_fp8_fp8", "f32_{}_fp8_bf8", "f32_{}_bf8_fp8", "f32_{}_bf8_bf8"):
    MATRIX["v_smfmac_" + kind.format("16x16x128")] = (4, 4, 8, 1)
    MATRIX["v_smfmac_" + kind.format("32x32x64")] = (16, 4, 8, 1)

DS = {"ds_read_b64_tr_b4": 2, "ds_read_b96_tr_b6": 3, "ds_read_b64_tr_b8": 2, "ds_read_b64_tr_b16": 2}
LOADS = ("global_load_lds_dwordx3", "global_load_lds_dwordx4")
BUFFER_ATOMICS = ("buffer_atomic_pk_add_bf16",)
OCP = {"v_cvt_f32_fp8": (1, 1), "v_cvt_f32_bf8": (1, 1), "v_cvt_pk_f32_fp8": (2, 1), "v_cvt_pk_f32_bf8": (2, 1),
       "v_cvt_pk_fp8_f32": (1, 1, 1), "v_cvt_pk_bf8_f32": (1, 1, 1),
       "v_cvt_sr_fp8_f32": (1, 1, 1), "v_cvt_sr_bf8_f32": (1, 1, 1)}
GONE = {"v_mfma_f32_16x16x8_xf32": (4, 2, 2, 4), "v_mfma_f32_32x32x4_xf32": (16, 2, 2, 16)}


def assemble(lines, chip="gfx950"):
    """Per line its words, or None."""
    named = os.environ.get("RAWHAL_GFX950_ASSEMBLER")
    tool = ["llvm-mc-22", "--triple=amdgcn-amd-amdhsa", f"--mcpu={chip}", "--show-encoding"]
    if named:
        tool = shlex.split(named) + ["-cc1as", "-triple", "amdgcn-amd-amdhsa", "-target-cpu", chip, "-show-encoding",
                                     "-filetype", "asm", "-o", "-"]
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        done = subprocess.run(tool + [file.name], capture_output=True, text=True)
    bad = {int(n) for n in re.findall(r"\.s:(\d+):\d+: error", done.stderr)}
    encodings = re.findall(r"encoding: \[(.*)\]", done.stdout)
    out = [None] * len(lines)
    good = [n for n in range(len(lines)) if n + 1 not in bad]
    if len(good) != len(encodings):
        sys.exit("the assembler does not know gfx950: " + done.stderr[:300])
    for n, text in zip(good, encodings):
        data = bytes(int(x, 16) for x in text.split(","))
        out[n] = [int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)]
    return out


def register(first, width, kind="v"):
    return f"{kind}{first}" if width == 1 else f"{kind}[{first}:{first + width - 1}]"


def operands(widths, wrap="{}"):
    texts = [register(V_DST, widths[0])] + [register(V_SRC[n], w) for n, w in enumerate(widths[1:])]
    return ", ".join([texts[0], wrap.format(texts[1])] + texts[2:])


def opcode(words):
    word = words[0]
    for name, shift, prefix, low, bits in (("VOP1", 25, 0x3F, 9, 8), ("VOP2", 31, 0, 25, 6), ("VOP3P", 23, 0x1A7, 16, 7),
                                           ("VOP3", 26, 0x34, 16, 10), ("DS", 26, 0x36, 17, 8), ("GLOBAL", 26, 0x37, 18, 7),
                                           ("MUBUF", 26, 0x38, 18, 7)):
        if word >> shift == prefix:
            return name, word >> low & ((1 << bits) - 1)
    sys.exit(f"unknown encoding {word:#x}")


def probes(name, widths):
    """(flag, text) of every modifier that the forms of an instruction may have."""
    plain = operands(widths)
    zeros = lambda n, one: "[" + ",".join("1" if i == one else "0" for i in range(n)) + "]"
    sources = len(widths) - 1
    return [("SDWA", f"{name}_sdwa {plain} src0_sel:WORD_1"), ("DPP", f"{name}_dpp {plain} row_shl:1"),
            ("NEG", f"{name}_e64 {operands(widths, '-{}')}"), ("NEG", f"{name} {plain} neg_lo:{zeros(sources, 0)}"),
            ("NEG_HI", f"{name} {plain} neg_hi:{zeros(sources, 0)}"),
            ("ABS", f"{name}_e64 {operands(widths, '|{}|')}"), ("OMOD", f"{name}_e64 {plain} mul:2"),
            ("CLAMP", f"{name}_e64 {plain} clamp"), ("OP_SEL", f"{name} {plain} op_sel:{zeros(sources + 1, sources)}"),
            ("OP_SEL", f"{name} {plain} op_sel:{zeros(sources + 1, 0)}"), ("OP_SEL", f"{name} {plain} op_sel:{zeros(sources, 0)}"),
            ("OP_SEL_HI", f"{name} {plain} op_sel_hi:{zeros(sources, 1)}"),
            ("CBSZ", f"{name} {plain} cbsz:1"), ("BLGP", f"{name} {plain} blgp:1")]


def row(name, widths, words, flags, enumerator=None):
    encoding, number = opcode(words)
    short = {"VOP1": {"SDWA", "DPP"}, "VOP2": {"SDWA", "DPP", "TIED"}, "VOP3": {"NEG", "ABS", "OMOD", "CLAMP", "OP_SEL", "TIED"}}
    flags = flags & short.get(encoding, flags)
    sources = (list(widths[1:]) + [0, 0])[:3]
    return (encoding, number, enumerator or name, frozenset(flags), (widths[0], 0, *sources))


def valu_rows(name, widths, enumerator=None):
    found = probes(name, widths)
    results = assemble([text for _, text in found] + [f"{name} {operands(widths)}", f"{name}_e64 {operands(widths)}"])
    flags = {flag for (flag, _), words in zip(found, results) if words}
    if re.match(r"v_(smfmac|mfma)", name):
        flags.add("MAI")
    if "dot2c" in name:
        flags.add("TIED")
    forms = [words for words in results[-2:] if words]
    if not forms:
        sys.exit(f"{name} does not assemble")
    return {row(name, widths, words, flags, enumerator) for words in forms}


def main():
    rows = set()
    for name, widths in {**VALU, **MATRIX}.items():
        rows |= valu_rows(name, widths)
    for name, widths in OCP.items():
        rows |= valu_rows(name, widths, name + "_ocp")
    for name, width in DS.items():
        words = assemble([f"{name} {register(V_DST, width)}, v64"])[0]
        rows.add((*opcode(words), name, frozenset(), (width, 0, 0, 0, 1)))
    for name in LOADS:
        words = assemble([f"{name} v[64:65], off"])[0]
        rows.add((*opcode(words), name, frozenset(), (0, 0, 0, 0, 2)))
    for name in BUFFER_ATOMICS:
        words = assemble([f"{name} v64, v128, s[32:35], 0 offen"])[0]
        rows.add((*opcode(words), name, frozenset(), (0, 4, 1, 0, 1)))
    words = assemble(["v_mfma_ld_scale_b32 v64, v128"])[0]
    rows.add((*opcode(words), "v_mfma_ld_scale_b32", frozenset({"OP_SEL", "OP_SEL_HI"}), (0, 0, 1, 1, 0)))
    known = described(sys.argv[1])
    for name, widths in GONE.items():
        text = f"{name} {operands(widths)}"
        if assemble([text])[0]:
            sys.exit(f"{name} assembles for gfx950")
        encoding, number = opcode(assemble([text], "gfx942")[0])
        if any(key[:2] == (encoding, number) and chips & GFX950 for key, chips in known.items()):
            sys.exit(f"{name} is described for gfx950")
    compare({row: GFX950 for row in rows}, {key: chips for key, chips in known.items() if chips == GFX950}, GFX950)


main()
