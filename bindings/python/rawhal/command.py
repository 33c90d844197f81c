"""The `rawhal` command that belongs to this library: `python -m rawhal`, and what only it can
compute."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Sequence

from . import PREFIX
from ._places import find
from .errors import NotFound


def path() -> str:
    """Where it is. NotFound."""
    found = find("bin/rawhal", "tools/rawhal") if PREFIX else shutil.which("rawhal")
    if not found:
        raise NotFound("the rawhal command is not in "
                       f"{os.path.join(PREFIX, 'bin') if PREFIX else 'PATH'}")
    return found


def answer(*arguments: str, files: Sequence[bytes] = ()) -> Any:
    """What it prints as JSON. `files`: bytes that stand for the arguments "{}", in their order.
    Exit statuses 0 and 1 are answers; RuntimeError otherwise, with what it says."""
    descriptors = []
    try:
        for data in files:
            descriptor = os.memfd_create("rawhal")
            descriptors.append(descriptor)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(data)
        paths = iter(f"/proc/self/fd/{descriptor}" for descriptor in descriptors)
        named = [next(paths) if argument == "{}" else argument for argument in arguments]
        done = subprocess.run([path(), *named], capture_output=True, encoding="utf-8",
                              errors="surrogateescape", pass_fds=descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip()
                           or f"rawhal {arguments[0]} ended with {done.returncode}")
    return json.loads(done.stdout)
