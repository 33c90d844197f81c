#!/usr/bin/env python3
"""The wheel of a release build, taken apart, installed in a place of its own, moved, and used with an empty environment.

usage: packaging/wheel/wheel_test.py BUILD [unittest's arguments]"""
import base64
import csv
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import elf  # noqa: E402
import wheel  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
FIXTURES = wheel.SOURCE / "tests" / "fixtures"
MOST_BYTES = 8 << 20


def output(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name)
        cls.path = wheel.write(BUILD, cls.root / "one")
        cls.archive = zipfile.ZipFile(cls.path)
        cls.addClassCleanup(cls.archive.close)
        cls.names = cls.archive.namelist()
        cls.info = next(name for name in cls.names if name.endswith("/RECORD")).partition("/")[0]
        cls.place = cls.install(cls.root / "before").rename(cls.root / "moved")

    @classmethod
    def install(cls, place):
        """As pip does it, but for what it downloads: those are of the Python that the environment is made by."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", place], check=True)
        site = next(place.glob("lib/python*/site-packages"))
        for member in cls.archive.infolist():
            path = pathlib.Path(cls.archive.extract(member, site))
            path.chmod(member.external_attr >> 16 & 0o777)
        return place

    @property
    def site(self):
        return next(self.place.glob("lib/python*/site-packages"))

    def python(self, *arguments):
        return output(self.place / "bin" / "python", *arguments, env={}, cwd="/", timeout=60)

    def binaries(self):
        return [path for path in self.site.joinpath(wheel.PREFIX).rglob("*")
                if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]

    # ---- The file ----

    def test_the_same_build_makes_the_same_bytes(self):
        again = wheel.write(BUILD, self.root / "two")
        self.assertEqual(self.path.name, again.name)
        self.assertEqual(self.path.read_bytes(), again.read_bytes())

    def test_it_is_small(self):
        self.assertLess(self.path.stat().st_size, MOST_BYTES)

    def test_the_record_has_every_file(self):
        rows = list(csv.reader(self.archive.read(f"{self.info}/RECORD").decode().splitlines()))
        self.assertEqual(self.names, [name for name, _, _ in rows])
        for name, digest, size in rows[:-1]:
            data = self.archive.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            self.assertEqual((f"sha256={found}", str(len(data))), (digest, size), name)

    def test_the_name_is_the_tag(self):
        tag = re.search(r"^Tag: (.+)$", self.archive.read(f"{self.info}/WHEEL").decode(), re.M)[1]
        self.assertEqual(f"{self.info.removesuffix('.dist-info')}-{tag}.whl", self.path.name)

    def test_metadata_names_licences_that_are_there(self):
        text = self.archive.read(f"{self.info}/METADATA").decode()
        named = re.findall(r"^License-File: (.+)$", text, re.M)
        self.assertEqual(sorted(f"{self.info}/licenses/{name}" for name in named),
                         sorted(name for name in self.names if "/licenses/" in name))
        notice = self.archive.read(f"{self.info}/licenses/NOTICE").decode()
        for package, soname, _ in wheel.DEBIAN:
            self.assertIn(f"{package}: {soname}", notice)
            self.assertIn(f"third-party/{package}.txt", named)
        self.assertIn("common-licenses/GPL-3.txt", named)  # libelf's LGPL adds to it

    def test_what_others_look_up_by_name_is_there(self):
        """Whoever lists them imports them: one that does not import breaks pytest, or Triton, for everybody."""
        text = self.archive.read(f"{self.info}/entry_points.txt").decode()
        self.assertIn("[triton.backends]\nrawhal = rawhal.triton\n", text)
        for name in ("compiler", "driver"):
            self.assertIn(f"rawhal/triton/{name}.py", self.names)
        self.assertIn("[pytest11]\nrawhal = rawhal.pytest_plugin\n", text)
        if importlib.util.find_spec("pytest"):
            self.assertIn("--rawhal-chip", self.python("-m", "pytest", "-p", "no:cacheprovider", "--help"))

    # ---- What systems must have ----

    def test_no_system_of_the_tag_lacks_a_version(self):
        glibc = tuple(int(part) for part in re.search(r"manylinux_(\d+)_(\d+)", self.path.name).groups())
        self.assertLessEqual(glibc, (2, 34))
        newest = {**wheel.NEWEST[glibc], "GLIBC": glibc}
        self.assertGreater(len(self.binaries()), 12)
        for path in self.binaries():
            for kind, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", output("objdump", "-p", path)):
                self.assertLessEqual(wheel.numbers(version), newest[kind], path)

    def test_nothing_of_ours_is_newer_than_a_glibc_of_2018(self):
        """A build on a system of 2.28 is a wheel for that. Here are newer versions of functions that it has: glibc put its
        libraries together, and stat() among its symbols."""
        had = re.compile(r"dl\w+|(__)?pthread_(?!\w*_clock)\w+|[fl]?stat(at)?|pow|__libc_start_main")
        replaced = {"strerrordesc_np"}  # debug/core/errno_text.h
        theirs = {soname for _, soname, _ in wheel.DEBIAN}
        for path in self.binaries():
            for version, name in re.findall(r"\bGLIBC_([\d.]+)\)? +(\w+)$", output("objdump", "-T", path), re.M):
                if path.name not in theirs and wheel.numbers(version) > (2, 28) and name not in replaced:
                    self.assertTrue(had.fullmatch(name), f"{path.name} needs {name} of glibc {version}")

    def test_what_is_needed_is_the_systems_or_in_it(self):
        for path in self.binaries():
            dynamic = output("readelf", "-dW", path)
            search = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic)
            places = [folder.replace("$ORIGIN", str(path.parent)) for folder in (search or [""])[0].split(":")]
            for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic):
                self.assertTrue(name in wheel.SYSTEM or any(pathlib.Path(place, name).exists() for place in places),
                                f"{path} needs {name}")

    def test_another_judge(self):
        if not importlib.util.find_spec("auditwheel"):
            self.skipTest("auditwheel is not installed")
        said = " ".join(output(sys.executable, "-m", "auditwheel", "show", self.path).split())
        self.assertIn(re.search(r"manylinux_\d+_\d+_x86_64", self.path.name)[0], said)

    # ---- Changes of files of others ----

    def test_a_version_is_lowered_only_where_that_is_known_to_be_right(self):
        data = wheel.debian_library("libhsa-runtime64-1", wheel.RUNTIME)
        file = elf.Elf(data)
        with self.assertRaises(ValueError):
            file.lower("GLIBCXX_3.4.21", "GLIBCXX_3.4.11", wheel.RUNTIME_LOWERED[2])
        with self.assertRaises(ValueError):
            file.lower("GLIBCXX_3.4.29", "GLIBCXX_3.4.28", file.of_version("GLIBCXX_3.4.29"))
        with self.assertRaises(ValueError):
            file.set_search(["$ORIGIN/" + "x" * 100])
        self.assertEqual(data, wheel.debian_library("libhsa-runtime64-1", wheel.RUNTIME))

    # ---- In use ----

    def assert_in_the_wheel(self, said, *names):
        for name in names:
            self.assertRegex(said, re.escape(str(self.site / wheel.PREFIX)) + r"/\S*/" + re.escape(name))
            self.assertNotRegex(said, r"/usr/\S*/" + re.escape(name.partition(".so")[0]))

    def test_a_kernel_runs_and_one_is_caught(self):
        said = self.python("-c", "import rawhal.demo\nprint(rawhal.demo.main([]), open('/proc/self/maps').read())")
        self.assertRegex(said, r"(?m)^checked .* of .*\ncaught .*'a'(.*\n)*0 ")
        self.assert_in_the_wheel(said, "librawhal.so.0.2", "libelf.so.1", "libzstd.so.1", "libhsa-runtime64.so.1",
                                 "libhsakmt.so.1")

    def test_hip_by_its_name(self):
        code = ("import ctypes, sys\ncount = ctypes.c_int()\n"
                "print(ctypes.CDLL(sys.argv[1]).hipGetDeviceCount(ctypes.byref(count)), count.value, open('/proc/self/maps').read())")
        for name in ("libamdhip64.so.7", "libamdhip64.so.6"):
            said = self.python("-c", code, self.site / wheel.PREFIX / "lib" / "rawhal" / "hip" / name)
            self.assertEqual("0 1", said[:3])
            self.assert_in_the_wheel(said, name, "librawhal.so.0.2", "libhsa-runtime64.so.1", "libhsakmt.so.1")

    def test_the_command_finds_all_in_it(self):
        program = "import sys\nfrom rawhal.__main__ import main\nsys.exit(main())"  # as pip makes it
        said = self.python("-c", program, "doctor", "--device", "softgpu")
        self.assert_in_the_wheel(said, "librawhal.so.0.2", "libelf.so.1", "libzstd.so.1", "libhsa-runtime64.so.1",
                                 "libhsakmt.so.1", "librawhal-front.so", "libjansson.so.4", "softgpu-run")
        run = self.python("-m", "rawhal", "exec", "--", "/bin/echo", "a program")
        self.assertEqual("a program\n", run)

    def test_json_is_read_by_the_library_in_it(self):
        policy = self.root / "policy.json"
        policy.write_text('{"version": 1}')
        command = [self.site / wheel.PREFIX / "bin" / "rawhal", "exec", "--policy", policy, "--", "/bin/true"]
        done = subprocess.run(command, env={"LD_DEBUG": "libs"}, capture_output=True, text=True, timeout=60)
        self.assertIn(f"calling init: {self.site / wheel.PREFIX}/lib/libjansson.so.4", done.stderr)


def lacks():
    """Why there can be no wheel here; None where there can."""
    if not shutil.which("dpkg-query"):
        return "a wheel has Debian's libraries, and this is no Debian"
    return next((f"python3 has no {name}" for name in ("tomllib", "cffi", "numpy") if not importlib.util.find_spec(name)), None)


if __name__ == "__main__":
    if lacks():
        print(f"skipped: {lacks()}")
        sys.exit(77)
    unittest.main()
