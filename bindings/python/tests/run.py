#!/usr/bin/env python3
"""Runs pytest on files of this folder, where the modules are that it needs.

usage: run.py FILE [OPTION...]

RAWHAL_PY_SECOND: the environment of another Python, as `./dev test --tier full` makes one; then it
runs below that. RAWHAL_PY_TRITON: a folder with Triton, as that makes one; then Triton is needed,
too. RAWHAL_TRITON_PYTHON names an interpreter that has it, instead."""
import importlib.util
import os
import sys

second = os.environ.pop("RAWHAL_PY_SECOND", None)
if second:
    other = os.path.join(second, "bin", "python")
    if not os.path.exists(other):
        print("skipped: there is no second python3")
        sys.exit(77)
    os.execv(other, [other, *sys.argv])
needs = ["cffi", "numpy", "pytest"]
folder = os.environ.pop("RAWHAL_PY_TRITON", None)
if folder:
    needs.append("triton")
    other = os.environ.pop("RAWHAL_TRITON_PYTHON", None)
    if other:
        os.environ["RAWHAL_PY_TRITON"] = folder
        os.execvp(other, [other, *sys.argv])
    if importlib.util.find_spec("triton") is None:
        sys.path.append(folder)
        os.environ["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), folder])
for name in needs:
    if importlib.util.find_spec(name) is None:
        print(f"skipped: python3 has no {name}")
        sys.exit(77)
# A sanitizer's runtime, for this process and its children alone.
if "RAWHAL_PY_PRELOAD" in os.environ:
    os.environ["LD_PRELOAD"] = os.environ.pop("RAWHAL_PY_PRELOAD")
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", "")
pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
os.execv(sys.executable, [*pytest, *sys.argv[1:]])
