"""Launches of kernels of onnxruntime for ROCm (1.22): functions of numbers and pairs, conversions, quantisation, rows."""
from . import casts, elements, pairs, rows, scales

LIBRARY = r"libonnxruntime_providers_rocm()\.so"


def launches(random, lanes):
    for part in (elements, pairs, casts, scales, rows):
        yield from part.launches(random, lanes)
