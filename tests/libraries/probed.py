#!/usr/bin/env python3
"""rocRAND's generators with probes in them: their numbers are right, and what docs/probe-example.md says of their memory.

usage: probed.py RAWHAL TEST_ROCRAND"""
import json
import os
import subprocess
import sys
import tempfile


def main(rawhal, program):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "generators.rec")
        ran = subprocess.run([rawhal, "exec", "--probe", "memory+blocks+exec+edges+barriers,wait", "-o", file, "--", program],
                             capture_output=True, text=True)
        if "no librocrand below" in ran.stdout:
            print("[  SKIPPED ] no librocrand below the build folder (./dev test fetches it)")
            return 77
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "6 dispatches probed, 0 not, 0 records lost" in ran.stderr, ran.stderr
        shown = json.loads(subprocess.run([rawhal, "probe", "show", file, "--json"], capture_output=True, check=True).stdout)
    engines = [one for one in shown["dispatches"] if "generate_kernelIj24mrg" in one["kernel"]]
    if not engines:
        print("skipped: another rocRAND than the one of docs/probe-example.md")
        return 77
    assert len(engines) == 1, [one["kernel"] for one in shown["dispatches"]]
    accesses = [(one["access"], one["bytes_each"], one["global"]["lines_64"], one["global"]["least_64"])
                for one in engines[0]["accesses"][:2]]
    assert accesses == [("load", 16, 200, 128), ("load", 8, 192, 64)], accesses
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
