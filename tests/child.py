"""Signals to processes, as tests/child.h has them: 0 and -1 are a group and every process of the machine, 1 nobody's child."""
import os


def signal_child(child, signal):
    if child <= 1:
        raise ValueError(f"process {child}")
    os.kill(child, signal)


def signal_group(leader, signal):
    if leader <= 1:
        raise ValueError(f"process group {leader}")
    os.killpg(leader, signal)
