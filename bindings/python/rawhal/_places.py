"""Where the files of an installation are. Looks at the disk alone, and loads nothing."""
from __future__ import annotations

import glob
import os
from typing import Iterable, Optional

from . import PREFIX

LIB_FOLDERS = ("lib", "lib64", "lib/*")  # of libraries, as systems call them


def find(*patterns: str, prefixes: Optional[Iterable[str]] = None) -> Optional[str]:
    """The first file below a prefix that fits one of the patterns; None without one. `prefixes`:
    PREFIX, if there is one."""
    for prefix in ((PREFIX,) if PREFIX else ()) if prefixes is None else prefixes:
        for pattern in patterns:
            found = sorted(glob.glob(os.path.join(glob.escape(prefix), pattern)))
            if found:
                return found[0]
    return None


def find_library(name: str, prefixes: Optional[Iterable[str]] = None) -> Optional[str]:
    """The same of a library, by its name or a path below the folders of libraries."""
    return find(*(f"{folder}/{name}" for folder in LIB_FOLDERS), prefixes=prefixes)
