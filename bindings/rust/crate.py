#!/usr/bin/env python3
"""The crate rawhal-sys, of the description that bindings/describe.py writes.

usage: crate.py INTERFACE.json OUTPUT

OUTPUT becomes a copy of rawhal-sys/ beside this file, with LICENSE, the version and
src/interface.rs made: a crate that needs no Python, no clang and no other crate to be built."""
import json
import os
import re
import shutil
import sys

KEYWORDS = {"as", "box", "const", "dyn", "fn", "impl", "in", "let", "loop", "match", "mod", "move",
            "mut", "ref", "self", "static", "super", "trait", "type", "unsafe", "use",
            "where", "yield"}
NAMES = {"bool": "bool", "void": "c_void", "char": "c_char", "signed char": "c_schar",
         "unsigned char": "c_uchar", "short": "c_short", "unsigned short": "c_ushort",
         "int": "c_int", "unsigned int": "c_uint", "long": "c_long", "unsigned long": "c_ulong",
         "long long": "c_longlong", "unsigned long long": "c_ulonglong", "float": "f32",
         "double": "f64", "size_t": "usize",
         **{f"{sign}int{bits}_t": f"{letter}{bits}" for sign, letter in (("", "i"), ("u", "u"))
            for bits in (8, 16, 32, 64)}}


def name_of(one):
    return ("r#" if one["name"] in KEYWORDS else "") + one["name"]


def signature(function, words="fn "):
    parameters = ", ".join(f"{name_of(one)}: {parameter(one['type'])}"
                           for one in function["parameters"])
    result = ("" if function["returns"] == {"name": "void"}
              else " -> " + spelled(function["returns"]))
    return f"{words}({parameters}){result}"


def spelled(kind):
    if "function" in kind:
        return signature(kind["function"], 'unsafe extern "C" fn')
    if "array" in kind:
        return f"[{spelled(kind['array'])}; {kind['length']}]"
    if "name" in kind:
        return NAMES.get(kind["name"], kind["name"])
    to = kind["pointer"]
    if "function" in to or to.get("name", "").endswith("_fn"):
        # a function's type is its pointer's, and that is never null
        return f"Option<{spelled(to)}>"
    return f"*{'const' if to.get('const') else 'mut'} {spelled(to)}"


def parameter(kind):
    """An array is a pointer there."""
    return spelled({"pointer": kind["array"]} if "array" in kind else kind)


def documented(text, indent=""):
    """As it is: what is indented is no code of Rust's."""
    rows = text.split("\n") if text else []
    if any(row.startswith(" ") for row in rows):
        rows = ["```text", *rows, "```"]
    return [f"{indent}///{' ' if row else ''}{row}" for row in rows]


def structure(one):
    size = "size: size_of::<Self>(), " if one["sized"] else ""
    yield from documented(one["doc"])
    yield "#[repr(C)]"
    yield "#[derive(Clone, Copy)]"
    yield f"pub struct {one['name']} {{"
    for member in one["members"]:
        yield from documented(member["doc"], "    ")
        yield f"    pub {name_of(member)}: {spelled(member['type'])},"
    yield "}"
    yield f"impl Default for {one['name']} {{"
    yield "    /// Zeros" + (", and the size that it has here." if size else ".")
    yield "    fn default() -> Self {"
    zeros = "unsafe { zeroed() }"
    yield f"        Self {{ {size}..{zeros} }}" if size else f"        {zeros}"
    yield "    }"
    yield "}"


def lines(interface, library="rawhal"):
    yield (f"// {interface['libraries'][library]}: the interface of version "
           f"{interface['version']}, made by crate.py.")
    yield "use std::marker::{PhantomData, PhantomPinned};"
    yield "use std::mem::{size_of, zeroed};"
    yield "use std::os::raw::*;"
    for one in interface["constants"]:
        yield from documented(one["doc"])
        yield f"pub const {one['name']}: {spelled(one['type'])} = {one['value']};"
    for one in interface["enums"]:
        yield from documented(one["doc"])
        yield f"pub type {one['name']} = c_uint;"
        for value in one["enumerators"]:
            yield from documented(value["doc"])
            yield f"pub const {value['name']}: {one['name']} = {value['value']};"
    for one in interface["aliases"]:
        yield from documented(one["doc"])
        yield f"pub type {one['name']} = {spelled(one['type'])};"
    for one in interface["handles"]:
        yield from documented(one["doc"])
        yield "#[repr(C)]"
        yield f"pub struct {one['name']} {{"
        yield "    opaque: [u8; 0],"
        yield "    marker: PhantomData<(*mut u8, PhantomPinned)>,"
        yield "}"
    for one in interface["callbacks"]:
        yield from documented(one["doc"])
        yield f"pub type {one['name']} = {spelled({'function': one})};"
    for one in interface["structures"]:
        yield from structure(one)
    yield 'extern "C" {'
    for one in interface["functions"]:
        if one["library"] == library:
            yield from documented(one["doc"], "    ")
            yield from ["    #[must_use]"] if one["checked"] else []
            yield "    pub " + signature(one, f"fn {one['name']}") + ";"
    yield "}"


def main(path, output):
    with open(path, encoding="ascii") as file:
        interface = json.load(file)
    here = os.path.dirname(os.path.abspath(__file__))
    shutil.copytree(os.path.join(here, "rawhal-sys"), output, dirs_exist_ok=True)
    shutil.copy(os.path.join(here, "../../LICENSE"), output)
    with open(os.path.join(output, "src/interface.rs"), "w", encoding="ascii") as file:
        file.write("\n".join(lines(interface)) + "\n")
    manifest = os.path.join(output, "Cargo.toml")
    with open(manifest, encoding="ascii") as file:
        text = re.sub(r'(?m)^version = ".*"', f'version = "{interface["version"]}"', file.read())
    with open(manifest, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
