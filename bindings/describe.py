#!/usr/bin/env python3
"""The public interface as data, for bindings of other languages: docs/bindings.md says what is in
it.

usage: describe.py OUTPUT VERSION HEADER...

Made of the installed headers by the reader of their manual pages (headers.py), so that what has a
page is in it. Types are as in ctype.py. An interface that it does not understand is an error:
nothing is left out but macros that are no constants."""
import json
import os
import re
import sys

import ctype
from headers import INLINE, Header

STATUS, ERROR = {"name": "rawhal_status_t"}, {"pointer": {"name": "rawhal_error_t"}}
LIBRARIES = {"rawhal": "librawhal.so.{}", "rawhal-hiplaunch": "librawhal-hiplaunch.so.{}"}
# whose functions a header declares; others declare the first one's
LIBRARY = {"hiplaunch.h": "rawhal-hiplaunch"}
LIMITS = {"UINT64_MAX": 2**64 - 1, "UINT32_MAX": 2**32 - 1}
# a constant's type, by how it is written; else int
HELD = [("uint64_t", r"UINT64"), ("uint32_t", r"UINT32|\du\b")]
# macros for headers alone
STYLE = {"RAWHAL_API", "RAWHAL_CHECKED", "RAWHAL_BEGIN", "RAWHAL_END", INLINE}


def value_of(text, known, macros):
    """The value of a constant expression."""
    def call(match):
        parameters, body = macros[match.group(1)]
        values = dict(zip(parameters, match.group(2).split(",")))
        return "(" + re.sub(r"\w+", lambda word: values.get(word.group(), word.group()), body) + ")"

    if macros:
        text = re.sub(rf"\b({'|'.join(macros)})\(([^()]*)\)", call, text)
    text = re.sub(r"UINT64_C\((\w+)\)", r"\1", text)
    text = re.sub(r"\b[A-Z]\w*", lambda match: str(known[match.group()]), text)
    text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]*\b", r"\1", text)
    if not re.fullmatch(r"[0-9a-fx\s()<>|+*-]+", text):
        raise ValueError(f"no constant: {text}")
    return eval(text, {"__builtins__": {}})  # of digits and operators alone


class Interface:
    def __init__(self, version, paths):
        self.known, self.macros = dict(LIMITS), {}
        self.found = {kind: [] for kind in ("headers", "constants", "enums", "handles", "aliases",
                                            "callbacks", "structures", "functions")}
        numbers = [int(number) for number in version.split(".")]
        for header in in_order([Header(path) for path in paths]):
            self.header = header
            self.library = LIBRARY.get(header.file, next(iter(LIBRARIES)))
            self.found["headers"].append({"name": f"rawhal/{header.file}", "library": self.library,
                                          "title": header.title, "doc": header.intro})
            for entry in header.entries():
                for one in entry.declarations:
                    self.add(one, "\n\n".join(
                        text for text in (entry.text, one.text, one.after) if text))
        shown = [self.known[f"RAWHAL_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")]
        if numbers != shown:
            sys.exit(f"the headers are of version {shown}, not of {numbers}")
        self.found = {"version": version, "libraries": {name: file.format(version.rsplit(".", 1)[0])
                                                        for name, file in LIBRARIES.items()},
                      **self.found}

    def add(self, one, doc):
        whole = {"name": one.name, "header": f"rawhal/{self.header.file}", "doc": doc}
        kind = one.kind
        if kind == "record":
            kind = "enum" if re.match(r"(?:typedef )?enum\b", one.source) else "structure"
        elif kind == "type":
            kind = "handle" if re.match(r"typedef struct \w+ \w+;", one.code) else "alias"
        getattr(self, "add_" + kind)(one, whole)

    def add_macro(self, one, whole):
        name, parameters, body = re.match(r"#define (\w+)(?:\(([^)]*)\))?\s*(.*)",
                                          one.source.replace("\\\n", " "), re.S).groups()
        if parameters is not None:
            self.macros[name] = re.findall(r"\w+", parameters), body
        elif name not in STYLE:
            self.known[name] = value = value_of(body, self.known, self.macros)
            kind = next((kind for kind, pattern in HELD if re.search(pattern, body)), "int")
            self.found["constants"].append({**whole, "value": value, "type": {"name": kind}})

    def add_enum(self, one, whole):
        values, before = [], -1
        for member in (member for member in one.members if member.code):
            name, _, text = member.code.partition(" = ")
            before = value_of(text, self.known, self.macros) if text else before + 1
            self.known[name] = before
            values.append({"name": name, "value": before, "doc": member.text})
        if "*" in one.name or one.name == values[0]["name"]:  # lengths of arrays, not a type
            self.found["constants"] += [{"name": row["name"], "header": whole["header"],
                                         "doc": row["doc"] or whole["doc"], "value": row["value"],
                                         "type": {"name": "int"}} for row in values]
        else:
            flags = all("<<" in member.code for member in one.members if member.code)
            self.found["enums"].append({**whole, "flags": flags, "enumerators": values})

    def add_structure(self, one, whole):
        members, above = [], ""
        for member in one.members:
            if not member.code:
                above = member.text
                continue
            for name, kind in ctype.read(member.code, self.known):
                members.append({"name": name, "type": kind, "doc": member.text or above})
            above = above if not member.text else ""
        tag = re.match(r"typedef struct (\w+)", one.source).group(1)
        sized = members[0]["name"] == "size"
        self.found["structures"].append({**whole, "tag": tag, "sized": sized, "members": members})

    def add_handle(self, one, whole):
        self.found["handles"].append({**whole, "tag": one.code.split()[2]})

    def add_alias(self, one, whole):
        ((name, kind),) = ctype.read(one.code[len("typedef ") : -1], self.known)
        if "function" in kind:
            self.found["callbacks"].append({**whole, **kind["function"]})
        else:
            self.found["aliases"].append({**whole, "type": kind})

    def add_function(self, one, whole):
        ((name, kind),) = ctype.read(one.code.rstrip(";"), self.known)
        last = [one["type"] for one in kind["function"]["parameters"]][-1:]
        self.found["functions"].append({
            **whole, "library": self.library, **kind["function"],
            "status": kind["function"]["returns"] == STATUS,
            "error": last == [ERROR], "checked": "RAWHAL_CHECKED" in one.source,
            "inline": INLINE in one.source,
        })

    def unknown(self):
        """Names of types that nothing declares."""
        names = {one["name"] for kind in ("enums", "handles", "aliases", "callbacks", "structures")
                 for one in self.found[kind]}
        types = [one["type"] for one in self.found["aliases"]]
        types += [member["type"] for one in self.found["structures"] for member in one["members"]]
        types += [{"function": one} for kind in ("callbacks", "functions")
                  for one in self.found[kind]]
        return {name for kind in types for name in ctype.named(kind)
                if not ctype.is_known(name)} - names


def in_order(headers):
    """Each behind those that it includes."""
    by_name, done = {header.file[:-2]: header for header in headers}, {}

    def visit(header):
        if header.file not in done:
            done[header.file] = None
            for name in header.includes:
                visit(by_name[name])
            done[header.file] = done.pop(header.file) or header

    for header in sorted(headers, key=lambda one: one.file):
        visit(header)
    return list(done.values())


def main(output, version, *paths):
    interface = Interface(version, paths)
    if interface.unknown():
        sys.exit(f"no header declares {', '.join(sorted(interface.unknown()))}")
    os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
    with open(output, "w", encoding="ascii") as file:
        json.dump(interface.found, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
