#!/usr/bin/env python3
"""tests/lint.py finds what ends other processes than it means to, and warnings that are errors for everybody."""
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


def main():
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, lines in FILES.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write("\n".join(line for line, _ in lines) + "\n")
        done = subprocess.run([sys.executable, LINT, root], capture_output=True, text=True, check=False)
        assert done.returncode == 1, done
        found = {row.rsplit(": ", 2)[0] for row in done.stdout.splitlines() if row.endswith("see tests/child.h")}
        wanted = {f"{path}:{number}" for path, lines in FILES.items() for number, (_, bad) in enumerate(lines, 1) if bad}
        assert found == wanted, (sorted(found - wanted), sorted(wanted - found))
        for path in ("CMakePresets.json", ".ci/run"):
            assert f"\n{path}: warnings are errors" in done.stdout, (path, done.stdout)


main()
