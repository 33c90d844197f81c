#!/usr/bin/env python3
"""Who may include whom, how large a file may grow, and whether what documents and comments name exists.

usage: tests/lint.py [ROOT]; prints one line a finding, exits with 1 if there is any."""
import functools
import os
import re
import subprocess
import sys

MAY_INCLUDE = {
    "base": {"base"},
    "hsaco": {"base", "hsaco"},
    "kernarg": {"base", "hsaco", "kernarg"},
    "debug": {"base", "hsaco", "kernarg", "debug"},
    "queue": {"base", "hsaco", "kernarg", "debug", "queue"},
    "hal": {"base", "hsaco", "kernarg", "debug", "queue", "record", "hal"},
    "library": {"base", "hsaco", "kernarg", "debug", "queue", "hal", "probe", "library"},
    "record": {"base", "hsaco", "kernarg", "record"},
    "probe": {"base", "hsaco", "probe"},
    "front": {"base", "hsaco", "kernarg", "debug", "queue", "record", "probe", "front"},
    "hiplaunch": {"hiplaunch"},  # and the public headers
    "softgpu": {"softgpu"},
    "softgpu/probes": {"base", "hsaco", "kernarg", "record", "probe"},  # a library of its own, which softgpu loads
    "tools": {"record", "tools"},  # and the public headers, and
    "fleet": {"fleet"},  # and the public headers
    "examples": set(),
}
HELPERS = {"tools": {"base/clock.h", "base/escape.h", "base/glob.h", "base/jansson.h", "base/list.h", "base/near.h", "base/new_file.h", "base/whole.h",  # which the command has with record/
                     *("debug/core/" + name for name in ("change.h", "core.h", "file.h", "notes.h", "walk.h")), "debug/dump.h", "debug/report.h",
                     "debug/door/observe.h", "debug/door/requests.h", "debug/label.h", "hsaco/content.h", "hsaco/preload.h",
                     "probe/certificate.h", "softgpu/back.h", "softgpu/waves.h"},
           "debug": {"softgpu/waves.h"},  # it includes nothing, and what it declares is found by name
           "softgpu/probes": {"softgpu/prober.h", "queue/limit/parse.h"},
           "softgpu": {"probe/probe_records.h"}, "record": {"probe/probe_records.h", "probe/code.h"}}  # which is plain data
# Folders within one, lowest first: each may include itself and those before it.
FLOORS = {
    "queue": ["queue/limit", "queue/gate"],
    "softgpu": ["softgpu/device", "softgpu/isa", "softgpu/order", "softgpu/debug", "softgpu/cp", "softgpu/thunk", "softgpu/door"],
    "softgpu/isa": ["softgpu/isa/" + name for name in (
        "describe", "base", "decode", "memory", "reference", "exec/scalar", "exec/memory", "exec/vector", "exec/matrix",
        "exec/build", "run")],
    "hiplaunch": ["hiplaunch/" + name for name in ("hip", "device", "memory", "module", "launch", "door")],
    "engines": ["softgpu/isa/exec", "softgpu/isa/reference"],  # neither knows the other
}
# Folders within one: what they may include, who may include them, and what of them.
KNOWS = {"queue/limit": {"base", "queue/limit", "queue/limit.h"},
         "queue/gate": {"base", "hsaco", "kernarg", "queue/limit", "queue/gate"},
         "hal/services": {"base", "hal", "hal/services"},
         "debug/core": {"base", "debug/core", "debug/fault.h", "debug/events.h"},
         **{"library/" + room: {"base", "hsaco", "library", "library/" + room} for room in ("process", "tensile", "triton")}}
KNOWN_TO = {"queue/gate": {"queue", "hal", "front"}}
DOORS = {"queue/limit": {"queue/limit/" + name for name in ("admission.h", "config.h", "describe.h", "memory.h", "only_copy.h", "opening.h", "parse.h")}}
WITHOUT_HSA = ("base/", "hsaco/", "kernarg/", "record/", "probe/", "debug/core/", "queue/limit/")
# A verb of the command, tools/VERB, knows itself and what verbs share.
VERB = re.compile(r"tools/(?!shared\b|demo\b)\w+(?=/)")
MAX_LINES, MAX_COLUMNS = 600, 100
MAX_BYTES = 512 << 10  # of any file; what is larger was not meant to be here


@functools.lru_cache(maxsize=None)
def contents(path):
    return open(path, errors="replace").read()


def public_headers(root):
    """name of a public header -> the folder that owns it."""
    owner = {}
    for folder in MAY_INCLUDE:
        path = os.path.join(root, folder, "CMakeLists.txt")
        text = contents(path) if os.path.exists(path) else ""
        for listed in re.findall(r"rawhal_public_headers\(([^)]*)\)", text):
            owner.update({os.path.basename(name): folder for name in listed.split()})
    return owner


def floor(path, floors):
    return next((i for i, folder in enumerate(floors) if path.startswith(folder + "/")), None)


def is_above(path, included):
    """Whether a file includes one of a floor above its own."""
    floors = ((floor(path, names), floor(included, names)) for names in FLOORS.values())
    return any(own is not None and other is not None and other > own for own, other in floors)


def is_beyond(path, included):
    """Whether a file of such a folder includes what that may not know, or one that may not know it does, or not by its door."""
    folder, other = os.path.dirname(path), os.path.dirname(included)
    verb, of_verb = VERB.match(path), VERB.match(included)
    if of_verb and path != "tools/main.c" and not (verb and verb.group() == of_verb.group()):
        return True
    return not {other, included} & KNOWS.get(folder, {other}) \
        or path.split("/")[0] not in KNOWN_TO.get(other, {path.split("/")[0]}) \
        or folder != other and included not in DOORS.get(other, {included})


DOCUMENT = re.compile(r"^(docs/[^/]+\.md|README\.md|CONTRIBUTING\.md|SECURITY\.md|softgpu/README\.md)$")
SOURCE = r"[\w.-]+\.(?:c|h|cc|inc|py|cmake|txt|sh|md)"


def document_findings(root, path, listing, text):
    """Links to files, files in backticks, and functions behind a colon: `folder/file.c:function`."""
    folder = os.path.dirname(path)
    by_name = {}
    for name in listing:
        by_name.setdefault(os.path.basename(name), []).append(name)
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(("    >>> ", "    ... ")):  # Python's kernel[grid, block](...) is no link
            continue
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
            if not re.match(r"\w+:", link) and not os.path.exists(os.path.join(root, folder, link)):
                yield f"{path}:{number}: there is no {link}"
        for span in re.findall(r"`([^`]+)`", line):
            match = re.fullmatch(rf"((?:[\w.-]+/)*{SOURCE})(?::(\w+))?", span)
            if not match or not ("/" in span or match.group(2)):
                continue
            file, function = match.groups()
            if "/" in file and not any(os.path.isdir(os.path.join(root, base, file.split("/")[0])) for base in ("", folder)):
                continue  # another project's
            found = [name for name in by_name.get(os.path.basename(file), ())
                     if name in (file, os.path.join(folder, file)) or "/" not in file or name.endswith("/" + file)]
            if not found:
                yield f"{path}:{number}: there is no {file}"
            elif function and not any(re.search(rf"\b{function}\b", contents(os.path.join(root, name)))
                                      for name in found):
                yield f"{path}:{number}: {file} has no {function}"


SOURCES = (".c", ".h", ".cc", ".inc")
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
NAMED_FILE = re.compile(r"(?<![\w<./*$-])((?:[\w.-]+/)*[a-z0-9][a-z0-9_.-]+\.(?:c|h|cc|inc|isa|py))\b(?![\w(*])")
NAMED_FUNCTION = re.compile(r"(?<![\w$])([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\(\)")  # getFoo() and Foo() are others'
NAMED_OURS = re.compile(r"(?<![\w$])((?:rawhal|softgpu|isa|RAWHAL|SOFTGPU)_\w*[A-Za-z0-9])(?![\w*{]|_?[*])")
# What comments and documents name of other projects and no source includes or calls. Add to it what is found wrongly.
OTHERS = {"amdgpu.h", "amdgpu_drm.h", "check.py", "fwd.h", "intercept_table.h", "registration.h", "resource_ai.h",
          "resource_kv.h", "moe_sorting", "shuffle_scale", "shuffle_weight", "lanes_name"}


class Names:
    """What there is to name: files, and identifiers of whatever is not a comment."""

    def __init__(self, root, listing):
        self.files, self.identifiers = set(OTHERS), set(OTHERS)
        for path in listing:
            full = os.path.join(root, path)
            self.files.update((path, os.path.basename(path)))
            text = contents(full) if os.path.isfile(full) and not path.endswith(".md") else "\0"
            if "\0" in text:
                continue
            self.files.update(os.path.basename(file) for file in re.findall(r'#\s*include\s*[<"]([^>"]+)', text))
            if path.endswith(SOURCES):
                text = TOKEN.sub(lambda match: " " if match.group()[0] == "/" else match.group(), text)
            self.identifiers.update(re.findall(r"\w+", text))

    def has_file(self, root, file, listing):
        file = re.sub(r"^(\.\./)+", "", file)
        if "/" not in file:
            return file in self.files
        own = any(os.path.isdir(os.path.join(root, base, file.split("/")[0])) for base in ("", "softgpu", "softgpu/isa"))
        return not own or any(name == file or name.endswith("/" + file) for name in listing)

    def has(self, name):
        return name in self.identifiers or name.startswith(("hsa_", "hip_")) or re.sub(r"_\d+$", "", name) in self.identifiers


def name_findings(root, path, listing, names, text):
    """Files, functions and whatever has a prefix of ours, named in comments or, of a document, anywhere."""
    comments = ((match.start(), match.group()) for match in TOKEN.finditer(text) if match.group()[0] == "/")
    for start, passage in comments if path.endswith(SOURCES) else [(0, text)]:
        named = {match.start(): match.group(1) for pattern in (NAMED_FUNCTION, NAMED_OURS)
                 for match in pattern.finditer(passage) if not names.has(match.group(1))}
        named.update((match.start(), match.group(1)) for match in NAMED_FILE.finditer(passage)
                     if not names.has_file(root, match.group(1), listing))
        for at, name in named.items():
            yield f"{path}:{text.count(chr(10), 0, start + at) + 1}: there is no {name}"


REGISTER = "base/variables.c"  # every variable that a user may set, so that a misspelt one is noticed; those of limits are their rows
OF_LIMITS = "queue/limit/"


def variable_findings(root, listing):
    """Variables that the product reads and would refuse as misspelt, and those of the register that it does not read."""
    read, named, known = {}, set(), {}
    for path in listing:
        full = os.path.join(root, path)
        if not path.endswith((".c", ".h", ".cc")) or path.split("/")[0] not in MAY_INCLUDE or not os.path.isfile(full):
            continue
        for number, line in enumerate(contents(full).split("\n"), 1):
            for name in re.findall(r'(?:getenv\(|\b\w*variable\w*\[?\]? = )"(RAWHAL_[A-Z0-9_]+)"', line):
                read.setdefault(name, f"{path}:{number}")
            names = re.findall(r'"(RAWHAL_[A-Z0-9_]+)"', line)
            if path == REGISTER or path.startswith(OF_LIMITS):
                known.update((name, f"{path}:{number}") for name in names)
            if path not in (REGISTER, "tools/doctor/environment.c"):
                named.update(names)
    for name, place in sorted(read.items()):
        if name not in known:
            yield f"{place}: {name} is none of the variables in {REGISTER}"
    for name, place in sorted(known.items()):
        if name not in named:
            yield f"{place}: nothing but tests reads {name}"


STEP = re.compile(r"^\s*(?:else )?(?!return\b)[A-Za-z_(][\w.>()*-]*(?:\+\+|--);|\bfor \(.*;[^;]*[\w)](?:\+\+|--)(?:\)|, )")


def dialect_findings(path, lines, opaque):
    """CONTRIBUTING.md, "Style": what C allows in two ways and is written in one."""
    text = "\n".join(lines)
    has_status = re.search(r"\brawhal_status_t status\b", text) and not re.search(r"\b(?:bool|int) status\b", text)
    for number, line in enumerate(lines, 1):
        if STEP.search(re.sub(r"\[[^]]*\]", "", line)):
            yield f"{path}:{number}: ++i, not i++, where nothing takes the value"
        if has_status and re.search(r"!status\b(?!\.|->|\()", line):
            yield f"{path}:{number}: status == RAWHAL_OK, not !status"
        named = re.match(r"(?:struct|enum|union) ([a-z_0-9]+) \{", line)
        if named and not path.endswith(".cc") and not re.search(rf"typedef struct {named.group(1)} \w+;", text) \
                and named.group(1) not in opaque:
            yield f"{path}:{number}: typedef {line[:-2]} ... {named.group(1)}_t;"


# softgpu: registers that are masks of lanes are as wide as waves are.
MASK = re.compile(r"isa_(?:read|write)_s64\([^;]*\bISA_(?:EXEC|VCC)\b|\bs\[ISA_(?:EXEC|VCC)\b")


def mask_findings(path, lines):
    if not path.startswith("softgpu/") or path == "softgpu/isa/base/wave.h":
        return
    for number, line in enumerate(lines, 1):
        if MASK.search(line):
            yield f"{path}:{number}: isa_exec(), isa_vcc(), isa_read_mask(): a mask is as wide as waves are"


def style_findings(root, listing):
    sources = [path for path in listing if path.endswith(SOURCES) and "/fixtures/" not in path
               and os.path.isfile(os.path.join(root, path))]
    texts = {path: contents(os.path.join(root, path)) for path in sources}
    opaque = {name for path, text in texts.items() if path.endswith(".h")
              for name in re.findall(r"^typedef struct (\w+) \w+;", text, re.M)}
    for path, text in texts.items():
        yield from dialect_findings(path, text.split("\n"), opaque)
        yield from mask_findings(path, text.split("\n"))


# A process that is not there is -1, which is all of them to kill(): a test of top once ended everything that ran as root.
SIGNALLERS = {"fleet/slurm/keeper.c", "front/engine/program.c", "softgpu/debug/sibling.c", "tests/child.h", "tests/tools/terminal.h", "tests/child.py", "tools/doctor/run.c", "tools/exec/guard.c", "tools/probe/listing.c", "tests/lint.py", "tests/lint_test.py"}
KILLS = r"(?<![\w.>])(?:kill|killpg|tgkill)\((?!(?:\(pid_t\))?[^;()]*, 0\)|\))"  # also in a string: a program that a test makes
FORKS = r"(?<![\w.>])(?:fork|vfork|forkpty)\("
IN_PYTHON = r"\bos\.(?:kill|killpg|fork|forkpty)\b|\bpty\.|\b(?:pkill|killall)\b"
IN_SHELL = r"^[^#\n]*?\b(?:kill|pkill|killall)\s"


def without(text, quoted):
    """What is neither a comment nor, if `quoted`, a string."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()) if quoted or match.group()[0] == "/" else
                     match.group(), text)


def signal_findings(path, text):
    """tests/child.h and tests/child.py are who begins and signals processes; programs of their own may have children."""
    if path in SIGNALLERS:
        return
    passages = []
    if path.endswith((*SOURCES, ".hip")):
        passages.append((KILLS, without(text, False)))
        if "/programs/" not in path:
            passages.append((FORKS, without(text, True)))
    elif path.endswith(".py"):
        passages.append((IN_PYTHON, text))
    elif path.endswith(".sh") or text.startswith(("#!/bin/sh", "#!/usr/bin/env bash", "#!/bin/bash")):
        passages.append((IN_SHELL, text))
    for pattern, passage in passages:
        for match in re.finditer(pattern, passage, re.M):
            yield f"{path}:{passage.count(chr(10), 0, match.end()) + 1}: {match.group().strip()}: see tests/child.h"


# A test waits for progress it counts, never for a time: a sleep belongs into a loop that looks at something, and a loop
# until some time is no test of anything on a machine that was slow meanwhile. tests/sleeps.txt has the few that are right.
SLEEP = re.compile(r"(?<![\w.])(?:(?:std::)?this_thread::sleep_(?:for|until)|u?sleep|(?:clock_)?nanosleep|time\.sleep)\(")
WINDOW = re.compile(r"\b(?:while|for) \((?:[^;&]*;)?[^;&]*(?:\bnow\(\)|\bNow\(\)|deadline_after\(0\)|time\.(?:monotonic|time)\(\))[^;&]* < [^;&]*$"
                    r"|^\s*while (?:not )?time\.(?:monotonic|time)\(\) < [^()]*:$")
LOOKS = re.compile(r"\b(?:while \(|while .*:$|for \([^;]*;[^;]*(?:&&|[A-Za-z]\()[^;]*;|do \{)|\bif .*:$")
COUNTS = re.compile(r"\bfor \(|^\s*for .*:$")


def is_awaited(lines, at):
    """Whether the loop around that line looks at something: its condition does, or something in it ends it."""
    depth, inner = len(lines[at]) - len(lines[at].lstrip()), []
    for line in reversed(lines[max(0, at - 30):at]):
        own = len(line) - len(line.lstrip())
        if line.strip() and own < depth:
            if re.match(r"\s*(?:\} )?(?:if|else|elif)\b", line):
                depth = own
                continue
            return bool(LOOKS.search(line)) or bool(COUNTS.search(line) and re.search(r"\b(?:return|break)\b", "\n".join(inner)))
        inner.append(line)
    return False


def sleep_findings(root, listing):
    """Sleeps and fixed windows of tests, but for as many of a file as tests/sleeps.txt says."""
    known = {}
    path = os.path.join(root, "tests/sleeps.txt")
    for number, line in enumerate(contents(path).split("\n") if os.path.isfile(path) else [], 1):
        match = re.match(r"(\d+) (\S+): (\S.*)$", line)
        if match:
            known[match.group(2)] = (int(match.group(1)), number)
        elif line.strip() and not line.startswith("#"):
            yield f"tests/sleeps.txt:{number}: not 'NUMBER FILE: why'"
    for path in listing:
        full = os.path.join(root, path)
        if not path.startswith("tests/") or not path.endswith((".c", ".h", ".cc", ".hip", ".py")) or "/fixtures/" in path \
                or path in ("tests/lint.py", "tests/lint_test.py") or not os.path.isfile(full):
            continue
        text = contents(full)
        if not re.search(r"sleep|now\(|Now\(|deadline_after|time\.", text):
            continue
        lines = (text if path.endswith(".py") else without(text, True)).split("\n")
        found = [number for number, line in enumerate(lines, 1) if not line.lstrip().startswith("#") and
                 (WINDOW.search(line) or SLEEP.search(line) and not is_awaited(lines, number - 1))]
        allowed, row = known.pop(path, (0, 0))
        if len(found) > allowed:
            for number in found:
                yield f"{path}:{number}: waits for a time, not for progress ({len(found)}, {allowed} in tests/sleeps.txt)"
        elif len(found) < allowed:
            yield f"tests/sleeps.txt:{row}: {path} has {len(found)}"
    for path, (_, row) in known.items():
        yield f"tests/sleeps.txt:{row}: there is no {path}"


def tier_findings(root, listing):
    """Lines of tests/tiers.txt with a name that no test has, and expressions that are too much for ctest, which then takes none."""
    path = os.path.join(root, "tests/tiers.txt")
    if not os.path.isfile(path):
        return
    words = {word for name in listing if name.startswith(("tests/", "bench/")) and os.path.isfile(os.path.join(root, name))
             and not name.endswith((".txt", ".co")) or name.endswith("CMakeLists.txt")
             for word in re.findall(r"\w+", contents(os.path.join(root, name)))}
    text, pairs = "\n".join(words), {}
    for number, line in enumerate(contents(path).split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.match(r"((?:asan-ubsan|tsan|release|quick) (?:only|not|alone)|every alone) (\S.*)$", line)
        if match:
            pairs[match.group(1)] = pairs.get(match.group(1), 0) + match.group(2).count("(")
            if re.search(r" only .*/\w", line):
                yield f"tests/tiers.txt:{number}: parameters, which are not known where sources are chosen"
            if pairs[match.group(1)] > 8:  # and one of who gives -E
                yield f"tests/tiers.txt:{number}: more parentheses than ctest takes"
        else:
            yield f"tests/tiers.txt:{number}: not 'WHERE only|not|alone EXPRESSION'"
            continue
        for word in re.findall(r"[A-Za-z_]\w{3,}", match.group(2)):
            if not all(part in text for part in word.split("_")):
                yield f"tests/tiers.txt:{number}: no test is called {word}"


OUTSIDE = re.compile(r"\.\./shared|\.\./\*/|SOURCE_DIR[})]/\.\.|check/house")


def text_findings(root, listing):
    names = Names(root, listing)
    for path in listing:
        full = os.path.join(root, path)
        if not os.path.isfile(full) or path == "tests/lint.py":
            continue
        text = contents(full)
        if OUTSIDE.search(text):
            yield f"{path}: looks beside the checkout, where a fresh clone has nothing"
        yield from signal_findings(path, text)
        if DOCUMENT.match(path):
            yield from document_findings(root, path, listing, text)
        if path.endswith(SOURCES) or path.endswith(".md") and path != "CHANGELOG.md":  # which tells of what was
            yield from name_findings(root, path, listing, names, text)


def warning_findings(root):
    """A warning of somebody's header stops .ci/run, and nobody who builds a release."""
    for path, wanted in (("CMakePresets.json", False), (".ci/run", True)):
        full = os.path.join(root, path)
        if os.path.isfile(full) and bool(re.search(r"WERROR\b.*\bON\b", contents(full))) != wanted:
            yield f"{path}: warnings are errors in .ci/run, and only there"


def findings(root):
    owner = public_headers(root)
    listing = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                             capture_output=True, text=True, check=True).stdout.split("\n")
    yield from text_findings(root, listing)
    yield from variable_findings(root, listing)
    yield from style_findings(root, listing)
    yield from warning_findings(root)
    yield from sleep_findings(root, listing)
    yield from tier_findings(root, listing)
    for path in listing:
        folder = os.path.dirname(path) if os.path.dirname(path) in MAY_INCLUDE else path.split("/")[0]
        full = os.path.join(root, path)
        if os.path.isfile(full) and os.path.getsize(full) > MAX_BYTES:
            yield f"{path}: {os.path.getsize(full)} bytes: no source is as large"
        if folder not in MAY_INCLUDE or not path.endswith((".c", ".h", ".inc")) or not os.path.isfile(full):
            continue
        lines = contents(full).split("\n")
        is_table = re.search(r"(\b|_)table|opcode|\.inc$", path)
        if len(lines) > MAX_LINES and not is_table:
            yield f"{path}: {len(lines)} lines: two subjects?"
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS and not is_table:
                yield f"{path}:{number}: {len(line)} columns"  # clang-format leaves comments as they are
            inner = re.match(rf'\s*#\s*include\s*(?:"|<(?=(?:{"|".join(MAY_INCLUDE)})/))([\w./]+)[">]', line)
            if inner and (is_above(path, inner.group(1)) or is_beyond(path, inner.group(1))):
                yield f"{path}:{number}: {os.path.dirname(path)}/ may not know {inner.group(1)}"
            if re.match(r"\s*#\s*include\s*<hsa/", line) and path.startswith(WITHOUT_HSA):
                yield f"{path}:{number}: {os.path.dirname(path)}/ may not know HSA"
            match = re.match(r'\s*#\s*include\s*[<"](?:rawhal/([\w.]+)|([a-z]+)/\S*)[>"]', line)
            if not match:
                continue
            public, private = match.group(1), match.group(2)
            if public:
                target = owner.get(public)
                if target is None:
                    yield f"{path}:{number}: <rawhal/{public}> is no public header"
                elif folder in ("hiplaunch", "tools", "fleet", "examples"):
                    continue
            else:
                target = private if private in MAY_INCLUDE else None
            helps = inner and (inner.group(1) in HELPERS.get(folder, ()) or os.path.dirname(inner.group(1)) == folder)
            if target and target not in MAY_INCLUDE[folder] and not helps:
                yield f"{path}:{number}: {folder}/ may not know {target}/"


def main():
    try:
        rows = list(findings(sys.argv[1] if len(sys.argv) > 1 else "."))
    except (FileNotFoundError, subprocess.CalledProcessError):
        print("skipped: git does not know this folder")
        sys.exit(77)
    print("\n".join(rows + [f"{len(rows)} findings"]))
    sys.exit(1 if rows else 0)


main()
