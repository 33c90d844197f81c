"""Element by element."""
import numpy
from launches import Launch, exactly, given


def launches(random, lanes):
    del lanes
    count = 1000
    left, right = (random.normal(size=count).astype(numpy.float32) for _ in range(2))
    yield Launch("kfunc<float, 0>", (2,), 256, [exactly("fp32", numpy.full(count, 2.5, numpy.float32)), "ptr:null",
                                                "f32:2.5", f"i64:{count}"])
    yield Launch("kfunc<unsigned char, 0>", (2,), 256, [exactly("u8", numpy.full(count, 77, numpy.uint8)), "ptr:null",
                                                        "u8:77", f"i64:{count}"])
    yield Launch("kfunc<float, 1>", (2,), 256, [exactly("fp32", numpy.arange(count, dtype=numpy.float32)), "ptr:null",
                                                "f32:0", f"i64:{count}"])
    yield Launch("kfunc<float, 2>", (2,), 256, [exactly("fp32", left * right, left), given("fp32", right), "f32:0",
                                                f"i64:{count}"])
