"""The licences of what others wrote and the wheel has, as Debian's packages have them."""
import pathlib
import re
import subprocess

COMMON = pathlib.Path("/usr/share/common-licenses")

# Packages whose code is compiled into ours, as they are headers: their binaries are not here.
COMPILED_IN = {
    "libhsa-runtime-dev": "its headers are compiled in",
    "libhsakmt-dev": "its headers are compiled in",
    "libmsgpack-dev": "its headers are compiled in",
    "libxxhash-dev": "its headers are compiled in",
    "uthash-dev": "its headers are compiled in",
}

NOTICE = """rawhal is distributed under the licence in LICENSE. This wheel also has the following, unless it says otherwise as Debian
built it. What their licences ask for is in third-party/, the licences that these name in common-licenses/. The sources
are those of Debian's source packages of the names and versions below.

"""

LIBELF = """
libelf is used under the GNU Lesser General Public License, version 3 or later. It is a file of its own, which the
dynamic linker finds by its name: another version with the same interface may be put in its place.
"""


def ask(package, field):
    found = subprocess.run(["dpkg-query", "-W", "-f", "${%s}" % field, package], capture_output=True, text=True)
    if found.returncode or not found.stdout:
        raise SystemExit(f"wheel: Debian's package {package} is not installed")
    return found.stdout


def collect(shipped):
    """`shipped`: what of it the wheel has, by package. The files, by their name below licenses/, and the notice that lists
    them."""
    files, lines, common = {}, [], set()
    for package, what in sorted({**COMPILED_IN, **shipped}.items()):
        text = pathlib.Path("/usr/share/doc", package, "copyright").read_bytes()
        files[f"third-party/{package}.txt"] = text
        common.update(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text.decode()))
        lines.append(f"{package}: {what} (source: {ask(package, 'source:Package')} {ask(package, 'source:Version')})\n")
    if any("LGPL-3" in name for name in common):
        common.add("GPL-3")  # which it adds to
    for name in sorted(common):
        files[f"common-licenses/{name}.txt"] = (COMMON / name).read_bytes()
    files["NOTICE"] = (NOTICE + "".join(lines) + LIBELF).encode()
    return files
