#!/usr/bin/env python3
"""Writes the wheel of a release build: the Python package, librawhal, softgpu, the command, and an HSA runtime for softgpu.

usage: packaging/wheel/wheel.py BUILD OUT; prints the path of the wheel that it writes to the folder OUT

The same inputs make the same bytes: times are SOURCE_DATE_EPOCH, or that of the last commit. pyproject.toml names this
file as what pip calls to make a wheel of a checkout. Nothing but Python 3.11, binutils and dpkg is needed.

Programs and libraries lie in the wheel as they are installed, so that each finds what it needs by relative paths."""
import base64
import hashlib
import io
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile

sys.path.insert(0, os.path.dirname(__file__))
import elf  # noqa: E402
import licences  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = SOURCE / "bindings" / "python" / "rawhal"
PREFIX = "rawhal"  # rawhal/__init__.py takes its own folder for one where that has a lib/

# What a build has, and where it is installed, which is PREFIX here. Libraries get the name that others know them by.
BUILT = (
    ("tools/rawhal", "bin/rawhal"),
    ("softgpu/softgpu-run", "bin/softgpu-run"),
    ("lib/librawhal.so", "lib/"),
    ("lib/librawhal-hiplaunch.so", "lib/"),
    ("lib/librawhal-front.so", "lib/"),
    ("lib/librawhal-front-register.so", "lib/"),
    ("lib/rawhal/hip/libamdhip64.so.7", "lib/rawhal/hip/"),
    ("lib/rawhal/hip/libamdhip64.so.6", "lib/rawhal/hip/libamdhip64.so.6"),  # a link elsewhere, which wheels have none of
    ("softgpu/libhsakmt.so.1", "lib/rawhal/softgpu/"),
    ("softgpu/libdtif.so", "lib/rawhal/softgpu/"),
    ("softgpu/softgpu-tree", "lib/rawhal/softgpu/softgpu-tree"),
    ("softgpu/libsoftgpu-paths.so", "lib/rawhal/softgpu/libsoftgpu-paths.so"),
    ("softgpu/libsoftgpu-wait.so", "lib/rawhal/softgpu/libsoftgpu-wait.so"),
    ("softgpu/libsoftgpu-images.so", "lib/rawhal/softgpu/libsoftgpu-images.so"),
    ("softgpu/libsoftgpu-probe.so", "lib/rawhal/softgpu/libsoftgpu-probe.so"),
)
# What Debian built: package, library, where it goes. zlib, libstdc++ and libgcc are the system's, as PEP 600 has it.
RUNTIME = "libhsa-runtime64.so.1"
DEBIAN = (
    ("libhsa-runtime64-1", RUNTIME, "lib/rawhal/runtime/"),
    ("libelf1", "libelf.so.1", "lib/"),
    ("libjansson4", "libjansson.so.4", "lib/"),
    ("libzstd1", "libzstd.so.1", "lib/"),
)
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6",
          "libz.so.1", "ld-linux-x86-64.so.2"}

# Of the runtime: softgpu and libelf are where the wheel has them, and it asks for one function in a version that the
# libstdc++ of systems with glibc 2.34 does not have. The earlier one differs in what cancelled threads may do.
RUNTIME_SEARCH = ("$ORIGIN", "$ORIGIN/../softgpu", "$ORIGIN/../..")
RUNTIME_LOWERED = ("GLIBCXX_3.4.30", "GLIBCXX_3.4.11", ["_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"])

# The newest version of each kind that systems of a tag have, by glibc's: PEP 600's profiles, as auditwheel has them.
NEWEST = {(2, 28): {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)},
          (2, 34): {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}}


def numbers(text):
    return tuple(int(part) for part in re.findall(r"\d+", text))


# ---- Binaries ----

def read_built(path):
    """A program or library without what only debuggers and linkers read."""
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped.name, path], check=True)
        return pathlib.Path(stripped.name).read_bytes()


def debian_library(package, soname):
    listed = subprocess.run(["dpkg-query", "-L", package], capture_output=True, text=True, check=False).stdout.split()
    found = [path for path in listed if os.path.basename(path) == soname]
    if not found:
        raise SystemExit(f"wheel: Debian's package {package} with {soname} is not installed")
    return bytearray(pathlib.Path(found[0]).resolve().read_bytes())


def own_runtime(data):
    file = elf.Elf(data)
    file.set_search(RUNTIME_SEARCH)
    if any(version == RUNTIME_LOWERED[0] for _, version in file.versions):
        file.lower(*RUNTIME_LOWERED)
    return data


def binaries(build):
    """The prefix's programs and libraries, by their name in the wheel, and what of Debian's it has, by package."""
    files, packages = {}, {}
    for path, to in BUILT:
        source = build / path
        if not source.exists():
            raise SystemExit(f"wheel: {source} is missing; ./dev wheel builds it")
        data = read_built(source) if elf.is_elf(source.read_bytes()[:16]) else source.read_bytes()
        files[f"{PREFIX}/{to}" + (elf.Elf(data).soname or source.name if to.endswith("/") else "")] = data
    for package, soname, to in DEBIAN:
        data = debian_library(package, soname)
        files[f"{PREFIX}/{to}{soname}"] = bytes(own_runtime(data) if soname == RUNTIME else data)
        packages[package] = soname + (", with another RUNPATH and one symbol version lowered" if soname == RUNTIME else "")
    return files, packages


def check_closed(libraries):
    """Whatever is needed is the system's, or found by the file's own RUNPATH."""
    for name, file in libraries.items():
        folder = os.path.dirname(name)
        places = [os.path.normpath(path.replace("$ORIGIN", folder)) for path in file.search]
        for needed in file.needed:
            if needed not in SYSTEM and not any(f"{place}/{needed}" in libraries for place in places):
                raise SystemExit(f"wheel: {name} needs {needed}, which is not in {places} of the wheel")


def glibc_of(libraries):
    """The oldest glibc, as PEP 600 names it, that all of it runs on."""
    needed = {}
    for name, file in libraries.items():
        for _, version in file.versions:
            kind, _, number = version.partition("_")
            if number[:1].isdigit():
                needed[kind] = max(needed.get(kind, ((), "")), (numbers(number), name))
    for glibc, newest in NEWEST.items():
        if needed["GLIBC"][0] <= glibc and all(needed.get(kind, ((),))[0] <= number for kind, number in newest.items()):
            return glibc
    raise SystemExit(f"wheel: no system of those in NEWEST has all of {needed}")


# ---- The rest ----

def python_files(build):
    """The package, with what a build generates of it."""
    return {f"rawhal/{path.relative_to(folder)}": path.read_bytes() for folder in (PACKAGE, build / "python" / "rawhal")
            for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def version():
    text = (SOURCE / "base" / "version.h").read_text()
    return ".".join(re.search(rf"#define RAWHAL_VERSION_{part} +(\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def metadata(project, licence_names):
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version()}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}",
             f"License-Expression: {project['license']}"]
    lines += [f"License-File: {name}" for name in sorted(licence_names)]
    lines += [f"Keywords: {','.join(project['keywords'])}"] + [f"Classifier: {name}" for name in project["classifiers"]]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
    for extra, requirements in project.get("optional-dependencies", {}).items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {text}; extra == "{extra}"' for text in requirements]
    lines.append("Description-Content-Type: text/markdown")
    return "\n".join(lines) + "\n\n" + (SOURCE / project["readme"]).read_text()


def entry_points(project, files):
    """pip makes programs of some; the others are looked up by name, and one that is not there breaks who looks."""
    groups = {"console_scripts": project["scripts"], **project.get("entry-points", {})}
    for group, entries in groups.items():
        for value in entries.values():
            path = value.partition(":")[0].replace(".", "/")
            if not {path + ".py", path + "/__init__.py"} & set(files):
                raise SystemExit(f"wheel: {group} names {value}, which is not in the package")
    return "\n".join("\n".join([f"[{group}]"] + [f"{name} = {value}" for name, value in entries.items()]) + "\n"
                     for group, entries in groups.items())


def when():
    asked = os.environ.get("SOURCE_DATE_EPOCH")
    if not asked:
        asked = subprocess.run(["git", "-C", SOURCE, "log", "-1", "--format=%ct"], capture_output=True, text=True).stdout
    return max(time.gmtime(int(asked or 0))[:6], (1980, 1, 1, 0, 0, 0))  # a zip file's first


def is_program(name):
    return name.startswith(f"{PREFIX}/bin/") or os.path.basename(name) == "softgpu-tree"


def write_archive(path, files, date):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name, date)
            member.compress_type, member.create_system = zipfile.ZIP_DEFLATED, 3
            member.external_attr = (stat.S_IFREG | (0o755 if is_program(name) else 0o644)) << 16
            archive.writestr(member, data)
    path.write_bytes(content.getvalue())


def record(files, own):
    lines = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
             for name, data in files.items()]
    return ("\n".join(lines + [f"{own},,"]) + "\n").encode()


def write(build, out):
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    libraries, packages = binaries(build)
    read = {name: elf.Elf(data) for name, data in libraries.items() if elf.is_elf(data)}
    check_closed(read)
    tag = "py3-none-manylinux_{}_{}_x86_64".format(*glibc_of(read))
    files = {**python_files(build), **libraries}
    if "rawhal/_interface.py" not in files:
        raise SystemExit("wheel: the build has no python/rawhal/_interface.py: it is made where Python has cffi")
    for name, data in files.items():
        if str(build).encode() in data:
            raise SystemExit(f"wheel: {name} knows the build folder")
    info = f"{project['name']}-{version()}.dist-info"
    legal = {"LICENSE": (SOURCE / "LICENSE").read_bytes(), **licences.collect(packages)}
    about = {f"licenses/{name}": data for name, data in legal.items()}
    about["METADATA"] = metadata(project, legal).encode()
    about["WHEEL"] = f"Wheel-Version: 1.0\nGenerator: rawhal\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    about["entry_points.txt"] = entry_points(project, files).encode()
    files = dict(sorted(files.items()))
    files.update(sorted((f"{info}/{name}", data) for name, data in about.items()))
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{project['name']}-{version()}-{tag}.whl"
    write_archive(path, files, when())
    return path


# ---- What pip calls: PEP 517 ----

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the release preset, and installs Debian's packages that are missing for it: see ./dev."""
    subprocess.run([SOURCE / "dev", "wheel", wheel_directory], check=True, stdout=sys.stderr)
    return max(pathlib.Path(wheel_directory).glob("rawhal-*.whl"), key=lambda path: path.stat().st_mtime).name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("rawhal is built of its repository: there is no archive of sources apart from that")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__.split("\n\n")[1])
    print(write(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])))
