"""A launch of a wheel's kernel with what is expected of it, and how `rawhal run` does it."""
import os
import subprocess

import numpy
from case import Array, bits_of, numbers


class Codes(Array):
    """Unsigned integers, each expected from `least` to `most`, which differ where rounding may choose either."""

    def __init__(self, before, least, most):
        super().__init__("u8", before, least)
        self.most = most

    def wrong(self, got):
        got = numpy.frombuffer(got, self.bits.dtype).reshape(self.bits.shape)
        same = (got >= self.expected) & (got <= self.most)
        if same.all():
            return None
        at = int(numpy.nonzero(~same)[0][0])
        return (f"{int((~same).sum())} of {same.size} are wrong, the first at {at}: {got[at]}, not from "
                f"{self.expected[at]} to {self.most[at]}")


class Nibbles(Array):
    """Pairs of codes of 4 bits, the first in the upper half, each one of two that are equally near."""

    def __init__(self, one, other):
        super().__init__("u8", numpy.full(one.size // 2, 0xa5), one)
        self.other = other

    def wrong(self, got):
        got = numpy.frombuffer(got, self.bits.dtype)
        got = numpy.stack([got >> 4, got & 15], axis=1).reshape(-1)
        same = (got == self.expected) | (got == self.other)
        if same.all():
            return None
        at = int(numpy.nonzero(~same)[0][0])
        return (f"{int((~same).sum())} of {same.size} are wrong, the first at {at}: {got[at]}, not {self.expected[at]} or "
                f"{self.other[at]}")


def given(kind, values):
    """A buffer that the kernel only reads."""
    return Array(kind, values)


def near(kind, before, ball):
    """A buffer that the kernel changes to what a ball says, stored as `kind`."""
    stored = ball.to(kind)
    return Array(kind, before, stored.value, stored.radius)


def exactly(kind, bits, before=None):
    """A buffer that the kernel changes to these bits. Before, there is what is no result, unless given."""
    array = Array(kind, numpy.zeros(bits.shape), numbers(kind, bits))
    if before is None:
        array.bits.reshape(-1).view(numpy.uint8)[:] = 0xa5
    else:
        array.bits[...] = bits_of(kind, before)
    return array


class Launch:
    """`kernel`: as in the source, with its template's arguments. `arguments`: arrays, and words of `rawhal run`. `lds`:
    bytes of it that the kernel's object does not state."""

    def __init__(self, kernel, grid, block, arguments, case="", lds=0):
        self.lds = lds
        self.kernel, self.grid, self.block, self.arguments = kernel, grid, block, arguments
        self.name = f"{kernel} {case}".strip()


def words_of(launch, stem):
    words, results = [], []
    for index, value in enumerate(launch.arguments):
        if not isinstance(value, Array):
            words.append(value)
            continue
        before, after = f"{stem}.{index}.bin", f"{stem}.{index}.out"
        value.bits.tofile(before)
        if value.expected is None:
            words.append(f"ptr:{before}")
            continue
        if os.path.exists(after):
            os.unlink(after)
        words.append(f"inout:{before}:{after}")
        results.append((index, value, after))
    return words, results


def run(rawhal, file, mangled, launch, stem):
    """What is wrong, or None."""
    words, results = words_of(launch, stem)
    grid = ",".join(str(each) for each in launch.grid)
    command = [rawhal, "run", file, "--kernel", mangled, "--grid", grid, "--block", str(launch.block), "--device",
               "softgpu", "--timeout", "300", "--dynamic-lds", str(launch.lds), *words]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip() or f"exit status {done.returncode}"
    for index, array, after in results:
        with open(after, "rb") as file:
            wrong = array.wrong(file.read())
        if wrong:
            return f"argument {index}: {wrong}"
    return None
