"""python -m rawhal demo: a kernel whose result is checked, and one that runs beyond its arrays and
is caught."""
from __future__ import annotations

import os
import sys

from . import __path__ as _folders
from .errors import NotFound

_HELP = """usage: python -m rawhal demo [CHIP]

Adds two arrays on softgpu, checks every sum, and then lets the same kernel run beyond their ends.
CHIP is gfx942 (the default) or gfx90a. Exit status 0: both went as they should."""
COUNT = 4096


def demo_object(chip: str = "gfx942") -> str:
    """The path of a code object with line tables that has `vector_add(c, a, b, n)`. NotFound: there
    is none for the chip."""
    for folder in _folders:
        path = os.path.join(folder, "demo_data", f"lines-{chip}-v5.co")
        if os.path.exists(path):
            return path
    raise NotFound(f"no demo for {chip}: there is one for gfx90a and one for gfx942")


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(_HELP)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    import numpy as np

    import rawhal

    chip = arguments[0] if arguments else "gfx942"
    path = demo_object(chip)
    dev = rawhal.open(chip=chip, checks="all")
    add = dev.load(path)["vector_add"]
    print(f"device    {dev.description}")
    print(f"kernel    {add.name}({', '.join(f'{one.type_name} {one.name}' for one in add.args)})")

    a = np.linspace(-1, 1, COUNT, dtype="f4")
    b = np.float32(1) / np.arange(1, COUNT + 1, dtype="f4")
    c = np.zeros(COUNT, "f4")
    ticket = add[COUNT // 256, 256](c=c, a=a, b=b, n=COUNT)
    right = int((c == a + b).sum())
    print(
        f"checked   {right} of {COUNT} sums equal numpy's bit for bit; "
        f"{ticket.time_ns / 1e6:.2f} ms, in software"
    )

    try:
        add[COUNT // 256 + 1, 256](c=c, a=a, b=b, n=COUNT + 100)
    except rawhal.MemoryFault as fault:
        where = fault.source
        print(
            f"caught    {fault.access} of {fault.size} bytes, {fault.past_end} bytes past "
            f"the end of {fault.argument!r}, by {len(fault.lanes or [])} lanes of work-group "
            f"{fault.program}"
        )
        if where:
            print(f"at        {where.file}:{where.line}: {where.text}")
        print(f"by        {fault.instruction}")
        caught = fault.argument == "a" and where is not None
    else:
        print("WRONG     an overrun was not noticed")
        caught = False
    return 0 if caught and right == COUNT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
