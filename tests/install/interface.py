#!/usr/bin/env python3
"""The description of the interface against the compiler, the library and what reads it.

usage: interface.py INTERFACE.json INTERFACE.cdef LIBRARY EXPORTS INCLUDE CC SOURCE

A C program says what the compiler makes of the headers: each function's and callback's type is the
description's, each size, offset and value is printed. ctypes and cffi must have the same, and the
library each function."""
import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

VERSION = "\n".join(f"#define RAWHAL_VERSION_{part} {number}"
                    for part, number in (("MAJOR", 0), ("MINOR", 2), ("PATCH", 0)))


def rows(interface):
    """(what, expression in C) of each number."""
    for kind in ("structures", "enums", "aliases"):
        for one in interface[kind]:
            yield one["name"], f"sizeof({one['name']})"
    for one in interface["structures"]:
        for member in one["members"]:
            where = f"{one['name']}.{member['name']}"
            yield where, f"offsetof({one['name']}, {member['name']})"
            yield where + " size", f"sizeof((({one['name']} *)0)->{member['name']})"
    for one in interface["enums"]:
        for value in one["enumerators"]:
            yield value["name"], value["name"]
    for one in interface["constants"]:
        yield one["name"], one["name"]


def compiled(interface, spell, include, compiler, folder):
    """{what: number}, by the compiler."""
    source, program = os.path.join(folder, "numbers.c"), os.path.join(folder, "numbers")
    headers = "".join(f"#include <{one['name']}>\n" for one in interface["headers"])
    typed = [(one["name"], {"pointer": {"function": one}}) for kind in ("functions", "callbacks")
             for one in interface[kind]]
    callbacks = {one["name"] for one in interface["callbacks"]}
    asserts = "".join('_Static_assert(__builtin_types_compatible_p('
                      f'{name + " *" if name in callbacks else f"__typeof__(&{name})"}, '
                      f'{spell(kind)}), "{name}");\n' for name, kind in typed)
    members = "".join('_Static_assert(__builtin_types_compatible_p('
                      f'__typeof__((({one["name"]} *)0)->{member["name"]}), '
                      f'{spell(member["type"])}), "{one["name"]}.{member["name"]}");\n'
                      for one in interface["structures"] for member in one["members"])
    prints = "".join(f"  printf(\"%llu\\n\", (unsigned long long)({text}));\n"
                     for _, text in rows(interface))
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <stddef.h>\n#include <stdio.h>\n"
                   f"{headers}{asserts}{members}int main(void)\n{{\n{prints}  return 0;\n}}\n")
    subprocess.run([compiler, "-std=c11", "-w", f"-I{include}", source, "-o", program,
                    "-Wl,--unresolved-symbols=ignore-all"], check=True)
    numbers = subprocess.run([program], check=True, capture_output=True,
                             encoding="ascii").stdout.split()
    return dict(zip((what for what, _ in rows(interface)), map(int, numbers), strict=True))


def differences(who, wanted, got):
    for what in sorted(wanted.keys() | got.keys()):
        if wanted.get(what) != got.get(what):
            yield f"{what}: {got.get(what)} by {who}, {wanted.get(what)} by the compiler"


def by_ctypes(interface, stub, library):
    """The same numbers, and a call."""
    numbers = {one["name"]: ctypes.sizeof(getattr(stub, one["name"]))
               for kind in ("structures", "enums", "aliases") for one in interface[kind]}
    for one in interface["structures"]:
        for name, kind in getattr(stub, one["name"])._fields_:
            numbers[f"{one['name']}.{name}"] = getattr(getattr(stub, one["name"]), name).offset
            numbers[f"{one['name']}.{name} size"] = ctypes.sizeof(kind)
    for one in (interface["constants"]
                + [value for one in interface["enums"] for value in one["enumerators"]]):
        numbers[one["name"]] = getattr(stub, one["name"])
    bound = stub.bind(library)
    target = stub.rawhal_target_t()
    assert (bound.rawhal_target_parse(bound.rawhal_string(b"gfx90a:xnack-"), target,
                                      None) == stub.RAWHAL_OK)
    assert (target.processor, target.xnack) == (b"gfx90a", stub.RAWHAL_FEATURE_OFF)
    return numbers


def by_cffi(cffi, interface, text, library):
    """The same numbers; and each function is found, and those of the headers can be called."""
    ffi = cffi.FFI()
    ffi.cdef(text)
    lib = ffi.dlopen(library)
    numbers = {}
    for kind in ("structures", "enums", "aliases"):
        numbers.update((one["name"], ffi.sizeof(one["name"])) for one in interface[kind])
    for one in interface["structures"]:
        for name, field in ffi.typeof(one["name"]).fields:
            numbers[f"{one['name']}.{name}"] = field.offset
            numbers[f"{one['name']}.{name} size"] = ffi.sizeof(field.type)
    for one in (interface["constants"]
                + [value for one in interface["enums"] for value in one["enumerators"]]):
        numbers[one["name"]] = getattr(lib, one["name"])
    for one in interface["functions"]:
        if one["library"] == "rawhal":
            getattr(lib, one["name"])
    call_inline(ffi, lib)
    return numbers


def call_inline(ffi, lib):
    """What C has in its headers does the same as a symbol."""
    text = ffi.new("char[]", b"vector_add")
    assert lib.rawhal_string(text).size == 10 and lib.rawhal_string(ffi.NULL).size == 0
    builder, blob = ffi.new("rawhal_builder_t **"), ffi.new("rawhal_bytes_t *")
    assert lib.rawhal_builder_create(ffi.NULL, ffi.NULL, builder, ffi.NULL) == lib.RAWHAL_OK
    assert lib.rawhal_append_uchar(builder[0], ffi.NULL, 7) == lib.RAWHAL_OK
    assert lib.rawhal_append_double(builder[0], text, 1.0) == lib.RAWHAL_OK
    assert lib.rawhal_builder_finish(builder[0], blob, ffi.NULL) == lib.RAWHAL_OK
    assert bytes(ffi.buffer(blob.data, blob.size)) == b"\7" + bytes(7) + b"\0\0\0\0\0\0\xf0\x3f"
    lib.rawhal_builder_destroy(builder[0])
    ticket = ffi.new("rawhal_ticket_t *", 1)
    for status in (lib.rawhal_queue_submit(ffi.NULL, ffi.NULL, 1, 0, ticket, ffi.NULL),
                   lib.rawhal_queue_barrier(ffi.NULL, ffi.NULL, 0, 0, ticket, ffi.NULL),
                   lib.rawhal_graph_launch(ffi.NULL, ffi.NULL, ffi.NULL, 0, 0, ticket, ffi.NULL),
                   lib.rawhal_graph_exec_bind(ffi.NULL, ffi.NULL, 0, ffi.NULL),
                   lib.rawhal_graph_add_kernel(ffi.NULL, ffi.NULL, ffi.NULL, 0, ffi.NULL, ffi.NULL),
                   lib.rawhal_graph_add_batch(ffi.NULL, ffi.NULL, 1, ffi.NULL, ffi.NULL)):
        assert status == lib.RAWHAL_INVALID_ARGUMENT
    assert ticket[0] == 0


def refused(describe, folder):
    """What a header may have that is not understood ends the description, instead of being left out
    of it."""
    rows = {"typedef struct rawhal_a { union rawhal_b *b; } rawhal_a_t;": "",  # no such type
            "typedef struct rawhal_a { struct { int b; } c; } rawhal_a_t;": "",
            "typedef struct rawhal_a { int b : 3; } rawhal_a_t;": "",
            "typedef enum rawhal_a { RAWHAL_A = sizeof(int) } rawhal_a_t;": "",
            "#define RAWHAL_A \"text\"": "",
            "RAWHAL_API void rawhal_f(int a b);": "'b'",  # once without end
            "RAWHAL_API void rawhal_f(int a,);": "')'",
            "RAWHAL_API void rawhal_f(rawhal_a_t *a);": "rawhal_a_t"}
    for number, (row, name) in enumerate(rows.items()):
        path = os.path.join(folder, f"a{number}.h")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"/* rawhal/a{number}.h: a header. */\n#ifndef A_H\n#define A_H\n\n"
                       f"{VERSION}\n{row}\n\n#endif\n")
        result = subprocess.run([sys.executable, "-B", describe, os.path.join(folder, "a.json"),
                                 "0.2.0", path],
                                capture_output=True, encoding="utf-8")
        if result.returncode == 0 or name not in result.stderr:
            yield f"{row} is described: {result.stderr}"


def undocumented(interface, page):
    """Keys that docs/bindings.md does not name in the row of their kind."""
    rows = dict(line.strip("|").split("|", 1)
                for line in page.split("\n") if line.startswith("| `"))
    for kind, value in interface.items():
        row = next((row for name, row in rows.items() if f"`{kind}`" in name), "")
        keys = {key for one in value for key in one} if isinstance(value, list) else set()
        if not row or any(f"`{key}`" not in row for key in keys - {"header", "doc"}):
            yield f"docs/bindings.md: {kind} has {', '.join(sorted(keys))}"


def main(interface_path, cdef, library, exports, include, compiler, source):
    sys.path[:0] = [os.path.join(source, "bindings"), os.path.join(source, "bindings/python")]
    with open(interface_path, encoding="ascii") as file:
        interface = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        importlib.import_module("ctypes_stub").main(interface_path, os.path.join(folder, "stub.py"))
        sys.path.insert(0, folder)
        stub = importlib.import_module("stub")
        wanted = compiled(interface, importlib.import_module("ctype").spell, include,
                          compiler, folder)
        found = list(refused(os.path.join(source, "bindings/describe.py"), folder))
    found += undocumented(interface,
                          open(os.path.join(source, "docs/bindings.md"), encoding="ascii").read())
    functions = {one["name"] for one in interface["functions"] if one["library"] == "rawhal"}
    found += [f"{name}: exported and not described, or described and not exported"
              for name in functions ^ set(open(exports, encoding="ascii").read().split())]
    loaded = ctypes.CDLL(library)
    found += [f"{name}: not in {library}"
              for name in sorted(functions) if not hasattr(loaded, name)]
    found += [] if found else differences("ctypes", wanted, by_ctypes(interface, stub, loaded))
    cffi = importlib.util.find_spec("cffi") and importlib.import_module("cffi")
    if not cffi:
        print("left out, for want of python3-cffi: what cffi reads")
    elif not found:
        found += differences("cffi", wanted,
                             by_cffi(cffi, interface, open(cdef, encoding="ascii").read(), library))
    print("\n".join(found + [f"{len(functions)} functions, {len(wanted)} numbers: {len(found)} "
                             "findings"]))
    sys.exit(1 if found or len(wanted) < 1000 else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
