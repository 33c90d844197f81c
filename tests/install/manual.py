#!/usr/bin/env python3
"""The manual's section 3 against the headers that it is made of: each exported function has a page, whose declaration and
comment are the header's; no comment is lost; the pages are clean, and fit on 80 columns.

usage: manual.py PAGES EXPORTS HEADER...

Headers are read here once more, and differently from docs/man/man3.py; pages are read as groff or mandoc shows them."""
import collections
import os
import re
import shutil
import subprocess
import sys

RENDERERS = {"groff": ["groff", "-Tutf8", "-P-c", "-t", "-man", "-rLL=78n"], "mandoc": ["mandoc", "-Tutf8", "-Owidth=78"]}
LINTS = {"groff": ["groff", "-Tutf8", "-P-c", "-t", "-man", "-ww", "-z"], "mandoc": ["mandoc", "-Tlint", "-Wwarning"]}
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def words(text):
    """In a form in which one text can be looked for in another."""
    return " " + " ".join(re.findall(r"\w+", text.lower())) + " "


def render(command, path):
    text = subprocess.run(command + [path], capture_output=True, encoding="utf-8", check=True).stdout
    return re.sub(r".\x08", "", text)


def lines_of(comment):
    """Without its marks; behind a star indentation means something."""
    lines = comment[2:-2].rstrip().split("\n")
    return [re.sub(r"^\s*\* ?", "", line) if re.match(r"\s*\*", line) else line.strip() for line in lines]


def passages(comment):
    """What of it is filled, from one indented line to the next, and the words of those, which may be laid out anew."""
    filled, others = [""], []
    for number, line in enumerate(lines_of(comment)):
        if number and line.startswith(" "):
            others += words(line).split()
            filled.append("")
        else:
            filled[-1] += line + "\n"
    return [words(text) for text in filled if text.strip()], others


def comments(text):
    """(comment, what follows it), but for those of macros that do not last."""
    for match in COMMENT.finditer(text):
        macro = re.match(r"\s*#define (\w+)", text[match.end() :])
        if "clang-format" not in match.group() and not (macro and f"#undef {macro.group(1)}" in text):
            yield match.group(), text[match.end() :]


def text_findings(name, text, page):
    """Comments whose words are not there, one after the other, as often."""
    (first, _), *rest = comments(text)
    title, intro = re.match(r"/\* rawhal/\w+\.h: (.*?)\.\s(?: \* |\*/)?(.*)", first, re.S).groups()
    wanted, loose = collections.Counter([words(title)]), collections.Counter()
    for comment in ["/*\n * " + intro] + [comment for comment, _ in rest]:
        filled, others = passages(comment)
        wanted.update(filled)
        loose.update(others)
    shown, counts = words(page), collections.Counter(words(page).split())
    for plain, count in wanted.items():
        if shown.count(plain) < count:
            yield f"{name}: not in its page, or not as often:{plain}"
    for word, count in loose.items():
        if counts[word] < count:
            yield f"{name}: {word!r} of an indented line is not in its page, or not {count} times"


def function_findings(folder, name, text, page):
    """Functions without a page, or a part of it that has their declaration and the comment directly above them."""
    parts = re.split(r"\n(?= {3}\S)", page)
    bare = re.sub(r"\b(RAWHAL_API|RAWHAL_CHECKED|RAWHAL_INLINE)\b", "", COMMENT.sub("", text))
    for declared, function in re.findall(r"^\s*((?:[a-z]\w*[ *\n]+)+(\w+)\([^;{]*\))\s*[;{]", bare, re.M):
        if re.match("typedef|return|inline", declared):
            continue
        if not page_of(folder, function):
            yield f"{name}: {function} has no page"
        if not any(words(declared) in words(part) for part in parts):
            yield f"{name}: not in its page: {' '.join(declared.split())}"
    for comment, behind in comments(text):
        function = re.match(r"\n(?:RAWHAL_CHECKED |RAWHAL_INLINE )*RAWHAL_API[^;]*?(\w+)\(", behind)
        if function:
            headed = [words(part) for part in parts if f"{function.group(1)}()" in part.split("\n\n")[0]]
            if not any(all(text in part for text in passages(comment)[0]) for part in headed):
                yield f"{name}: {function.group(1)}'s comment is not beside it"


def page_of(folder, name):
    """The path that a page leads to, or None."""
    path = os.path.join(folder, name + ".3")
    if not os.path.exists(path):
        return None
    leads = re.match(r"\.so man3/(\S+)\.3\n$", open(path).read())
    return page_of(folder, leads.group(1)) if leads else path


def form_findings(path, renderers):
    name = os.path.basename(path)
    for tool in renderers:
        result = subprocess.run(LINTS[tool] + [path], capture_output=True, encoding="utf-8")
        yield from (f"{name}: {line}" for line in (result.stdout + result.stderr).splitlines())
        for line in render(RENDERERS[tool], path).split("\n"):
            if len(line) > 80:
                yield f"{name}: {tool} has {len(line)} columns: {line}"


def findings(folder, exports, headers):
    renderers = [tool for tool in RENDERERS if shutil.which(tool)]
    if not renderers:
        print("left out, for want of groff and mandoc: what pages look like")
    for function in open(exports).read().split():
        path = page_of(folder, function)
        if not path or function not in open(path).read():
            yield f"{function} has no page"
    for entry in sorted(os.listdir(folder)):
        path = page_of(folder, entry[: -len(".3")])
        if not path:
            yield f"{entry} leads nowhere"
        elif os.path.basename(path) == entry:
            yield from form_findings(path, renderers)
    for header in headers if renderers else ():
        name = os.path.basename(header)
        path = page_of(folder, "rawhal" if name == "rawhal.h" else "rawhal_" + name[: -len(".h")])
        if not path:
            yield f"{name} has no page"
            continue
        text, page = open(header).read(), render(RENDERERS[renderers[0]], path)
        yield from text_findings(name, text, page)
        yield from function_findings(folder, name, text, page)


def main(folder, exports, *headers):
    rows = list(findings(folder, exports, headers))
    print("\n".join(rows + [f"{len(headers)} headers, {len(os.listdir(folder))} pages: {len(rows)} findings"]))
    sys.exit(1 if rows or not headers else 0)


main(*sys.argv[1:])
