"""What the tests of the package share. RAWHAL_PY_PREFIX names the build."""
import os
import subprocess
import sys

import pytest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def fixture(name):
    """The path of a code object of tests/fixtures."""
    return os.path.join(SOURCE, "tests", "fixtures", name)


def run(text, *arguments, timeout=60, **variables):
    """A Python program of its own, with what it printed."""
    return subprocess.run([sys.executable, "-X", "faulthandler", "-c", text, *arguments],
                          capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **variables})


@pytest.fixture(scope="session")
def dev():
    """All tests of a file are one process, which has one device."""
    import rawhal

    return rawhal.open(chip="gfx90a", timeout=20, options={"vram_mib": 1024, "threads": 2})


@pytest.fixture(scope="session")
def add(dev):
    return dev.load(fixture("lines-gfx90a-v5.co"))["vector_add"]


@pytest.fixture(scope="session")
def spin(dev):
    """Runs until its word is not 0."""
    return dev.load(fixture("spin-gfx90a-v5.co"))["spin"]


@pytest.fixture(scope="session")
def wait_for(dev):
    """The same, of an object with other kernels."""
    return dev.load(fixture("mistakes-gfx90a-v5.co"))["wait_for"]


@pytest.fixture
def flag(dev):
    """A word that such kernels wait for; they end with the test, however that ends."""
    word = dev.pinned(1, "u4")
    word[0] = 0
    yield word
    word[0] = 1
