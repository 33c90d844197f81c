#!/usr/bin/env python3
"""Whether each file that is installed is in one of Debian's packages, and only one: dh_missing ends a build for less.

usage: tests/install/packages.py PREFIX LIBDIR DEBIAN; prints one line a finding, exits with 1 if there is any."""
import fnmatch
import glob
import os
import sys

# What debian/rules removes, and moves.
REMOVED = "share/doc/rawhal/LICENSE"
MOVED = ("share/zsh/site-functions", "share/zsh/vendor-completions")


def patterns(debian):
    """(package, pattern) of each line of its *.install."""
    for path in sorted(glob.glob(os.path.join(debian, "*.install"))):
        with open(path, encoding="utf-8") as file:
            for line in file.read().split("\n"):
                if line.strip():
                    yield os.path.basename(path)[:-len(".install")], line.strip()


def installed(prefix, libdir):
    """Paths as they are in Debian's tree."""
    for parent, folders, names in os.walk(prefix):
        for name in names + [each for each in folders if os.path.islink(os.path.join(parent, each))]:
            path = os.path.relpath(os.path.join(parent, name), prefix)
            if path.startswith(libdir + "/"):
                path = "lib/triplet" + path[len(libdir):]
            if path != REMOVED:
                yield "usr/" + path.replace(*MOVED)


def has(pattern, path):
    """Each component matches, as dh_install's; what names a folder has all that is in it."""
    parts, names = pattern.split("/"), path.split("/")
    return len(parts) <= len(names) and all(map(fnmatch.fnmatchcase, names, parts))


def main(prefix, libdir, debian):
    rows, files = list(patterns(debian)), sorted(installed(prefix, libdir))
    if not any("/rawhal_spank" in path for path in files):  # where Slurm's headers are missing it is not built
        rows = [row for row in rows if row[0] != "rawhal-slurm"]
    wrong = [f"debian/{package}.install: {pattern} has nothing" for package, pattern in rows
             if not any(has(pattern, path) for path in files)]
    for path in files:
        packages = {package for package, pattern in rows if has(pattern, path)}
        if len(packages) != 1:
            wrong.append(f"{path} is in {' and '.join(sorted(packages)) or 'no package'}")
    print("\n".join(wrong + [f"{len(files)} files, {len(rows)} patterns"]))
    return 1 if wrong or not files else 0


sys.exit(main(*sys.argv[1:]))
