"""The interpreter that has triton."""
import os
import sys


def change():
    """Goes on as the one that RAWHAL_TRITON_PYTHON names, if it names one."""
    python = os.environ.get("RAWHAL_TRITON_PYTHON")
    if python:
        del os.environ["RAWHAL_TRITON_PYTHON"]  # what it runs is this program again
        try:
            os.execvp(python, [python, *sys.argv])
        except OSError as reason:
            sys.exit(f"RAWHAL_TRITON_PYTHON is {python}: {reason}")
