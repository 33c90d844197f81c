#!/usr/bin/env python3
"""Runs pytest on files of this folder, where the modules are that it needs. usage: run.py FILE [OPTION...]"""
import importlib.util
import os
import sys

for name in ("cffi", "numpy", "pytest"):
    if importlib.util.find_spec(name) is None:
        print(f"skipped: python3 has no {name}")
        sys.exit(77)
if "RAWHAL_PY_PRELOAD" in os.environ:  # a sanitizer's runtime, for this process and its children alone
    os.environ["LD_PRELOAD"] = os.environ.pop("RAWHAL_PY_PRELOAD")
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", "")
os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", *sys.argv[1:]])
