#!/usr/bin/env python3
"""A device that is listed as another chip: what librawhal relabels is recorded as the program had it, and replays.

usage: record_listed.py RUNNER RAWHAL FIXTURES
"""
import json
import os
import subprocess
import sys
import tempfile

RUNNER, RAWHAL, FIXTURES = sys.argv[1:]
CHIPS = [("gfx942", "gfx90a", "vector_add-gfx942-v5.co"), ("gfx942", "gfx90a", "vector_add-gfx942-v6.co"),
         ("gfx1100", "gfx1030", "vector_add-gfx1100-v5.co")]


def run(*command, **environment):
    done = subprocess.run([RUNNER, RAWHAL, *command], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


with tempfile.TemporaryDirectory() as scratch:
    for chip, listed, name in CHIPS:
        device = {"SOFTGPU_CHIP": chip, "SOFTGPU_LISTED": listed}
        fixture, path = os.path.join(FIXTURES, name), os.path.join(scratch, name)
        out = run("record", "--buffers", "-o", path, "--", RAWHAL, "run", fixture, "--kernel", "vector_add", "--grid", "1",
                  "--block", "64", "ptr:zero:256", "ptr:zero:256", "ptr:zero:256", "u32:64", **device)
        assert f"a {chip} in software, listed as {listed}" in out, out
        assert read(fixture) in read(path), f"{name} is not in its recording"
        dispatch, = json.loads(run("replay", "--list", "--json", path))["dispatches"]
        assert dispatch["device"].startswith(f"amdgcn-amd-amdhsa--{chip}"), dispatch
        for environment in ({}, device):  # softgpu becomes the device, or is it already
            out = run("replay", path, **environment)
            assert "same      768 bytes of 3 buffers" in out and "recorded on" not in out, out
        print(name)
