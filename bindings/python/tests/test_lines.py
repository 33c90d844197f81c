"""Line tables, against binutils' reader of them. Without a device and without the library."""
import importlib.util
import os
import random
import shutil
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


def load():
    """The module alone: it needs nothing of the package."""
    import sys
    specification = importlib.util.spec_from_file_location(
        "rawhal_lines", os.path.join(HERE, "..", "rawhal", "lines.py"))
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


lines = load()

SOURCE = """\
static int twice(int x)
{
  return x +
    x;
}
int sum(const int *values, int count)
{
  int total = 0;
  for (int i = 0; i < count; ++i)
    total += twice(values[i]);
  return total;
}
"""


@pytest.fixture(scope="module", params=[2, 3, 4, 5])
def linked(request, tmp_path_factory):
    if not shutil.which("cc") or not shutil.which("addr2line"):
        pytest.skip("no cc or addr2line")
    folder = tmp_path_factory.mktemp("lines")
    (folder / "sum.c").write_text(SOURCE)
    path = folder / "sum.so"
    subprocess.run(["cc", "-O2", f"-gdwarf-{request.param}", "-shared", "-fPIC", "-o", path,
                    folder / "sum.c"], check=True)
    return path


def test_every_address_of_a_function_is_where_binutils_says(linked):
    symbols = subprocess.run(["nm", "-S", linked], capture_output=True, text=True,
                             check=True).stdout
    start, size = next((int(row.split()[0], 16), int(row.split()[1], 16))
                       for row in symbols.splitlines()
                       if row.endswith(" sum"))
    addresses = range(start, start + size)
    told = subprocess.run(["addr2line", "-e", linked, *map(hex, addresses)],
                          capture_output=True, text=True, check=True).stdout.split("\n")
    table = lines.LineTable(linked.read_bytes())
    assert table
    for address, expected in zip(addresses, told):
        found = table.find(address)
        assert found and f"{found.file}:{found.line}" == expected.split(" ")[0], hex(address)
        assert found.text == SOURCE.splitlines()[found.line - 1].strip()
    assert table.find(0) is None


def test_bytes_that_make_no_sense_answer_unknown(linked):
    data, chance = linked.read_bytes(), random.Random(37)
    start = data.find(b"sum.c")  # in the names, near the tables
    for _ in range(60):
        broken = bytearray(data)
        for _ in range(8):
            broken[chance.randrange(max(start - 600, 64),
                                    min(start + 600, len(data)))] = chance.randrange(256)
        lines.LineTable(bytes(broken)).find(start)
    for size in (0, 4, 63, 64, 200, len(data) // 2):
        assert lines.LineTable(data[:size]).find(0x1000) is None
