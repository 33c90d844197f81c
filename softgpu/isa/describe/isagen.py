#!/usr/bin/env python3
"""Writes generated/*.inc from the description of the instruction sets, the *.isa of this folder.

usage: isagen.py [--check]      --check: only say, by its exit code, whether generated/ is current

Each family of chips has a folder (FAMILIES), GFX9 this one. formats.isa has the encodings' fields.
Elsewhere an instruction is one line, in columns:

  ENCODING OPCODE MNEMONIC CHIPS : OPERANDS : FORMS : EFFECT

ENCODING   of formats.isa; flat, global and scratch are flat's three segments, mai is vop3p. vop1,
           vop2 and vopc also have the vop3 form whose opcode is higher by the family's vop1_e64,
           0x100 and 0, unless FORMS says no_e64
OPCODE     hexadecimal
MNEMONIC   an enumerator, ISA_MNEMONIC; "NAME=MNEMONIC" where one mnemonic means two things
CHIPS      "." for all of the family, or a list: 90a, 942, 950
OPERANDS   of ALU instructions "RESULT = SOURCES", by type (TYPES; bN: N bits); "dst" as a source:
           the destination as it was; "k": a literal that always follows; "sgpr.": a scalar result
           where most have a vector. Of memory instructions "NAME.bN" (MEMORY_OPERANDS)
FORMS      modifiers and other encodings that there are (FORMS); half1, half2: the operand is half a
           register, which its type does not say; no_long_dpp: no DPP in 64 bits; no_op_sel: its
           text has none, although it says which halves operands are
EFFECT     memory: load, load_lds, store, store_lds TYPE [d16|high] [pair UNIT] [transpose BITS];
           swap TYPE pair UNIT; atomic OPERATION bN; load or store format COMPONENTS [d16|high];
           load or store texel [mip] [packed [sign]] [d16]; cache.
           matrices: product or sparse SHAPE FORMAT [FORMAT_OF_B] [blocks N].
           others: words of EFFECTS and ATTRIBUTES

What means the same has one name in all families, and lines for it in each that has it. The first
says what it is. Another one may leave columns empty, or "-" for none; they are as in the first, and
only the FORMS that it repeats may differ. There "NAME=MNEMONIC" is how the family spells it.
"""

import collections
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = "scalar vector compare packed matrix lds memory image".split()
Family = collections.namedtuple(
    "Family", "name folder chips vop1_e64 cmpx_masks sdwa long_dpp halves")
FAMILIES = (
    Family("GFX9", "", {"90a": 1, "942": 2, "950": 4}, 0x140, True, True, False, False),
    Family("GFX10", "gfx10", {"1030": 1}, 0x180, False, True, False, False),
    Family("GFX11", "gfx11", {"1100": 1, "1151": 2}, 0x180, False, False, True, True),
)
ENCODINGS = (
    "SOP1 SOP2 SOPK SOPC SOPP SMEM VOP1 VOP2 VOPC VOP3 VOP3P VOPD "
    "DS FLAT GLOBAL SCRATCH MUBUF MTBUF MIMG"
).split()
E64 = {"VOP1": None, "VOP2": 0x100, "VOPC": 0}  # of VOP1 the family's

# Types of vector operands: exec/vector/valu.h. Dwords of each; an "x2" of 32 bits is two registers.
TYPES = dict.fromkeys(
    "b32 u32 i32 u24 i24 carry borrow v2f16 v2i16 f32 scaled32 u16 i16 h16 f16".split(), 1
)
TYPES.update(dict.fromkeys("mask b64 u64 i64 carry64 f64 scaled64".split(), 2))
HAS_CARRY = "carry borrow carry64 scaled32 scaled64".split()  # results with a second one, a mask
E32_FORMS = {"sdwa", "dpp"}  # of the 32-bit encoding; the rest are the 64-bit one's
FORMS = E32_FORMS | set("no_e64 no_long_dpp no_op_sel half1 half2 abs neg neg_hi omod clamp "
                        "op_sel op_sel_hi cbsz blgp".split())
WITHOUT_FLAG = set("no_e64 no_long_dpp no_op_sel half1 half2".split())
# Words that are flags of the row (d16: of image instructions), or attributes of the vector ALU.
EFFECTS = {"branch": "BRANCH", "signed": "SIGNED", "gws": "GWS", "d16": "D16"}
ATTRIBUTES = {w: w.upper() for w in "flush raw minmax keep vcc mix high byte".split()}
ATTRIBUTES["to_exec"] = "CMPX"
MEMORY = set("SMEM DS FLAT GLOBAL SCRATCH MUBUF MTBUF MIMG".split())
MEMORY_OPERANDS = {"dst": 0, "base": 1, "rsrc": 1, "data": 2, "data1": 3, "sampler": 3, "addr": 4}
ACCESS_FIELDS = (
    "kind bytes form atomic unit element_bits components is_half is_high is_mip is_packed"
).split()

Product = collections.namedtuple("Product", "a b size k blocks is_sparse")


class Bad(Exception):
    pass


def dwords(type_):
    """Of an operand as it is written."""
    if type_ in TYPES:
        return TYPES[type_]
    if type_.endswith("x2") and type_[:-2] in TYPES:
        return 2 if type_[:-2] in ("f32", "b32") else 1
    if re.fullmatch(r"b\d+", type_) and int(type_[1:]) % 32 == 0:
        return int(type_[1:]) // 32
    raise Bad(f"no such type: {type_}")


class Instruction:
    def __init__(self, line, family, known):
        """`known`: the first line of each name."""
        columns = [c.strip() for c in line.split(":")] + [""] * 3
        if len(columns) > 7:
            raise Bad("more than four columns")
        if len(columns[0].split()) != 4:
            raise Bad("not ENCODING OPCODE MNEMONIC CHIPS before the first colon")
        encoding, number, name, chips = columns[0].split()
        self.family, self.name = family, name.partition("=")[0]
        first = known.get(self.name)
        self.is_first = first is None
        self.columns = columns = columns[1:4]
        if first:
            columns = [a or b for a, b in zip(columns, first.columns)]
        operands, forms, effect = ("" if c == "-" else c for c in columns)
        self.operands, forms, self.effect = operands, forms.split(), effect.split()
        self.is_matrix = encoding == "mai"
        self.encoding = "VOP3P" if self.is_matrix else encoding.upper()
        self.number = int(number, 16)
        self.is_spelled = "=" in name
        self.mnemonic = name.partition("=")[2] or (first.mnemonic if first else self.name)
        self.chips = self.read_chips(chips)
        if self.encoding not in ENCODINGS or not set(forms) <= FORMS:
            raise Bad("no such encoding or form")
        self.forms = set(forms)
        self.flags, self.types, self.widths = set(), None, [0] * 5
        self.access = self.product = None
        self.attributes = set()
        if self.encoding in MEMORY:
            self.read_memory()
        else:
            self.read_alu()

    def read_chips(self, text):
        chips = self.family.chips
        named = list(chips) if text == "." else text.split(",")
        unknown = set(named) - set(chips)
        if unknown:
            raise Bad(f"no such chip: {', '.join(sorted(unknown))}; there are {', '.join(chips)}")
        if len(set(named)) != len(named):
            raise Bad("a chip is named twice")
        return sum(chips[chip] for chip in named)

    def read_memory(self):
        for operand in self.operands.split():
            name, _, type_ = operand.partition(".")
            self.widths[MEMORY_OPERANDS[name]] = dwords(type_)
        self.access = access(self.effect)
        self.flags = {
            EFFECTS[w]
            for w in self.effect
            if w in EFFECTS and (w != "d16" or self.encoding == "MIMG")
        }
        if (
            self.access
            and self.access["kind"] == "ISA_ATOMIC"
            and self.encoding in ("FLAT", "GLOBAL")
        ):
            self.flags.add("GLC_RETURNS")

    def read_alu(self):
        result, _, sources = self.operands.partition("=")
        result, sources = result.strip(), sources.split()
        if result.startswith("sgpr."):
            result = result[5:]
            self.flags.add("DST_SGPR")
        if self.encoding == "SOPK" and "k" in sources:
            sources.remove("k")
            self.flags.add("LITERAL")
        self.types = (
            [result or "none"] + [result if s == "dst" else s for s in sources] + ["none"] * 3
        )[:4]
        if "k" in sources:
            self.flags |= {"LITERAL", "FACTOR"} if sources.index("k") == 1 else {"LITERAL"}
            self.types = [result] * 4
            sources.remove("k")
        if "dst" in sources:
            self.flags.add("TIED")
            sources.remove("dst")
        self.widths = [dwords(result) if result else 0, 0] + (
            [dwords(s) for s in sources] + [0] * 3
        )[:3]
        self.effects()
        if result == "mask" and self.encoding in ("VOPC", "VOP3") and not self.only_exec():
            self.flags.add("DST_SGPR")

    def effects(self):
        if self.effect and self.effect[0] in ("product", "sparse"):
            self.product = product(self.effect)
            if self.product.is_sparse:
                self.flags.add("SPARSE")
            if self.product.a == "MIXED":
                self.flags.add("MIXED")
            return
        for word in self.effect:
            if word in EFFECTS:
                self.flags.add(EFFECTS[word])
            elif word in ATTRIBUTES:
                self.attributes.add(ATTRIBUTES[word])
            else:
                raise Bad(f"no such effect: {word}")

    def rows(self):
        """(encoding, number, flags, widths) of each encoding."""
        modifiers = {f.upper() for f in self.forms - E32_FORMS - WITHOUT_FLAG}
        short = {f.upper() for f in self.forms & E32_FORMS}
        if not self.family.sdwa and "SDWA" in short:
            short.remove("SDWA")
            short |= {"DPP"} if self.encoding == "VOPC" else set()  # the others say so themselves
        if self.is_matrix:
            modifiers.add("MAI")
        if self.encoding == "VOPD":
            return [("VOPD", self.number, *self.short_row(set()))]
        if self.encoding not in E64:
            wide = (set(), self.widths)
            if self.encoding == "VOP3":
                wide = self.wide_flags()
            elif self.encoding == "VOP3P" and self.family.long_dpp and "dpp" in self.forms:
                wide = ({"DPP"}, self.widths)
            return [(self.encoding, self.number, self.flags | modifiers | wide[0], wide[1])]
        rows = [(self.encoding, self.number, *self.short_row(short))]
        if "no_e64" not in self.forms:
            flags, widths = self.wide_flags()
            above = self.family.vop1_e64 if self.encoding == "VOP1" else E64[self.encoding]
            rows.append(("VOP3", self.number + above, self.flags | modifiers | flags, widths))
        elif modifiers:
            raise Bad("modifiers without a 64-bit encoding")
        return rows

    def has_mask_source(self):
        return bool(self.types) and "mask" in self.types[1:]

    def only_exec(self):
        """A comparison whose mask goes nowhere else."""
        return "CMPX" in self.attributes and not self.family.cmpx_masks

    def has_long_dpp(self):
        """In 64 bits: where none of the registers is a pair."""
        is_mask = [t == "mask" for t in self.types]
        widths = self.widths[:1] + self.widths[2:]
        wide = any(w > 1 and not mask for w, mask in zip(widths, is_mask))
        wanted = self.family.long_dpp and "no_long_dpp" not in self.forms
        return wanted and not wide and self.widths[2] > 0

    def halves(self):
        """Which operands are halves of registers."""
        if not self.family.halves:
            return set()
        types = self.types[:3] if self.flags & {"TIED", "LITERAL"} else self.types
        names = ("HALF_DST", "HALF_0", "HALF_1", "HALF_2")
        found = {n for n, t in zip(names, types) if t in ("f16", "u16", "i16", "h16")}
        return found | {f"HALF_{n}" for n in "12" if f"half{n}" in self.forms}

    def exec_flag(self):
        return {"ONLY_EXEC"} if self.only_exec() else set()

    def short_row(self, forms):
        """The 32-bit encoding: masks are vcc, and no operand."""
        flags, widths = self.flags | forms | self.exec_flag() | self.halves(), list(self.widths)
        if self.encoding == "VOPC":
            return flags - {"DST_SGPR"}, [0] + widths[1:]
        if self.types[0] in HAS_CARRY:
            flags.add("CARRY_OUT")
        if self.has_mask_source():
            flags.add("CARRY_IN")
            widths[4] = 0
        return flags, widths

    def wide_flags(self):
        """What the 64-bit encoding has besides."""
        widths, flags = list(self.widths), self.exec_flag()
        if flags:
            widths[0] = 0
        if self.has_mask_source():
            flags.add("MASK")
        if self.types[0] in HAS_CARRY:
            widths[1] = 2
            flags.add("VOP3B")
        if self.has_long_dpp():
            flags.add("DPP")
        halves = self.halves()
        if halves and "no_op_sel" not in self.forms:
            flags.add("OP_SEL")
        return flags | halves, widths

    def vector_operands(self):
        """(types, attributes) for exec/vector's rows; None where they have no types."""
        plain = [t[:-2] if t.endswith("x2") else t for t in self.types]
        if any(t not in TYPES and t != "none" for t in plain):
            return None
        attributes = set(self.attributes)
        pairs = {t for t in self.types if t.endswith("x2")}
        if pairs:
            attributes.add("PKMOV" if "b32x2" in pairs else "PK32" if "f32x2" in pairs else "PK16")
        if "PK32" in attributes:
            plain[0] = "f32x2"  # these have functions of their own
        if "TIED" in self.flags:
            attributes.add("TIED")
        return plain, attributes


def access(words):
    """isa_access_t of describe/memory.h."""
    if not words or words[0] in EFFECTS:
        return None
    out = {"kind": "ISA_" + words[0].upper()}
    if words[0] == "cache":
        return out
    if words[0] == "swap":
        out = {"kind": "ISA_ATOMIC", "atomic": "ISA_ATOMIC_SWAP"}
    elif words[0] == "atomic":
        out["atomic"] = "ISA_ATOMIC_" + words[1].upper()
        words = words[1:]
    if words[1] == "format":
        out["components"] = len(words[2])
        words = words[1:]
    elif words[1] != "texel":
        bits = int(words[1][1:])
        out["bytes"] = bits // 8
        if bits < 32:
            sign = "SIGN" if words[1][0] == "i" else "ZERO"
            out["form"] = (
                "ISA_FORM_"
                + ("D16_" if "d16" in words else "HIGH_" if "high" in words else "")
                + sign
            )
    rest = iter(words[2:])
    for word in rest:
        if word == "pair":
            out["unit"] = int(next(rest))
        elif word == "transpose":
            out["element_bits"] = int(next(rest))
        elif word in ("d16", "high", "mip", "packed"):
            if "form" not in out:
                out["is_" + {"d16": "half"}.get(word, word)] = "true"
                if word == "high":
                    out["is_half"] = "true"
        elif word == "sign":
            out["form"] = "ISA_FORM_SIGN"
        else:
            raise Bad(f"no such access: {word}")
    return out


def product(words):
    shape, a = words[1], words[2]
    rest = words[3:]
    blocks = int(rest[rest.index("blocks") + 1]) if "blocks" in rest else 1
    b = rest[0] if rest and rest[0] != "blocks" else a
    size, _, k = (int(n) for n in shape.split("x"))
    return Product(a.upper(), b.upper(), size, k, blocks, words[0] == "sparse")


def read_instructions():
    out, known, lines = [], {}, {}
    for family, name in ((family, name) for family in FAMILIES for name in FILES):
        path = os.path.join(family.folder, name + ".isa")
        if family.folder and not os.path.exists(os.path.join(HERE, path)):
            continue
        for number, line in enumerate(open(os.path.join(HERE, path)), 1):
            line = line.split("#")[0].rstrip()
            if line:
                try:
                    out.append(Instruction(line, family, known))
                    out[-1].where = f"{path}:{number}"
                    key = (family.name, out[-1].encoding, out[-1].name)
                    if lines.setdefault(key, out[-1].where) != out[-1].where:
                        raise Bad(f"is also at {lines[key]}")
                    known.setdefault(out[-1].name, out[-1])
                except (Bad, KeyError, ValueError, IndexError) as error:
                    text = f"unknown: {error}" if isinstance(error, KeyError) else error
                    sys.exit(f"{path}:{number}: {text}\n  {line}")
    return out


def read_formats(family):
    """(name, decoder, fixed bits, [(field, low, bits)], dwords) per line of its formats.isa."""
    path = os.path.join(HERE, family.folder, "formats.isa")
    for number, line in enumerate(open(path), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        name, decoder, fields, fixed, at, base = words[0], words[1], [], "", 32, 0
        for word in words[2:]:
            if "=" in word:
                field, low, bits = re.fullmatch(r"(\w+)=(\d+)\+(\d+)", word).groups()
                fields.append((field, int(low), int(bits)))
                continue
            if word == "/":
                if at:
                    sys.exit(f"{path}:{number}: {at} bits left")
                at, base = 32, base + 32
                continue
            field, _, bits = word.partition(":")
            width = int(bits) if bits else len(word)
            at -= width
            if bits:
                fields.append((field, base + at, width))
            elif not fields and set(word) <= {"0", "1"}:
                fixed += word
        if at:
            sys.exit(f"{path}:{number}: {at} bits too many or too few")
        yield name, decoder, fixed, fields, base // 32 + 1


def in_order(formats):
    """As the decoder tries them: the longest prefix first."""
    return sorted((f for f in formats if f[1] != "+"), key=lambda f: -len(f[2]))


def opcode_field(fields):
    return next((low, bits) for field, low, bits in fields if field == "op")


def has_opcode(formats, encoding, number):
    """Whether an instruction of it is decoded as one of that encoding."""
    name = "flat" if encoding in ("GLOBAL", "SCRATCH") else encoding.lower()
    fixed, fields = next(f[2:4] for f in formats if f[0] == name)
    low, bits = opcode_field(fields)
    if name == "vopd":
        number &= (1 << bits) - 1  # the second one has a bit more
    if number >> bits and any(field == "op3" for field, _, _ in fields):
        number &= (1 << bits) - 1  # MTBUF's fourth bit is elsewhere
    if number >> bits:
        return False
    word = int(fixed, 2) << (32 - len(fixed)) | number << low
    return name == next(
        f[0] for f in in_order(formats) if word >> (32 - len(f[2])) == int(f[2], 2)
    )


def field_names(formats):
    return [f"{name.upper()}_{f[0].upper()}" for name, _, _, fields, _ in formats for f in fields]


def text_of_fields():
    """Of all families. A family has none of those that only others have."""
    names = [name for family in FAMILIES for name in field_names(read_formats(family))]
    return [f"ISA_FIELD({name})" for name in dict.fromkeys(names)]


def text_of_formats(family):
    formats, out = list(read_formats(family)), []
    for name, _, _, fields, _ in formats:
        prefix = name.upper()
        out += [f"ISA_FIELD({prefix}_{field.upper()}, {low}, {n})" for field, low, n in fields]
    for name, decoder, fixed, fields, count in in_order(formats):
        low, bits = opcode_field(fields)
        out.append(
            f"ISA_FORMAT({name.upper()}, {32 - len(fixed)}, {int(fixed, 2):#x}, "
            f"{low}, {bits}, {count}, {decoder})"
        )
    return out


def text_of_opcodes(instructions, family):
    rows, formats = {}, list(read_formats(family))
    instructions = [i for i in instructions if i.family is family]
    for i in instructions:
        for encoding, number, flags, widths in i.rows():
            if not has_opcode(formats, encoding, number):
                sys.exit(f"{i.where}: {i.name}: {encoding} has no opcode {number:#x}")
            for bit in family.chips.values():
                if i.chips & bit and rows.setdefault((encoding, number, bit), i) is not i:
                    other = rows[encoding, number, bit]
                    sys.exit(
                        f"{i.where}: {i.name}: {encoding} {number:#x} is taken by {other.name}, "
                        f"{other.where}"
                    )
    out = []
    for i in instructions:
        for encoding, number, flags, widths in i.rows():
            text = " | ".join("ISA_F_" + f for f in sorted(flags)) or "0"
            sizes = ", ".join(map(str, widths))
            out.append(
                (
                    ENCODINGS.index(encoding),
                    number,
                    i.chips,
                    f"ISA_OPCODE({encoding}, {number:#x}, {i.name}, {i.chips}, {text}, {sizes})",
                )
            )
    return [row[3] for row in sorted(out)]


def text_of_spellings(instructions, family):
    """Where the family spells it in another way than the first one does."""
    first = {i.name: i.mnemonic for i in instructions if i.is_first}
    own = {i.name: i.mnemonic for i in instructions if i.family is family}
    own.update({i.name: i.mnemonic for i in instructions if i.family is family and i.is_spelled})
    return [f'[ISA_{n}] = "{own[n]}",' for n in sorted(own) if own[n] != first[n]]


def text_of_memory(instructions):
    out = []
    for i in instructions:
        if i.access:
            fields = [f".{key} = {i.access[key]}" for key in ACCESS_FIELDS if key in i.access]
            out.append(f"[ISA_{i.name}] = {{{', '.join(fields)}}},")
    return out


def text_of_matrix(instructions):
    out = []
    for i in instructions:
        if i.product:
            a, b, *numbers, is_sparse = i.product
            numbers = ", ".join(map(str, numbers))
            sparse = str(is_sparse).lower()
            out.append(f"{{ISA_{i.name}, MFMA_{a}, MFMA_{b}, {numbers}, {sparse}}},")
    return out


def text_of_vector(instructions):
    out = []
    for i in instructions:
        found = i.vector_operands() if i.encoding.startswith("VOP") and not i.product else None
        if found:
            attributes = " | ".join("VALU_" + a for a in sorted(found[1])) or "0"
            out.append(f"#define OPERANDS_{i.name} {', '.join(found[0])}, {attributes}")
    return out


def text_of_mnemonics(instructions):
    return [
        f"ISA_MNEMONIC({i.name}, {i.mnemonic})" for i in sorted(instructions, key=lambda i: i.name)
    ]


def texts():
    """(path below generated/, lines) of each file."""
    instructions = read_instructions()
    first = [i for i in instructions if i.is_first]
    yield "fields", text_of_fields()
    yield "memory", text_of_memory(first)
    yield "matrix", text_of_matrix(first)
    yield "vector", text_of_vector(first)
    yield "mnemonics", text_of_mnemonics(first)
    for family in FAMILIES:
        yield os.path.join(family.folder, "formats"), text_of_formats(family)
        yield os.path.join(family.folder, "opcodes"), text_of_opcodes(instructions, family)
        if family.folder:
            spellings = text_of_spellings(instructions, family)
            yield os.path.join(family.folder, "spellings"), spellings


def main():
    stale = []
    for name, lines in list(texts()):
        path = os.path.join(HERE, "generated", name + ".inc")
        text = (
            "/* Written by isagen.py from *.isa; do not edit. */\n/* clang-format off */\n"
            + "\n".join(lines)
            + "\n/* clang-format on */\n"
        )
        if not os.path.exists(path) or open(path).read() != text:
            stale.append(name)
            if sys.argv[1:] != ["--check"]:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                open(path, "w").write(text)
    if sys.argv[1:] == ["--check"] and stale:
        sys.exit(f"not current: {', '.join(stale)}; run isagen.py")


main()
