"""The public headers, read: a header is a list of sections and entries, as docs/man/man3.py and
bindings/describe.py need it.

How comments are read:
  the first one            its first sentence is the header's title, the rest its description
  ---- TITLE ---- TEXT     a section
  above declarations       is about all of them up to the next blank line or comment
  above a blank line       is about what follows in general
  behind a member          is about that; one on lines of its own about the next
Only C's side of #ifdef __cplusplus counts, and no macro that is undefined again; what a macro
declares for each line of another, NAME(OTHER) on a line of its own, is declared."""
import os
import re
import sys

INLINE = "RAWHAL_INLINE"  # a function in a header; librawhal has its symbol as well
LINKAGE = rf"\b(RAWHAL_API|RAWHAL_CHECKED|{INLINE}|RAWHAL_DEPRECATED\(.*?\))(?!\w)"


class Section:
    """/* ---- TITLE ---- TEXT */"""

    def __init__(self, title, text):
        self.title, self.text = title, text


class Entry:
    """A comment and the declarations directly below it. Either may be missing."""

    def __init__(self, text=""):
        self.text, self.declarations = text, []


class Declaration:
    """kind: function, type (opaque, or of a function), record (struct or enum), macro. `after`: a
    comment at its end. `source`: as the header has it, which says more than `code`."""

    def __init__(self, kind, name, code, members=(), text=""):
        self.kind, self.name, self.code, self.members, self.text, self.after = (
            kind, name, code, members, text, "")
        self.source = ""


class Member:
    """Of a struct or enum. One without code is a text between them."""

    def __init__(self, code, text=""):
        self.code, self.text = code, text


def comment_text(comment):
    """A comment without its marks, with the indentation that its lines have behind them."""
    first, *rest = comment[2:-2].rstrip().split("\n")
    starred = all(re.match(r"\s*\*", line) for line in rest)
    lines = [re.sub(r"^\s*\* ?", "", line) if starred else line.strip() for line in rest]
    return "\n".join([first.strip()] + [line.rstrip() for line in lines]).strip("\n")


def tokens(text):
    """(kind, text, begins a line) of comments, directives, declarations and blank lines, on C's
    side of conditionals."""
    position, taken, fresh, macros = 0, [], True, {}
    while position < len(text):
        rest = text[position:]
        match = re.match(r"[ \t]*\n|[ \t]+", rest)
        if match:
            if "\n" in match.group():
                if fresh and all(taken):
                    yield "blank", "", True
                fresh = True
        elif rest[0] == "#":
            match = re.match(r"(?:[^\n]*\\\n)*[^\n]*", rest)
            word = re.match(r"#\s*(\w+)", match.group()).group(1)
            if word.startswith("if"):
                taken.append("__cplusplus" not in match.group())
            elif word == "else":
                taken[-1] = not taken[-1]
            elif word == "endif":
                taken.pop()
            elif all(taken):
                if word == "define":
                    macros.update([function_macro(match.group())])
                yield word, match.group(), fresh
            fresh = False
        elif not all(taken):
            match = re.match(r"[^\n]*", rest)
        elif rest.startswith("/*"):
            match = re.match(r"/\*.*?\*/", rest, re.S)
            if "clang-format" not in match.group():
                yield "comment", match.group(), fresh
            fresh = False
        elif re.match(r"\w+(\(\w+\))?\n", rest):  # RAWHAL_BEGIN and its like
            match = re.match(r"(\w+)(?:\((\w+)\))?", rest)
            for declared in expanded(macros, *match.groups()):
                yield "declaration", declared, fresh
        else:
            match = re.match(re.escape(declaration_at(rest)), rest)
            yield "declaration", match.group(), fresh
            fresh = False
        position += match.end()


def function_macro(directive):
    """name, (parameters, body) of a #define; other macros have no parameters."""
    match = re.match(r"#define (\w+)(?:\(([^)]*)\))?(.*)", directive.replace("\\\n", " "), re.S)
    return match.group(1), (re.findall(r"\w+", match.group(2) or ""), match.group(3))


def expanded(macros, outer, inner):
    """What OUTER(INNER) stands for, where OUTER is a list of what INNER declares."""
    if inner not in macros:
        return
    (listed,), body = macros[outer]
    parameters, declares = macros[inner]
    for row in re.findall(rf"\b{listed}\(([^()]*)\)", body):
        values = dict(zip(parameters, (value.strip() for value in row.split(","))))
        text = re.sub(r"\w+", lambda match: values.get(match.group(), match.group()), declares)
        yield re.sub(r"##|(?<=\*) (?=\w)", "", text).strip()


def declaration_at(text):
    """What ends with a semicolon outside of all brackets or, where it is a function's body, with
    its brace."""
    depth, inline = 0, INLINE in re.match(r"[^{;]*", text).group()
    for match in re.finditer(r"/\*.*?\*/|[][(){};]", text, re.S):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(match.group(), 0)
        if depth == 0 and match.group() == ("}" if inline else ";"):
            return text[: match.end()]
    raise ValueError(f"no end of: {text[:60]!r}")


def members_of(body, separator):
    """(text of the whole, members) of what stands between the braces of a struct or an enum."""
    whole, members, pending, code, depth, fresh = "", [], "", "", 0, False

    def end():
        nonlocal code, pending
        if code.strip():
            members.append(Member(" ".join(code.split()), pending))
        code = pending = ""

    for match in re.finditer(r"/\*.*?\*/|\n|.", body, re.S):
        piece = match.group()
        if piece.startswith("/*"):
            if fresh:
                pending = comment_text(piece)
            elif not members:
                whole = comment_text(piece)
            else:  # behind a member: one above it then is about several
                if separator == "," and code.strip():
                    end()
                if members[-1].text:
                    members.insert(-1, Member("", members[-1].text))
                members[-1].text = comment_text(piece)
        elif piece == "\n":
            fresh = not code.strip()
            code += " "
        elif piece == separator and depth == 0:
            end()
            fresh = False
        else:
            depth += {"(": 1, ")": -1}.get(piece, 0)
            code += piece
    end()
    return whole, members


def record(text):
    head, body = text.split("{", 1)
    body, tail = body.rsplit("}", 1)
    whole, members = members_of(body, "," if "enum" in head else ";")
    name = tail.strip(" ;\n")
    if not name:  # an enum's without a name is what its enumerators begin with
        names = [member.code.split()[0] for member in members if member.code]
        name = names[0] if len(names) == 1 else re.sub(r"[^_]*$", "*", os.path.commonprefix(names))
    return Declaration("record", name, "", members, whole)


def declaration(text):
    found = declared(text)
    found.source = text
    return found


def declared(text):
    bare = re.sub(LINKAGE, "", text)
    if INLINE not in text and "{" in text:
        return record(text)
    bare = " ".join(re.sub(r"\{.*\}$", ";", bare, flags=re.S).split()).replace(" ;", ";")
    if bare.startswith("typedef"):
        return Declaration("type", re.search(r"(\w+)(?:\(.*\))?;$", bare).group(1), bare)
    return Declaration("function", re.search(r"(\w+)\(", bare).group(1), bare)


def macro(text):
    """Short ones with what they stand for; of others, how they are used."""
    code = re.match(r"#define (\w+(?:\([^)]*\))?)\s*([^\\\n]*)(\\?)", text)
    name, value, more = code.groups()
    shown = (f"#define {name} {value}" if value and not more and "(" not in name
             else name if value or more else "")
    found = Declaration("macro", re.match(r"\w+", name).group(), shown)
    found.source = text
    return found


class Header:
    def __init__(self, path):
        self.file = os.path.basename(path)
        self.page = "rawhal" if self.file == "rawhal.h" else "rawhal_" + self.file[:-2]
        text = open(path, encoding="utf-8").read()
        self.includes = re.findall(r"#include <rawhal/(\w+)\.h>", text)
        passing = set(re.findall(r"#undef (\w+)", text))
        passing.add(re.search(r"#ifndef (\w+)", text).group(1))
        first, *rest = self.read(text)
        self.parts = []
        for part in rest:
            if isinstance(part, Entry):
                had = part.declarations
                part.declarations = [one for one in had if one.name not in passing
                                     and (one.code or one.kind == "record")]
            if isinstance(part, Section) or part.declarations or part.text and not had:
                self.parts.append(part)
        match = re.match(r"rawhal/\w+\.h: (.*?)\.(?:\s|$)(.*)", first.text, re.S)
        if not match:
            sys.exit(f"{path}:1: no `rawhal/{self.file}: TITLE.`")
        self.title, self.intro = " ".join(match.group(1).split()), match.group(2).lstrip("\n")

    @staticmethod
    def read(text):
        parts, entry, last = [], None, None
        for kind, piece, fresh in tokens(text):
            if kind == "comment" and not fresh and last:
                last.after = comment_text(piece)
            elif kind == "comment":
                title = re.match(r"---- (.*?) ----\s*(.*)", comment_text(piece), re.S)
                entry = None if title else Entry(comment_text(piece))
                parts.append(Section(*title.groups()) if title else entry)
            elif kind == "blank":
                entry = None
            elif kind in ("declaration", "define"):
                if entry is None and INLINE in piece and parts and isinstance(parts[-1], Entry):
                    entry = parts[-1]  # a wrapper of what is above
                if entry is None:
                    entry = Entry()
                    parts.append(entry)
                last = declaration(piece) if kind == "declaration" else macro(piece)
                entry.declarations.append(last)
        return parts

    def entries(self):
        return [part for part in self.parts if isinstance(part, Entry)]

    def declarations(self, *kinds):
        return [one for entry in self.entries()
                for one in entry.declarations if not kinds or one.kind in kinds]

    def names(self):
        """What has a page: functions and types."""
        kinds = self.declarations("function", "type", "record")
        return [one.name for one in kinds if re.fullmatch(r"[a-z]\w*", one.name)]
