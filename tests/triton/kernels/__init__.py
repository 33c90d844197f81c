"""Each module registers its cases."""
from . import atomics, attention, moves, numbers8, pointwise, products, reductions, rows, scans, windows
