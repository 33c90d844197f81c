"""Launches of kernels of onnxruntime for ROCm (1.22): element by element, conversions, quantisation, softmax and normalisation."""
from . import casts, elements, rows, scales

LIBRARY = r"libonnxruntime_providers_rocm()\.so"


def launches(random, lanes):
    for part in (elements, casts, scales, rows):
        yield from part.launches(random, lanes)
