#!/usr/bin/env python3
"""The interface as cffi takes it, of the description that bindings/describe.py writes.

usage: cdef.py INTERFACE.json OUTPUT [LIBRARY]

OUTPUT is text for FFI().cdef(), all at once; or, where its name ends with .py, a module that has
`ffi` ready made (cffi's out-of-line ABI mode) and the library's SONAME, which is imported in a
hundredth of a second, a tenth of what the text takes; that needs cffi now, and only its
_cffi_backend later. The functions are those of LIBRARY, rawhal without it."""
import contextlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import ctype  # noqa: E402

HEAD = ("/* {file}: the interface of version {version}, made by cdef.py. No compiler needs to "
        "read it. */")


def lines(interface, library):
    """Types before what has them as members; functions last."""
    yield HEAD.format(file=interface["libraries"][library], version=interface["version"])
    for one in interface["constants"]:
        yield f"#define {one['name']} {one['value']}"
    for one in interface["enums"]:
        tag = one["name"].removesuffix("_t")
        values = ", ".join(f"{value['name']} = {value['value']}" for value in one["enumerators"])
        yield f"typedef enum {tag} {{ {values} }} {one['name']};"
    for one in interface["handles"] + interface["structures"]:
        yield f"typedef struct {one['tag']} {one['name']};"
    for one in interface["aliases"]:
        yield f"typedef {ctype.spell(one['type'], one['name'])};"
    for one in interface["callbacks"]:
        yield f"typedef {ctype.spell({'function': one}, one['name'])};"
    for one in interface["structures"]:
        yield f"struct {one['tag']} {{"
        yield from (f"  {ctype.spell(member['type'], member['name'])};"
                    for member in one["members"])
        yield "};"
    for one in interface["functions"]:
        if one["library"] == library:
            yield ctype.spell({"function": one}, one["name"]) + ";"


def main(path, output, library="rawhal"):
    with open(path, encoding="ascii") as file:
        interface = json.load(file)
    text = "\n".join(lines(interface, library)) + "\n"
    os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
    if output.endswith(".py"):
        import cffi
        ffi = cffi.FFI()
        ffi.cdef(text)
        ffi.set_source(os.path.basename(output)[:-3], None)
        with contextlib.redirect_stdout(None):
            ffi.emit_python_code(output)
        with open(output, "a", encoding="ascii") as file:
            file.write(f'SONAME = "{interface["libraries"][library]}"\n')
    else:
        with open(output, "w", encoding="ascii") as file:
            file.write(text)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
