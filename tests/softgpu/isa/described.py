"""The rows of generated/opcodes.inc, and how they differ from what an oracle says."""

import re
import sys

# Flags that tell what an instruction does, of which (dis)assemblers say nothing.
OWN = {"BRANCH", "SIGNED", "GWS", "D16", "FACTOR", "SPARSE", "MIXED", "MASK", "ONLY_EXEC"}


def described(path):
    """{(encoding, opcode, name, flags, widths): chips}."""
    rows = {}
    for line in open(path):
        found = re.match(r"ISA_OPCODE\((\w+), (\w+), (\w+), (\d+), ([^,]*), (.*)\)$", line)
        if found:
            encoding, number, name, chips, flags, widths = found.groups()
            flags = {f.strip()[len("ISA_F_") :] for f in flags.split("|") if f.strip() != "0"}
            rows[
                encoding,
                int(number, 16),
                name,
                frozenset(flags - OWN),
                tuple(map(int, widths.split(", "))),
            ] = int(chips)
    return rows


def compare(wanted, rows, chips):
    """Exits with 1 and the differences unless the rows are those that are wanted, on the chips of a mask."""
    rows = {key: mask & chips for key, mask in rows.items() if mask & chips}
    differences = [
        f"{sign} {key[0]} {key[1]:#x} {key[2]} {sorted(key[3])} {key[4]} chips {mask}"
        for sign, some, others in (("missing:", wanted, rows), ("too much:", rows, wanted))
        for key, mask in some.items()
        if others.get(key) != mask
    ]
    if differences or not rows:
        sys.exit("\n".join(differences) or "no rows")
    print(f"{len(rows)} rows agree")
