#!/usr/bin/env python3
"""The interface as ctypes takes it, of the description that bindings/describe.py writes: for
Pythons without cffi.

usage: ctypes_stub.py INTERFACE.json OUTPUT.py [LIBRARY]

OUTPUT has the constants and enumerators, the structures as classes, and bind(CDLL), which gives the
functions of LIBRARY, rawhal without it, their types. It needs nothing but ctypes."""
import json
import os
import sys

NAMES = {"bool": "c_bool", "char": "c_char", "signed char": "c_byte", "unsigned char": "c_ubyte",
         "short": "c_short", "unsigned short": "c_ushort", "int": "c_int", "unsigned int": "c_uint",
         "long": "c_long", "size_t": "c_size_t", "unsigned long": "c_ulong",
         "long long": "c_longlong", "unsigned long long": "c_ulonglong", "float": "c_float",
         "double": "c_double", "void": "None",
         **{f"{sign}int{bits}_t": f"c_{sign}int{bits}" for sign in ("", "u")
            for bits in (8, 16, 32, 64)}}
HEAD = '''"""{file}: the interface of version {version}, made by ctypes_stub.py."""
from ctypes import *  # noqa: F401,F403
'''


def spelled(kind):
    if "function" in kind:
        return f"CFUNCTYPE({', '.join(map(spelled, types(kind['function'])))})"
    if "array" in kind:
        return f"({spelled(kind['array'])} * {kind['length']})"
    if "name" in kind:
        return NAMES.get(kind["name"], kind["name"])
    to = kind["pointer"]
    if "function" in to or to.get("name", "").endswith("_fn"):
        return spelled(to)  # a function's type is its pointer's
    return {"void": "c_void_p", "char": "c_char_p"}.get(to.get("name"), f"POINTER({spelled(to)})")


def parameter(kind):
    """An array is a pointer there."""
    return spelled({"pointer": kind["array"]} if "array" in kind else kind)


def types(function):
    """What it returns and takes."""
    return [function["returns"]] + [one["type"] for one in function["parameters"]]


def lines(interface, library):
    yield HEAD.format(file=interface["libraries"][library], version=interface["version"])
    for one in (interface["constants"]
                + [value for one in interface["enums"] for value in one["enumerators"]]):
        yield f"{one['name']} = {one['value']}"
    for one in interface["enums"]:
        yield f"{one['name']} = c_uint"
    for one in interface["aliases"]:
        yield f"{one['name']} = {spelled(one['type'])}"
    for one in interface["handles"] + interface["structures"]:
        yield f"class {one['name']}(Structure): pass"
    for one in interface["callbacks"]:
        yield f"{one['name']} = {spelled({'function': one})}"
    for one in interface["structures"]:
        members = ", ".join(f"({member['name']!r}, {spelled(member['type'])})"
                            for member in one["members"])
        yield f"{one['name']}._fields_ = [{members}]"
    yield "def bind(library):"
    for one in interface["functions"]:
        if one["library"] == library:
            result, *_ = types(one)
            given = ", ".join(parameter(one["type"]) for one in one["parameters"])
            yield (f"    library.{one['name']}.restype, library.{one['name']}.argtypes = "
                   f"{spelled(result)}, [{given}]")
    yield "    return library"


def main(path, output, library="rawhal"):
    with open(path, encoding="ascii") as file:
        text = "\n".join(lines(json.load(file), library)) + "\n"
    os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
    with open(output, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
