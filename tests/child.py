"""Signals to processes, as tests/child.h has them: 0 and -1 are a group and every process of the machine, 1 nobody's child."""
import os
import sys


def signal_child(child, signal):
    if child <= 1:
        raise ValueError(f"process {child}")
    os.kill(child, signal)


def signal_group(leader, signal):
    if leader <= 1:
        raise ValueError(f"process group {leader}")
    os.killpg(leader, signal)


def forked(function):
    """What a child of fork() ended with, as os.waitpid() says it. It calls the function, and then ends as a program does: with
    what the function returns, its finalizers and its destructors."""
    child = os.fork()
    if child == 0:
        sys.exit(function())
    return os.waitpid(child, 0)[1]
