"""A copy of the checkout to break things in, and test programs built from it and run.

Everything lies below build/mutants of the checkout, whose own files are only read. The copy is kept
from run to run, so that builds stay incremental; before each run it is made equal to the checkout
again, whatever an earlier one that was killed has left."""
import fcntl
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from child import signal_child, signal_group

# ASLR entropy above 28 bits breaks ThreadSanitizer of this age; the personality is per process.
WRAPPERS = {"tsan": ["setarch", os.uname().machine, "-R"]}

# What stops a run.
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failure(Exception):
    """The unchanged tree does not build or pass, or there is no room for a copy."""


class TimedOut(Exception):
    pass


class Workshop:
    def __init__(self, root, jobs):
        self.root, self.jobs = root, jobs
        self.home = os.path.join(root, "build", "mutants")
        self.tree = os.path.join(self.home, "tree")
        self.scratch = os.path.join(self.home, "tmp")
        self.lock = None
        self.child = None

    def open(self):
        """Takes the folder for this process and brings the copy up to date."""
        os.makedirs(self.tree, exist_ok=True)
        self.lock = open(os.path.join(self.home, "lock"), "w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.lock.close()
            self.lock = None
            raise Failure(f"{self.home} is in use by another run") from None
        self.synchronise()

    def close(self):
        """Kills what still runs; leaves a copy that equals the checkout as it was, and no files of
        tests that died."""
        self.kill()
        if self.lock:
            shutil.rmtree(self.scratch, ignore_errors=True)
            self.lock.close()

    def synchronise(self):
        listing = subprocess.run(["git", "-C", self.root, "ls-files", "-zco", "--exclude-standard"],
                                 capture_output=True, check=True).stdout.decode()
        wanted = {path for path in listing.split("\0")
                  if path and os.path.isfile(os.path.join(self.root, path))}
        for path in self.files() - wanted:
            os.remove(os.path.join(self.tree, path))
        for path in wanted:
            source, copy = os.path.join(self.root, path), os.path.join(self.tree, path)
            with open(source, "rb") as file:
                text = file.read()
            if not os.path.isfile(copy) or read(copy) != text:
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                write(copy, text)
                shutil.copymode(source, copy)
        # What tests look for in the checkout's build folder, when it is there.
        for name in ["build/rocrand", "build/rocsparse"]:
            target = os.path.join(self.root, name)
            link = os.path.normpath(os.path.join(self.tree, name))
            if os.path.isdir(target) and not os.path.lexists(link):
                os.makedirs(os.path.dirname(link), exist_ok=True)
                os.symlink(os.path.realpath(target), link)

    def files(self):
        """What the copy has, without its build folder."""
        found = set()
        for folder, folders, names in os.walk(self.tree):
            if folder == self.tree and "build" in folders:
                folders.remove("build")
            found.update(os.path.relpath(os.path.join(folder, name), self.tree) for name in names)
        return found

    # ---- Building and running ----

    def call(self, command, log, seconds=None):
        """Exit status, negative for a signal. Output goes to the file `log`."""
        os.makedirs(self.scratch, exist_ok=True)
        try:
            with open(log, "wb") as output:
                self.start(command, output)
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimedOut() from None
        finally:
            self.kill()

    def start(self, command, output):
        """A signal that stops the run waits until the child is known: nobody else would end it."""
        environment = dict(os.environ, TMPDIR=self.scratch)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)

        def begin():
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            no_core_files()

        try:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                          stderr=subprocess.STDOUT, cwd=self.tree, env=environment,
                                          start_new_session=True, preexec_fn=begin)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def kill(self):
        """Ends the child and whatever it has started. Politely first: a build tool then removes what it
        was writing, where half an object would pass for a whole one."""
        if not self.child:
            return
        if session(self.child.pid):
            signal_all([self.child.pid], signal.SIGTERM, signal_group)
            deadline = time.monotonic() + 10
            while session(self.child.pid) and time.monotonic() < deadline:
                time.sleep(0.05)
        while members := session(self.child.pid):
            signal_all(members, signal.SIGKILL, signal_child)
            time.sleep(0.05)
        self.child.wait()
        self.child = None

    def configure(self, preset):
        folder = os.path.join(self.tree, "build", preset)
        log = os.path.join(self.home, f"{preset}.configure.log")
        if not os.path.isfile(os.path.join(folder, "build.ninja")):
            if self.call(["cmake", "--preset", preset, "-D", "RAWHAL_TEST_ALL=ON"], log):
                raise Failure(f"cmake could not configure preset '{preset}': {log}")
            for library in ("rocrand", "rocsparse"):
                link = os.path.join(folder, library)
                if not os.path.lexists(link):
                    os.symlink(f"../{library}", link)

    def build(self, preset, programs):
        """True when it did; the log has the compiler's words."""
        targets = [f"test_{program}" for program in sorted(programs)]
        return self.call(["cmake", "--build", os.path.join("build", preset), "-j", str(self.jobs),
                          "--target", *targets], self.build_log()) == 0

    def build_log(self):
        return os.path.join(self.home, "build.log")

    def run(self, preset, program, pattern, seconds):
        """(passed, names of the tests that failed)."""
        found = glob.glob(os.path.join(self.tree, "build", preset, "tests", "**", f"test_{program}"),
                          recursive=True)
        if not found:
            raise Failure(f"there is no program test_{program} in preset {preset}")
        log = os.path.join(self.home, "run.log")
        command = WRAPPERS.get(preset, []) + [found[0], f"--gtest_filter={pattern}",
                                              "--gtest_fail_fast", "--gtest_color=no"]
        status = self.call(command, log, seconds)
        with open(log, encoding="utf-8", errors="replace") as output:
            text = output.read()
        if not re.search(r"^\[ RUN      \] ", text, re.M):
            raise Failure(f"test_{program} --gtest_filter={pattern} ran nothing: {log}")
        return status == 0, killers(text)


def killers(text):
    """The tests that failed, or the one that ran when the program died."""
    failed = re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", text, re.M)
    if failed:
        return sorted(set(failed))
    began = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
    return began[-1:]


def session(leader):
    """The processes of a session, but those that have ended. Ninja gives each of its children a group
    of its own; a session they do not leave."""
    members = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, _, _, session_id = file.read().rpartition(b")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(session_id) == leader and state != b"Z":
            members.append(int(name))
    return members


def signal_all(targets, number, send):
    for target in targets:
        try:
            send(target, number)
        except ProcessLookupError:
            pass


def no_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    """Always with a new time: what was built from other text must be built again."""
    with open(path, "wb") as file:
        file.write(text)
