"""The HIP door: a libamdhip64 for packages that bring no device of their own.

Triton's own driver, tinygrad, IREE, hip-python and others open HIP by its library's name. librawhal
comes with one that has HIP's calls on its devices, softgpu or a GPU, where no loader finds it by
itself: it never shadows AMD's. `library()` is its path, for whatever the package has to be told:

    TRITON_LIBHIP_PATH=$(python -m rawhal.hip)                Triton's own HIPDriver
    HIP_PATH=$(python -m rawhal.hip)                          tinygrad
    IREE_HIP_DYLIB_PATH=file:$(python -m rawhal.hip)          IREE
    LD_LIBRARY_PATH=$(python -m rawhal.hip --folder)          what is linked with libamdhip64.so.7
                                                              or .6

The device is chosen in the environment, as for all of librawhal: RAWHAL_DEVICE=softgpu,
SOFTGPU_CHIP=gfx942 (and SOFTGPU_LISTED=gfx90a for a runtime that does not know the chip). Calls
that are not served answer hipErrorNotSupported; RAWHAL_LOG=error says on standard error which, and
why others failed. The served ones: librawhal-hiplaunch(7). """
from __future__ import annotations

import os
import sys

from . import PREFIX
from ._places import find_library

SONAME = "libamdhip64.so.7"


def library() -> str:
    """The path of libamdhip64.so.7. Neither it nor librawhal is loaded. Raises FileNotFoundError
    where it is not installed."""
    prefixes = [PREFIX] if PREFIX else ["/usr/local", "/usr"]
    found = find_library(f"rawhal/hip/{SONAME}", prefixes)
    if found:
        return os.path.abspath(found)
    raise FileNotFoundError(f"{SONAME} is not in lib/rawhal/hip below {' or '.join(prefixes)}: "
                            "rawhal was built without it")


def folder() -> str:
    """The folder of `library()`, which has nothing but its names."""
    return os.path.dirname(library())


if __name__ == "__main__":
    print(folder() if "--folder" in sys.argv[1:] else library())
