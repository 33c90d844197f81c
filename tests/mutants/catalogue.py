"""Lists of mutants: what an entry says, and whether the checkout still has the line it changes.

An entry is a heading and keys, one a line; everything behind `= ` counts as it stands:

    [table-overflow]
    file = hsaco/elf_view.c
    line = return checked_mul_u64(count, entry, &bytes) && range_within(offset, bytes, size);
    becomes = return (bytes = count * entry, range_within(offset, bytes, size));
    tests = hsaco:Open.*:Loadable.* limit
    why = a count of 2^58 + 1 section headers wraps to one

    line        the source line without its indentation, found once in the file
    after       optional: a line found once; `line` is then the first one like it below that
    becomes     what stands there instead; may be several statements
    tests       which programs should die of it, each with a GoogleTest filter: tests/CMakeLists.txt
    preset      optional, of CMakePresets.json: for what only a sanitizer sees
    hangs       optional, `yes`: killing it means that a test does not end
    equivalent  optional: why no test can tell; the entry is checked and not run
    why         what somebody could do with it
"""
import fnmatch
import os
import re

REQUIRED = ("file", "line", "becomes", "tests", "why")
OPTIONAL = ("after", "preset", "hangs", "equivalent")
SUFFIX = ".mutants"


class Mistake(Exception):
    """An entry that says nothing, or nothing about this checkout."""


class Mutant:
    def __init__(self, name, where):
        self.name, self.where = name, where
        self.keys = {}

    def __getattr__(self, key):
        if key in REQUIRED or key in OPTIONAL:
            return self.keys.get(key, "")
        raise AttributeError(key)

    def runs(self):
        """[(program, filter)]"""
        pairs = (word.partition(":") for word in self.tests.split())
        return [(program, pattern or "*") for program, _, pattern in pairs]

    def fail(self, text):
        raise Mistake(f"{self.where}: {self.name}: {text}")


def read_list(path):
    """The entries of one file."""
    mutants = []
    with open(path, encoding="utf-8") as lines:
        for number, text in enumerate(lines, 1):
            text = text.strip()
            where = f"{os.path.basename(path)}:{number}"
            if not text or text.startswith("#"):
                continue
            heading = re.fullmatch(r"\[([a-z0-9-]+)\]", text)
            if heading:
                mutants.append(Mutant(heading.group(1), where))
                continue
            key, equals, value = text.partition(" = ")
            if not equals or not mutants:
                raise Mistake(f"{where}: neither a heading nor `key = value`: {text}")
            if key not in REQUIRED + OPTIONAL:
                mutants[-1].fail(f"no key is called '{key}'")
            if key in mutants[-1].keys:
                mutants[-1].fail(f"'{key}' is given twice")
            mutants[-1].keys[key] = value
    for mutant in mutants:
        for key in REQUIRED:
            if not mutant.keys.get(key):
                mutant.fail(f"'{key}' is missing")
    return mutants


def read_lists(folder):
    """All entries, in order of the lists' names."""
    mutants = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(SUFFIX):
            mutants += read_list(os.path.join(folder, name))
    seen = {}
    for mutant in mutants:
        if mutant.name in seen:
            mutant.fail(f"the name is taken at {seen[mutant.name]}")
        seen[mutant.name] = mutant.where
    return mutants


def find_line(mutant, lines):
    """The index of the line that the mutant changes."""
    stripped = [line.strip() for line in lines]
    start = 0
    if mutant.after:
        anchors = [i for i, line in enumerate(stripped) if line == mutant.after]
        if len(anchors) != 1:
            mutant.fail(f"{mutant.file} has {len(anchors)} lines '{mutant.after}', wanted is one")
        start = anchors[0] + 1
    found = [i for i in range(start, len(lines)) if stripped[i] == mutant.line]
    if not found:
        mutant.fail(f"{mutant.file} has no line '{mutant.line}'")
    if len(found) > 1 and not mutant.after:
        mutant.fail(f"{mutant.file} has {len(found)} lines '{mutant.line}': say `after`")
    return found[0]


def apply(mutant, text):
    """The file's text with the mutant in it. The number of lines stays."""
    lines = text.split("\n")
    at = find_line(mutant, lines)
    line = lines[at]
    lines[at] = line[:len(line) - len(line.lstrip())] + mutant.becomes
    changed = "\n".join(lines)
    if changed == text:
        mutant.fail("it changes nothing")
    return changed


def known_tests(root):
    """program -> its tests as 'Suite.Name', by what the CMake lists and sources say."""
    programs = {}
    for folder, _, names in os.walk(os.path.join(root, "tests")):
        if "CMakeLists.txt" not in names:
            continue
        with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as listing:
            calls = re.findall(r"\brawhal_test\(([^)]*)\)", listing.read())
        for program, *sources in (call.split() for call in calls):
            tests = programs.setdefault(program, set())
            for source in sources:
                path = os.path.join(folder, source)
                if not os.path.isfile(path):
                    continue
                with open(path, encoding="utf-8") as file:
                    found = re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", file.read(), re.M)
                tests.update(".".join(pair) for pair in found)
    return programs


def check(mutants, root):
    """Yields what is wrong: lines that are gone, tests that nothing is called."""
    programs = known_tests(root)
    for mutant in mutants:
        try:
            with open(os.path.join(root, mutant.file), encoding="utf-8") as file:
                apply(mutant, file.read())
        except FileNotFoundError:
            yield f"{mutant.where}: {mutant.name}: there is no {mutant.file}"
        except Mistake as mistake:
            yield str(mistake)
        for program, patterns in mutant.runs():
            if program not in programs:
                yield f"{mutant.where}: {mutant.name}: no test program is called '{program}'"
                continue
            for pattern in patterns.partition("-")[0].split(":"):
                tests = programs[program]
                if tests and not any(fnmatch.fnmatchcase(test, pattern) for test in tests):
                    yield f"{mutant.where}: {mutant.name}: {program} has no test '{pattern}'"
