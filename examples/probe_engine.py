#!/usr/bin/env python3
"""An engine for `rawhal exec --probe-engine`: counts a kernel's waves and lanes.

usage: probe_engine.py FOLDER   with original.bin, name and target; see docs/probe-engine.md

A few instructions that count come before the original's code, which stays as it is, byte for byte.
A kernel that could tell that its code has moved is declined, with exit status 77. Needs clang with
its target AMDGPU, and ld.lld of the same version. Has not met hardware."""
import json, os, shutil, struct, subprocess, sys

MAPS = [("counts", "dispatch", 16), ("groups", "work-group", 8)]  # waves and lanes; waves of each
FORMS = {**dict(zip(range(0xCC, 0xD4), "BHIQbhiq")), **dict(zip(range(0xD9, 0xE0), "BHIHIHI"))}


def decline(why):
    print(f"declined: {why}")
    sys.exit(77)


def unpack(data, at=0):
    """A value of MessagePack, and where the next begins."""
    kind, form, at = data[at], FORMS.get(data[at]), at + 1
    number = kind & (0x1F if 0xA0 <= kind < 0xC0 else 0x0F)
    if form:
        number, = struct.unpack_from(">" + form, data, at)
        at += struct.calcsize(form)
    if kind < 0x80 or kind >= 0xE0:
        return kind - 256 * (kind >= 0xE0), at
    if 0xC0 <= kind < 0xD4:
        return number if form else kind == 0xC3, at
    if 0xA0 <= kind < 0xC0 or 0xD9 <= kind < 0xDC:
        return data[at:at + number].decode(), at + number
    is_map, values = kind < 0x90 or kind >= 0xDE, []
    for _ in range(number * (1 + is_map)):
        value, at = unpack(data, at)
        values.append(value)
    return dict(zip(values[::2], values[1::2])) if is_map else values, at


def read_elf(data):
    """Symbols, as address, place in the file and size; metadata; addresses of relocations."""
    symbols, metadata, relocated = {}, [], []
    start, size, count = struct.unpack_from("<Q10xHH", data, 40)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * i) for i in range(count)]
    for _, kind, _, _, offset, length, link, *_ in sections:
        held = data[offset:offset + length]
        if kind in (2, 11):
            for text, _, _, section, value, bytes_ in struct.iter_unpack("<IBBHQQ", held):
                text, place = text + sections[link][4], sections[section % count]
                name = data[text:data.index(0, text)].decode()
                symbols[name] = value, value - place[3] + place[4], bytes_
        if kind == 4:
            relocated += [at for at, _, _ in struct.iter_unpack("<QQq", held)]
        while kind == 7 and held:  # notes
            owner, bytes_, type_ = struct.unpack_from("<III", held)
            body = 12 + (owner + 3 & ~3)
            if held[12:18] == b"AMDGPU" and type_ == 32:
                metadata.append(unpack(held, body)[0])
            held = held[body + (bytes_ + 3 & ~3):]
    return symbols, metadata, relocated


def counting(descriptor, offset):
    """Instructions that leave all that a kernel is given as it is; their registers are in the
    descriptor then. Its arguments' address, work-group's id and free registers follow from it."""
    three, one, two, properties, preload = struct.unpack_from("<IIIHH", descriptor, 44)
    user = two >> 1 & 31
    free = user + bin(two & 0x781).count("1") + 3 & ~3
    arguments = 4 * (properties & 1) + 2 * (properties >> 1 & 1) + 2 * (properties >> 2 & 1)
    own = max((three & 63) + 1, 2)  # v3 to v7 are needed; accumulators come after fours of them
    vgprs = (one & 63) + (own > (three & 63) + 1)
    if preload & 0x7F or not properties & 8 or vgprs > 63:
        decline("it has no registers left, or not the address of its arguments in them")
    sgprs = max(one >> 6 & 15, 2 * ((free + 8 + 6 + 15) // 16 - 1))
    struct.pack_into("<I", descriptor, 8, offset + 8 * len(MAPS))
    struct.pack_into("<II", descriptor, 44, three & ~63 | own - 1, one & ~1023 | sgprs << 6 | vgprs)
    index = f"s_lshl_b32 s{free + 7}, s{user}, 3"  # of a work-group, where the grid is a line
    return f"""s_load_dwordx4 s[{free}:{free + 3}], s[{arguments}:{arguments + 1}], {offset}
s_mov_b64 s[{free + 4}:{free + 5}], exec
s_bcnt1_i32_b64 s{free + 6}, exec
{index if two >> 7 & 7 == 1 else f"s_mov_b32 s{free + 7}, 0"}
s_mov_b64 exec, 1
v_mov_b32 v3, 0
v_mov_b32 v4, 1
v_mov_b32 v5, 0
v_mov_b32 v6, s{free + 6}
v_mov_b32 v7, 0
s_waitcnt lgkmcnt(0)
global_atomic_add_x2 v3, v[4:5], s[{free}:{free + 1}]
global_atomic_add_x2 v3, v[6:7], s[{free}:{free + 1}] offset:8
v_mov_b32 v3, s{free + 7}
global_atomic_add_x2 v3, v[4:5], s[{free + 2}:{free + 3}]
s_waitcnt vmcnt(0)
s_mov_b64 exec, s[{free + 4}:{free + 5}]"""


os.chdir(sys.argv[1])
data, name = open("original.bin", "rb").read(), open("name").read()
processor = open("target").read().split("--")[1].split(":")[0]
symbols, metadata, relocated = read_elf(data)
made = [{**one, "amdhsa.kernels": [kernel]} for one in metadata
        for kernel in one["amdhsa.kernels"] if kernel[".name"] == name and ".args" in kernel]
if not made or processor not in ("gfx90a", "gfx942", "gfx950") or data[8] not in (2, 3, 4):
    decline("its arguments, its processor or its code object version is not known")
kernel = made[0]["amdhsa.kernels"][0]
(_, described, _), (address, place, size) = symbols[kernel[".symbol"]], symbols[name]
words = struct.iter_unpack("<I", data[place:place + size])  # constants, too: better declined
if any(address <= at < address + size for at in relocated) or any(
        w >> 23 == 0x17D and 0x1C <= w >> 8 & 0xFF <= 0x1E or w >> 23 == 0x174 for w, in words):
    decline("it has relocations, s_getpc, s_setpc, s_swappc or s_call")
for argument in kernel[".args"]:
    argument.pop(".name", None)  # which may be a word of YAML's, as n is
offset = kernel[".kernarg_segment_size"] + 7 & ~7
kernel[".kernarg_segment_size"] = offset + 8 * len(MAPS)
kernel[".args"] += [{".address_space": "global", ".offset": offset + 8 * i, ".size": 8,
                     ".value_kind": "global_buffer"} for i in range(len(MAPS))]
descriptor = bytearray(data[described:described + 64])
before = counting(descriptor, offset)
with open("probed.s", "w") as file:
    file.write(f""".text
.protected "{name}", "{name}.kd"
.globl "{name}", "{name}.kd"
.type "{name}", @function
.p2align 8
"{name}":
{before}
.incbin "original.bin", {place}, {size}
.size "{name}", .-"{name}"
.section .rodata, "a"
.type "{name}.kd", @object
.size "{name}.kd", 64
.p2align 6
"{name}.kd": .byte {",".join(map(str, descriptor[:16]))}
.quad "{name}"-(.-16)
.byte {",".join(map(str, descriptor[24:]))}
.amdgpu_metadata
{json.dumps(made[0])}
.end_amdgpu_metadata
""")
for end in ("", "-22", "-21", "-20", "-19", "-18", "-17", "-16", "-15"):
    if shutil.which("clang" + end) and shutil.which("ld.lld" + end):
        break
subprocess.run(["clang" + end, "-x", "assembler", "--target=amdgcn-amd-amdhsa", "probed.s", "-c",
                "-oprobed.o", f"-mcpu={processor}", f"-mcode-object-version={data[8] + 2}"],
               check=True)
subprocess.run(["ld.lld" + end, "-shared", "probed.o", "-o", "probed.bin"], check=True)
with open("manifest.json", "w") as file:
    json.dump({"version": 1, "variables": False, "maps": [
        dict(name=n, level=level, record_bytes=size, capacity=1) for n, level, size in MAPS]}, file)
