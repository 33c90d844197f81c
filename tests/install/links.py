#!/usr/bin/env python3
"""Whether every document that an installed document or manual page names is installed.

usage: tests/install/links.py PREFIX; prints one line a finding, exits with 1 if there is any."""
import os
import re
import sys


CODE = re.compile(r"^ {4}.*$", re.M)  # f[1](x) is no link there


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def below(folder, pattern):
    return [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names if re.search(pattern, name)]


def main(prefix):
    documents = os.path.join(prefix, "share/doc/rawhal")
    markdown = below(documents, r"\.md$")
    pages = below(os.path.join(prefix, "share/man"), r"\.[137]$")
    named = [(path, os.path.join(os.path.dirname(path), link)) for path in markdown
             for link in re.findall(r"\]\(([^)#\s]+)", CODE.sub("", read(path))) if not re.match(r"\w+:", link)]
    cited = [(path, os.path.join(documents, name)) for path in pages for name in re.findall(r"\bdocs/[\w./-]+\.md\b", read(path))]
    wrong = [f"{os.path.relpath(path, prefix)}: there is no {os.path.relpath(target, prefix)}"
             for path, target in named + cited if not os.path.isfile(target)]
    print("\n".join(wrong + [f"{len(markdown)} documents with {len(named)} links, {len(pages)} pages with {len(cited)}"]))
    return 1 if wrong or not named or not cited else 0


sys.exit(main(sys.argv[1]))
