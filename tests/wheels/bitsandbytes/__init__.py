"""Launches of all kernels of bitsandbytes (0.50), with references made from what the operations are defined as."""
from . import blockwise, optimizers, optimizers8, plain, products

LIBRARY = r"libbitsandbytes_rocm(\d)(\d+)\.so"


def launches(random, lanes):
    for part in (plain, blockwise, products, optimizers, optimizers8):
        yield from part.launches(random, lanes)
