#!/usr/bin/env python3
"""tests/lint.py finds what ends other processes than it means to, warnings that are errors for everybody, tests that wait
for a time, includes of what a folder may not know, and tests of tests/tiers.txt that there are not."""
import os
import subprocess
import sys
import tempfile

LINT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lint.py")
# file -> its lines, and whether each is found
FILES = {
    "tests/a_test.cc": [("  pid_t child = fork();", True), ("  child = ::fork();", True), ("  if (vfork() == 0)", True),
                        ("  pid_t child = forkpty(&terminal, nullptr, nullptr, &size);", True), ("  kill(child, SIGKILL);", True),
                        ("  (void)kill(-child, SIGTERM);", True), ("  killpg(child, SIGKILL);", True),
                        ('  build("int main() { kill(0, 9); }");', True), ("  // fork() and kill(child, SIGKILL)", False),
                        ('  EXPECT_TRUE(strstr(message, "fork()"));', False), ("  shop.kill(child);", False), ("  Kill();", False), ("  EXPECT_EQ(0, kill(child, 0));", False), ("  is_gone = kill((pid_t)pid, 0) && errno == ESRCH;", False),
                        ("  signal_child(fork_child(), SIGKILL);", False)],
    "bench/a.c": [("  kill(child, SIGKILL);", True)],
    "tests/hip/programs/a.hip": [("  pid_t child = fork();", False), ("  kill(child, SIGKILL);", True)],
    "tests/child.h": [("  return child > 1 && kill(child, signal) == 0;", False)],
    "tests/a.py": [("os.kill(child, 9)", True), ("os.killpg(group, 9)", True), ("pid, fd = pty.fork()", True),
                   ('subprocess.run(["pkill", "-f", "rawhal"])', True), ("process.kill()", False), ("empty.copy()", False)],
    "tests/a.sh": [('kill "$child"', True), ("sleep 1; kill $!", True), ("trap 'kill 0' EXIT", True), ("# kill it", False),
                   ("exec killer", False)],
    "CMakePresets.json": [('"cacheVariables": { "RAWHAL_WERROR": "ON" }', False)],
    ".ci/run": [("#!/usr/bin/env bash", False)],
    "dev": [("#!/usr/bin/env bash", False), ("pkill rawhal", True)],
}
# The same of those that wait for a time.
SLEEPS = {
    "tests/b_test.cc": [("  usleep(20000);", True), ("  while (Launches() < 1)", False), ("    usleep(1000);", False),
                        ("  while (!done)", False), ("    if (!step())", False), ("      usleep(100);", False),
                        ("  for (int i = 0; i < 50; ++i) {", False), ("    usleep(100);", True), ("  }", False),
                        ("  for (int i = 0; i < 5000 && !seen; ++i)", False), ("    usleep(100);", False),
                        ("  for (int i = 0; i < 5000; ++i) {", False), ("    if (seen)", False), ("      return true;", False),
                        ("    std::this_thread::sleep_for(milliseconds(1));", False), ("  }", False),
                        ("  // usleep(1)", False), ('  say("usleep(1)");', False),
                        ("  while (now() - began < lasts) {", True), ("  while (woken < 4 && now() < deadline)", False)],
    "tests/b.py": [("time.sleep(1)", True), ("while not os.path.exists(path):", False), ("    time.sleep(0.1)", False),
                   ("    while time.monotonic() < deadline:", True)],
    "tests/known_test.cc": [("  usleep(1);", False)],
    "bench/b.c": [("  usleep(1);", False)],
}
# And of those that include what their folder may not know, or are too wide.
INCLUDES = {
    "tools/a/a.c": [('#include "tools/a/a.h"', False), ('#include "tools/shared/a.h"', False), ('#include "tools/b/b.h"', True)],
    "tools/shared/a.c": [('#include "tools/a/a.h"', True), ('#include "base/list.h"', False), ('#include "base/error.h"', True)],
    "queue/limit/a.c": [('#include "queue/gate/a.h"', True), ('#include "queue/limit/region.h"', False), ('#include "queue/limit.h"', False),
                        ('#include "base/error.h"', False), ('#include "kernarg/layout.h"', True), ('#include "queue/ring.h"', True),
                        ("#include <hsa/hsa.h>", True), ("#include <sys/mman.h>", False)],
    "queue/a.c": [('#include "queue/limit/admission.h"', False), ('#include "queue/limit/node.h"', True)],
    "queue/gate/a.c": [('#include "queue/limit/admission.h"', False), ('#include "queue/a.h"', True)],
    "front/a.c": [('#include "queue/limit/parse.h"', False), ('#include "queue/limit/region.h"', True),
                  ("#include <queue/limit/region.h>", True), ("#include <hal/copy.h>", True)],
    "softgpu/probes/a.c": [('#include "softgpu/probes/a.h"', False), ('#include "softgpu/prober.h"', False),
                           ('#include "record/writer.h"', False), ('#include "softgpu/device/memory.h"', True), ('#include "hal/copy.h"', True)],
    "softgpu/cp/a.c": [('#include "softgpu/prober.h"', False), ('#include "record/writer.h"', True)],
    "base/wide.c": [("/* " + "a" * 96 + " */", True), ("/* " + "a" * 94 + " */", False)],
    "base/a_table.c": [("/* " + "a" * 96 + " */", False)],
    "library/process/a.c": [('#include "library/a.h"', False), ('#include "library/tensile/a.h"', True)],
}
TEXTS = {
    "tests/sleeps.txt": "# why\n1 tests/known_test.cc: it is known\n2 tests/gone_test.cc: it was\nand more\n",
    "tests/tiers.txt": "# why\nquick not ^known\\.(Suite\\.OfTests|Nothing)\ntsan but ^a\n" + "tsan not (a)\n" * 9 + "tsan only ^known/1\n",
    "tests/known/suite_test.cc": "TEST(Suite, OfTests)\n",
    "tests/known/CMakeLists.txt": "rawhal_test(known suite_test.cc)\n",
}


def main():
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        texts = {path: "\n".join(line for line, _ in lines) + "\n" for path, lines in {**FILES, **SLEEPS, **INCLUDES}.items()}
        for path, text in {**texts, **TEXTS}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, LINT, root], capture_output=True, text=True, check=False)
        assert done.returncode == 1, done
        signals = {row.rsplit(": ", 2)[0] for row in done.stdout.splitlines() if row.endswith("see tests/child.h")}
        waits = {row.split(": waits for a time")[0] for row in done.stdout.splitlines() if ": waits for a time" in row}
        knows = {row.split(": ")[0] for row in done.stdout.splitlines() if " may not know " in row or row.endswith(" columns")}
        for found, files in ((signals, FILES), (waits, SLEEPS), (knows, INCLUDES)):
            wanted = {f"{path}:{number}" for path, lines in files.items() for number, (_, bad) in enumerate(lines, 1) if bad}
            assert found == wanted, (sorted(found - wanted), sorted(wanted - found))
        for row in ("tests/sleeps.txt:3: there is no tests/gone_test.cc", "tests/sleeps.txt:4: not 'NUMBER",
                    "tests/tiers.txt:2: no test is called Nothing", "tests/tiers.txt:3: not 'WHERE", "tests/tiers.txt:12: more parentheses",
                    "tests/tiers.txt:13: parameters"):
            assert f"\n{row}" in done.stdout, (row, done.stdout)
        assert done.stdout.count("tests/tiers.txt:") == 4, done.stdout
        for path in ("CMakePresets.json", ".ci/run"):
            assert f"\n{path}: warnings are errors" in done.stdout, (path, done.stdout)


main()
