"""python -m rawhal: the rawhal command, and `demo`."""
from __future__ import annotations

import os
import sys
from typing import Optional


def main(arguments: Optional[list[str]] = None) -> int:
    """Also what the program `rawhal` of an environment calls, without arguments: those of the
    process."""
    if arguments is None:
        arguments = sys.argv[1:]
    if arguments[:1] == ["demo"]:
        from .demo import main as demo

        return demo(arguments[1:])
    from . import command

    program = command.path()
    os.execv(program, ["rawhal", *arguments])


if __name__ == "__main__":
    sys.exit(main())
