#!/usr/bin/env python3
"""The mutation tool on a library of three lines, with shell scripts for test programs."""
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import catalogue
import run
import workshop

HERE = os.path.dirname(os.path.abspath(__file__))

LIBRARY = """\
int half(int n)
{
  if (n < 0)
    return 0;
  if (n > 100)
    return 0;
  return n / 2;
}
"""

ENTRY = """\
[halves]
file = lib/half.c
line = return n / 2;
becomes = return n / 3;
tests = lib:Half.*
why = it is no half
"""


class Lists(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name
        self.write("lib/half.c", LIBRARY)
        self.write("tests/lib/CMakeLists.txt", "rawhal_test(lib half_test.cc\n  more_test.cc)\n")
        self.write("tests/lib/half_test.cc", "TEST(Half, OfFour)\n{\n}\n")
        self.write("tests/lib/more_test.cc", "TEST_F(More, Things)\n{\n}\n")

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return full

    def read(self, text):
        return catalogue.read_list(self.write("a.mutants", text))

    def findings(self, text):
        return list(catalogue.check(self.read(text), self.root))

    def test_an_entry_that_applies(self):
        mutants = self.read("# of halves\n\n" + ENTRY)
        self.assertEqual([mutant.name for mutant in mutants], ["halves"])
        self.assertEqual(mutants[0].runs(), [("lib", "Half.*")])
        self.assertEqual(catalogue.apply(mutants[0], LIBRARY), LIBRARY.replace("n / 2", "n / 3"))
        self.assertEqual(self.findings(ENTRY), [])

    def test_it_survives_that_lines_move(self):
        mutant = self.read(ENTRY)[0]
        moved = "/* more */\n\n" + LIBRARY.replace("  return", "      return")
        self.assertIn("      return n / 3;\n", catalogue.apply(mutant, moved))

    def test_a_stale_entry_is_named(self):
        self.write("lib/half.c", LIBRARY.replace("n / 2", "n >> 1"))
        self.assertEqual(len(self.findings(ENTRY)), 1)
        self.assertRegex(self.findings(ENTRY)[0], r"a.mutants:1: halves: lib/half.c has no line 'return n / 2;'")
        self.assertRegex(self.findings(ENTRY.replace("half.c", "third.c"))[0], "halves: there is no lib/third.c")

    def test_a_line_that_is_there_twice_needs_an_anchor(self):
        twice = ENTRY.replace("n / 2", "0").replace("n / 3", "1")
        self.assertRegex(self.findings(twice)[0], "halves: lib/half.c has 2 lines 'return 0;'")
        anchored = twice + "after = if (n > 100)\n"
        self.assertEqual(self.findings(anchored), [])
        changed = catalogue.apply(self.read(anchored)[0], LIBRARY)
        self.assertEqual(changed, LIBRARY.replace("(n > 100)\n    return 0;", "(n > 100)\n    return 1;"))
        self.assertRegex(self.findings(twice + "after = if (n > 9)\n")[0], "0 lines 'if .n > 9.'")

    def test_tests_that_nothing_is_called(self):
        self.assertRegex(self.findings(ENTRY.replace("lib:Half.*", "lob"))[0], "no test program .* 'lob'")
        self.assertRegex(self.findings(ENTRY.replace("Half.*", "Half.*:Helf.*"))[0], "lib has no test 'Helf")
        self.assertEqual(self.findings(ENTRY.replace("Half.*", "More.Things:*-Half.*")), [])

    def test_what_is_no_entry(self):
        for wrong, why in ((ENTRY + "colour = red\n", "no key is called 'colour'"),
                           (ENTRY.replace("why", "# why"), "'why' is missing"),
                           (ENTRY + "why = again\n", "'why' is given twice"),
                           ("file = x\n", "neither a heading"), (ENTRY + "what?\n", "neither")):
            with self.assertRaisesRegex(catalogue.Mistake, why):
                self.read(wrong)
        self.assertRegex(self.findings(ENTRY.replace("n / 3", "n / 2"))[0], "it changes nothing")
        self.write("b.mutants", ENTRY)
        self.write("a.mutants", ENTRY)
        with self.assertRaisesRegex(catalogue.Mistake, "b.mutants:1: halves: .* taken at a.mutants:1"):
            catalogue.read_lists(self.root)

    def test_lines_and_entries_that_changed(self):
        def git(*command):
            subprocess.run(["git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t@t", *command], check=True,
                           capture_output=True)
        mutants = self.read(ENTRY)
        git("init", "-qb", "main")
        git("add", "-A")
        git("commit", "-qm", "first")
        self.assertEqual(list(run.changed(mutants, self.root)), [])
        self.write("lib/half.c", LIBRARY.replace("return 0;", "return 1;"))
        self.assertEqual(list(run.changed(mutants, self.root)), [])
        self.write("lib/half.c", LIBRARY.replace("return n / 2;", "  return n / 2;"))
        self.assertEqual(list(run.changed(mutants, self.root)), mutants)
        git("commit", "-qam", "second")
        self.assertEqual(list(run.changed(mutants, self.root)), mutants)  # main is judged by its last commit
        git("checkout", "-qb", "more")
        self.write("lib/half.c", LIBRARY)
        git("commit", "-qam", "third")
        self.assertEqual(list(run.changed(mutants, self.root)), mutants)


class Shop(workshop.Workshop):
    """`Building` copies the source to where `tests` look at it; a test is a line of shell."""

    scripts = {"halves": "grep -q 'n / 2' built", "nothing": "true", "sleeps": "sleep 1000 & sleep 1000",
               "dies": "grep -q 'n / 2' built || kill -SEGV $$"}

    def configure(self, preset):
        pass

    def build(self, preset, programs):
        script = "grep -q syntax lib/half.c && { echo 'half.c: error: syntax' ; exit 1; } ; cp lib/half.c built"
        return self.call(["sh", "-c", script], self.build_log()) == 0

    def run(self, preset, program, pattern, seconds):
        log = os.path.join(self.home, "run.log")
        script = f"echo '[ RUN      ] Half.{program}'; {self.scripts[program]}"
        if program == "sleeps":  # only when broken
            script = f"grep -q 'n / 2' built || {{ {script} ; }}"
        status = self.call(["sh", "-c", script], log, seconds)
        return status == 0, workshop.killers(workshop.read(log).decode())


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "lib"))
        self.source = os.path.join(self.root, "lib", "half.c")
        self.tree = Shop(self.root, 1).tree
        workshop.write(self.source, LIBRARY.encode())
        workshop.write(os.path.join(self.root, ".gitignore"), b"/build/\n")
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def judge(self, seconds=600, **keys):
        mutant = catalogue.Mutant("halves", "a:1")
        mutant.keys = {"file": "lib/half.c", "line": "return n / 2;", "becomes": "return n / 3;",
                       "tests": "halves", "why": "-", **keys}
        shop = Shop(self.root, 1)
        options = type("Options", (), {"wide": False, "seconds": seconds})
        with contextlib.redirect_stderr(io.StringIO()):
            rows, status = run.run_all(shop, [mutant], options)
        self.assertEqual(workshop.read(self.source).decode(), LIBRARY, "the checkout is only read")
        self.assertEqual(workshop.read(os.path.join(shop.tree, "lib/half.c")).decode(), LIBRARY)
        self.assertFalse(os.path.exists(shop.scratch))
        return rows[0][2], rows[0][3], status

    def test_verdicts(self):
        self.assertEqual(self.judge(), ("killed", "halves Half.halves", 0))
        self.assertEqual(self.judge(tests="nothing halves"), ("killed", "halves Half.halves", 0))
        self.assertEqual(self.judge(tests="nothing"), ("SURVIVED", "nothing", 1))
        self.assertEqual(self.judge(tests="dies"), ("killed", "dies Half.dies", 0))
        self.assertEqual(self.judge(3, tests="sleeps"), ("timed out", "sleeps", 1))
        self.assertEqual(self.judge(3, tests="sleeps", hangs="yes"), ("hangs", "sleeps", 0))
        self.assertEqual(self.judge(becomes="syntax"), ("did not build", "half.c: error: syntax", 1))

    def test_a_tree_that_fails_as_it_is_kills_nothing(self):
        workshop.write(self.source, LIBRARY.replace("n / 2", "n / 5").encode())
        with self.assertRaisesRegex(workshop.Failure, "the unchanged tree fails halves: Half.halves"):
            self.prove()

    def prove(self):
        mutant = catalogue.Mutant("halves", "a:1")
        mutant.keys = {"tests": "halves"}
        shop = Shop(self.root, 1)
        shop.open()
        try:
            run.Runner(shop, False, 600).prove("release", [mutant])
        finally:
            shop.close()

    def test_one_run_at_a_time(self):
        first = Shop(self.root, 1)
        first.open()
        with self.assertRaisesRegex(workshop.Failure, "in use by another run"):
            Shop(self.root, 1).open()
        first.close()
        again = Shop(self.root, 1)
        again.open()
        again.close()

    def test_what_a_killed_run_left_is_put_right(self):
        shop = Shop(self.root, 1)
        shop.open()
        workshop.write(os.path.join(shop.tree, "lib/half.c"), b"broken")
        workshop.write(os.path.join(shop.tree, "lib/gone.c"), b"of an earlier checkout")
        shop.lock.close()  # as the kernel does it
        again = Shop(self.root, 1)
        again.open()
        again.close()
        self.assertEqual(again.files(), {"lib/half.c", ".gitignore"})
        self.assertEqual(workshop.read(os.path.join(again.tree, "lib/half.c")).decode(), LIBRARY)

    def test_stopping_leaves_nothing_behind(self):
        tool = self.start()
        while tool.poll() is None and not os.path.exists(os.path.join(self.tree, "began")):
            time.sleep(0.01)
        tool.send_signal(signal.SIGTERM)
        self.stopped(tool)

    def test_neither_while_something_starts(self):
        self.stopped(self.start("workshop.no_core_files = lambda: workshop.signal_child(os.getppid(), signal.SIGTERM); "
                                "tool_test.Shop.build = lambda shop, *_: shop.call(['sleep', '997'], shop.build_log())"))

    def start(self, more=""):
        """A run of a test that waits for ever, with children in its group and not."""
        program = textwrap.dedent(f"""\
            import sys
            sys.path.insert(0, {HERE!r})
            import os, signal, catalogue, run, tool_test, workshop
            signal.signal(signal.SIGTERM, run.stop)
            tool_test.Shop.scripts["marker"] = "grep -q 'n / 2' built || {{ touch began; sleep 997 & setsid true; sleep 997; }}"
            mutant = catalogue.Mutant("halves", "a:1")
            mutant.keys = {{"file": "lib/half.c", "line": "return n / 2;", "becomes": "return n / 3;",
                           "tests": "marker", "why": "-"}}
            options = type("Options", (), {{"wide": False, "seconds": 500}})
            {more}
            sys.exit(run.run_all(tool_test.Shop({self.root!r}, 1), [mutant], options)[1])
            """)
        return subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)

    def stopped(self, tool):
        self.assertEqual(tool.wait(), 130)
        self.assertEqual(workshop.read(os.path.join(self.tree, "lib/half.c")).decode(), LIBRARY)
        self.assertEqual(self.left_in(self.tree), [])

    def left_in(self, tree):
        """Processes whose working folder is the copy."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/cwd") == os.path.realpath(tree):
                    found.append(name)
        return found


class Output(unittest.TestCase):
    def test_who_killed_it(self):
        self.assertEqual(workshop.killers("[ RUN      ] A.B\n[  FAILED  ] A.B (0 ms)\n[  FAILED  ] A.B\n"), ["A.B"])
        self.assertEqual(workshop.killers("[ RUN      ] A.B\n[       OK ] A.B\n[ RUN      ] P/C.D/3\nboom"), ["P/C.D/3"])
        self.assertEqual(workshop.killers(""), [])


if __name__ == "__main__":
    unittest.main()
