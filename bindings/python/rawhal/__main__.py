"""python -m rawhal: the rawhal command, and `demo`."""
from __future__ import annotations

import os
import sys


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["demo"]:
        from .demo import main as demo

        return demo(arguments[1:])
    from . import command

    program = command.path()
    os.execve(program, ["rawhal", *arguments], command.environment())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
