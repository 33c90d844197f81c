#!/usr/bin/env python3
"""Manual pages of section 3 from the public headers: their declarations, and the comments above these.

usage: man3.py OUTPUT VERSION HEADER...

A header NAME.h becomes the page rawhal_NAME(3), rawhal.h the overview rawhal(3). Every function and type has a page of
its name, which leads (.so) to its header's. How comments are read: bindings/headers.py; and here
  indented lines           are code, a table (two blanks between cells) or a list, and stay so up to WIDTH columns
  `word`                   is italic there"""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bindings"))
from headers import Header, Section  # noqa: E402

FILLED = 70  # columns of text in a page of 80
WIDTH = 72  # of lines that are not filled: 80 columns without a page's indentation, and one to spare
SUMMARY = {"rawhal.h": "the library's manual: one page for each header"}  # instead of the header's first sentence
MANY = 6  # names of one comment, of which no heading is made
LIBRARY = {"hiplaunch.h": "rawhal-hiplaunch"}  # to link with; all others are of this one:
LIBRARY_DEFAULT = "rawhal"
RETURNS = """Functions that return a
.B rawhal_status_t
return
.BR RAWHAL_OK ,
which is 0, or what went wrong; compilers warn if the result is ignored.
Names in capitals, such as
.BR INVALID_ARGUMENT ,
stand for
.B RAWHAL_INVALID_ARGUMENT
and so on;
.BR rawhal_status (3)
lists them with what a caller does next.
.IR error ,
where it is the last parameter, may be NULL."""
OVERVIEW = """Each header has a page, which every function and type in it leads to:
.BR "man rawhal_queue_submit" .
Within the page,
.B "/\\(ha\\ *NAME"
finds its description.
.PP
The command and its subcommands are in
.BR rawhal (1)."""
OVERVIEW_OTHERS = "rawhal(1) librawhal-hiplaunch(7)"


# ---- Writing ----

ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def escape(text):
    return "".join(ESCAPES.get(c, c) if c < "\x80" else f"\\[u{ord(c):04X}]" for c in text)


def guarded(line):
    return "\\&" + line if line[:1] in (".", "'") else line


statuses = []  # RAWHAL_INVALID_ARGUMENT and its like, without RAWHAL_


def marked(text):
    """What is in backticks is italic, functions and statuses are bold."""
    text = re.sub(r"\\\(ga(.+?)\\\(ga", r"\\fI\1\\fP", escape(text))
    names = "|".join([r"(?:rawhal_|hipRawhal)\w+(?=\()"] + statuses)
    return re.sub(rf"\b({names})(?!\w)", r"\\fB\1\\fP", text)


def prose(text):
    """One paragraph, filled. Sentences begin lines; a label at its beginning is bold."""
    text = marked(" ".join(text.split()))
    text = re.sub(r"^([A-Z][\w\\-]*(?: [a-z]+)?|[a-z_]+\(\))(?=: )", r"\\fB\1\\fP", text)
    return "\n".join(guarded(line) for line in re.split(r"(?<=[.:;!?]) (?=[A-Z])", text))


def literal(lines):
    inner = 4 if max(map(len, lines)) <= WIDTH - 4 else 0
    return [f".in +{inner}n", ".EX", *(guarded(escape(line)) for line in lines), ".EE", ".in"]


def ways(lines):
    """Where ways part at an arrow, with the others below it, each gets a line."""
    forks = {len(line) - len(line.lstrip()) for line in lines if re.match(r"\s*->", line)}
    for line in lines:
        fork = next((column for column in forks if line[column : column + 2] == "->"), None)
        if fork is None:
            yield line
        else:
            yield from [line[:fork].rstrip()] if line[:fork].strip() else []
            yield "    " + line[fork:]


def folded(lines):
    """Code that is too wide, broken at its gaps, else at its blanks."""
    for line in ways(lines):
        begin = indent = len(line) - len(line.lstrip())
        while len(line) > WIDTH:
            gap = re.search(r"\s{2,}", line[begin:WIDTH])
            cut = begin + gap.start() if gap else line.rfind(" ", begin, WIDTH + 1)
            if cut <= begin:
                break
            yield line[:cut]
            line = " " * (indent + 4) + line[cut:].strip()
            begin = indent + 4
        yield line


def rows_of(lines):
    """The cells of a table, with two blanks between them.

    A row goes on where its first cell ends with a comma or has nothing beside it, and where a line is indented."""
    starts = [0] + [match.end() for match in re.finditer(r"\s{2,}", lines[0])]
    columns = len(re.split(r"\s{2,}", lines[0].strip()))
    rows = []
    for line in lines:
        if columns > 2:
            ends = starts[1:] + [len(line)]
            cells = [line[start:end].strip() for start, end in zip(starts, ends)]
        else:
            cells = (re.split(r"\s{2,}", line, maxsplit=1) + [""])[:2]
        new = cells[0] and not (rows and (rows[-1][0].endswith(",") or not any(rows[-1][1:])))
        if new or not rows:
            rows.append(cells)
        else:
            rows[-1] = [(old + " " + more).strip() for old, more in zip(rows[-1], cells)]
    return rows


def table(lines):
    rows = rows_of(lines)
    columns = list(zip(*rows))
    least = [max(len(word) for cell in column for word in cell.split()) for column in columns]
    wanted = [min(max(map(len, column)), WIDTH) for column in columns]
    spare = FILLED - 3 * (len(columns) - 1) - sum(least)
    over = sum(want - low for want, low in zip(wanted, least)) or 1
    widths = [low + min(want - low, spare * (want - low) // over) for want, low in zip(wanted, least)]
    yield ".TS"
    yield " ".join(f"lw({width}n)" for width in widths) + "."
    for row in rows:
        yield "\t".join("T{\n.ad l\n" + guarded(marked(cell)) + "\nT}" for cell in row)
    yield ".TE"


def items(lines):
    """A list: items begin at the left, their other lines do not."""
    for item in re.split(r"\n(?! )", "\n".join(lines)):
        yield ".IP \\(bu 2"
        yield prose(re.sub(r"^- ", "", item))


def block(lines):
    """Indented lines: as they are when there is room; else as what they are, code, a table or a list."""
    base = min(len(line) - len(line.lstrip()) for line in lines)
    lines = [line[base:] for line in lines]
    if max(map(len, lines)) <= WIDTH:
        return literal(lines)
    if any(re.search(r"\);|->", line) for line in lines):
        return literal(list(folded(lines)))
    if any(re.search(r"\S\s{2,}\S|^\s{8}", line) for line in lines):
        return table(lines)
    return items(lines)


def blocks(text):
    """Paragraphs and indented blocks, each as lines. A label begins a paragraph."""
    text = re.sub(r"(?<=[.)])(?: |\n)(?=(?:Thread-safety|Ownership|Cost): )", "\n\n", text)
    group = []
    for line in text.split("\n") + [""]:
        indented = line.startswith(" ")
        if group and (not line or indented != group[0].startswith(" ")):
            yield group
            group = []
        if line:
            group.append(line)


def paragraphs(text):
    for group in blocks(text):
        yield ".PP"
        yield from block(group) if group[0].startswith(" ") else [prose(" ".join(group))]


def prototype(code):
    """A function's, broken at its parameters; their names are italic."""
    head, parameters = re.match(r"(.*?\w)\((.*)\);", code).groups()
    head, pieces = head.replace("* ", "*"), parameters.strip().split(", ")
    lines, line, length = [], bold(head + "("), len(head) + 1
    for number, piece in enumerate(pieces):
        tail = ");" if number == len(pieces) - 1 else ","
        if length + len(piece) + len(tail) + 1 > WIDTH:
            lines.append(line.rstrip())
            line, length = "    ", 4
        elif number:
            line, length = line + " ", length + 1
        line += re.sub(r"^(.*[\s*])(\w+)((?:\[.*\])?)$", lambda m: bold(m[1]) + f"\\fI{m[2]}\\fP" + bold(m[3]), piece)
        line, length = line + bold(tail), length + len(piece) + len(tail)
    return lines + [line]


def bold(text):
    return f"\\fB{escape(text)}\\fP" if text else ""


def code_lines(one):
    lines = prototype(one.code) if "(" in one.code and one.kind in ("function", "type") else [bold(one.code)]
    return lines + ([f"    /* {escape(' '.join(one.after.split()))} */"] if one.after else [])


def member_lines(members):
    """A list of them; those without a comment lie close to each other."""
    for member in members:
        if member.code:
            name = re.sub(r"(\w+)((?:\[\w+\])*)(?=,|$)", lambda m: bold(m[1]) + escape(m[2]), member.code)
            if re.match(r"\w+( = |$)", member.code):  # an enumerator
                word, *value = member.code.split(" ", 1)
                name = bold(word) + "".join(" " + escape(text) for text in value)
            elif "(*" in member.code:
                name = bold(member.code)
            yield from [".TP 8", name, prose(member.text)] if member.text else [".PP", name]
            yield ".PD 0"
        else:
            yield from [".PD", ".PP", prose(member.text)]
    yield ".PD"


def heading(entry):
    """What a comment without declarations says holds for others as well."""
    names = [one.name + ("()" if one.kind == "function" else "") for one in entry.declarations]
    common = os.path.commonprefix(names)
    if len(names) > MANY and common.count("_") > 1:
        names = [common + "*()"]
    label = re.match(r"([A-Z][a-z]+): ", entry.text)
    return ", ".join(names) or (label.group(1) if label else "In general")


def entry_lines(entry):
    yield f".SS \"{escape(heading(entry))}\""
    shown = [one for one in entry.declarations if one.kind != "record"]
    if shown:
        yield ".EX"
        for one in shown:
            yield from code_lines(one)
        yield ".EE"
    yield from paragraphs(entry.text)
    for one in entry.declarations:
        if one.kind == "record":
            yield from paragraphs(one.text)
            yield from member_lines(one.members)
            yield from paragraphs(one.after)


def see_also(header, owner):
    """(page, section) of what the header includes and names."""
    declared = header.declarations()
    members = [member for one in declared for member in one.members]
    text = "\n".join([header.intro] + [part.text for part in header.parts]
                     + [one.code + "\n" + one.text for one in declared + members])
    words = re.findall(r"\w+(?:\.h)?", text)
    pages = {owner[word] for word in words if word in owner} | {"rawhal"}
    pages |= {"rawhal_" + name for name in header.includes}
    pages |= {"rawhal_" + word[:-2] for word in words if word.endswith(".h")} & set(owner.values())
    others = re.findall(r"\b([a-z][\w-]*)\(([1-8])\)", text + (OVERVIEW_OTHERS if header.page == "rawhal" else ""))
    return sorted({(name, "3") for name in pages - {header.page}} | set(others), key=lambda one: one[::-1])


def synopsis(header):
    names = [one.name + "()" for one in header.declarations("function")]
    yield ".SH SYNOPSIS"
    yield ".nf"
    yield bold(f"#include <rawhal/{header.file}>")
    yield bold(f"cc ... -l{LIBRARY.get(header.file, LIBRARY_DEFAULT)}")
    yield ".fi"
    if names:
        yield ".PP"
        yield ",\n".join(bold(name) for name in names)


def page(header, headers, owner, version):
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    yield f".TH {header.page} 3 {date} \"rawhal {version}\" \"rawhal's library\""
    yield ".nr HY 0"
    yield ".nh"
    yield ".ad l"
    yield ".SH NAME"
    yield f"{header.page} \\- {escape(SUMMARY.get(header.file, header.title))}"
    yield from synopsis(header)
    yield ".SH DESCRIPTION"
    if header.page == "rawhal":
        yield escape(header.title[0].upper() + header.title[1:]) + "."
        yield OVERVIEW
        for other in headers:
            if other is not header:
                yield ".TP"
                yield f".BR {other.page} (3)"
                yield prose(other.title)
    else:
        if not header.intro or header.intro.startswith(" "):
            yield prose(header.title[0].upper() + header.title[1:] + (":" if header.intro else "."))
        yield from paragraphs(header.intro)
    for part in header.parts:
        if isinstance(part, Section):
            yield f".SH \"{escape(part.title.upper())}\""
            yield from paragraphs(part.text)
        else:
            yield from entry_lines(part)
    if any(one.code.startswith("rawhal_status_t") for one in header.declarations("function")):
        yield ".SH RETURN VALUE"
        yield RETURNS
    yield ".SH SEE ALSO"
    yield " ,\n".join(f".BR {escape(name)} ({section})" for name, section in see_also(header, owner))


def tidy(lines):
    """Without paragraphs that something else begins already, or that are empty."""
    lines, kept = list(lines), []
    for line, following in zip(lines, lines[1:] + [".SH"]):
        if line != ".PP" or not (re.match(r"\.S[HS]", kept[-1]) or re.match(r"\.(PP|TP|IP|S[HS])", following)):
            kept.append(line)
    return kept


def main(output, version, *paths):
    headers = [Header(path) for path in paths]
    for one in (one for header in headers for one in header.declarations() if one.name == "rawhal_status_t"):
        statuses.extend(member.code.split()[0][len("RAWHAL_") :] for member in one.members)
    owner = {name: header.page for header in headers for name in header.names()}
    os.makedirs(output, exist_ok=True)
    for name in os.listdir(output):
        if name.endswith(".3"):
            os.remove(os.path.join(output, name))
    files = {name: [f".so man3/{target}.3"] for name, target in owner.items()}
    for header in headers:
        files[header.page] = page(header, headers, owner, version)
    for name, lines in files.items():
        text = "\n".join(tidy(lines)) + "\n"
        preprocessed = "'\\\" t\n" if "\n.TS\n" in text else ""
        with open(os.path.join(output, name + ".3"), "w", encoding="ascii") as file:
            file.write(preprocessed + text)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
