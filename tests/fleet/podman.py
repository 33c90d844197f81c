#!/usr/bin/env python3
"""Four containers of podman's share a GPU through CDI: users, PID and user namespaces of their own, a root that is
read-only, no /proc/sys, podman's own seccomp profile. One is killed; another does to what it can reach all the harm it can.

usage: podman.py BUILD
Exit status 77: podman is not here, or may not run containers."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from child import signal_child  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
RAWHAL = os.path.join(BUILD, "tools/rawhal")
PROGRAM = os.path.join(BUILD, "tests/front/share")
KIND = f"test{os.getpid()}.rawhal.dev/gpu"
TENANTS, SHARE = 4, 20
FIRST_USER = 100000  # of user namespaces

# A container's file system is the host's /usr, and nothing else of it.
SYMLINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
FOLDERS = ("usr", "etc", "proc", "sys", "dev", "tmp", "run", "opt", "build")

# What a container may try against what CDI has mounted in it.
VANDAL = r"""
import array, ctypes, os, socket
def libc_mount():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", b"/run/rawhal", None, 32 | 4096, None): # MS_REMOUNT, MS_BIND
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def tried(what, call):
    try:
        call()
        print("did", what)
    except OSError as error:
        print("cannot", what, error.strerror)
sock = "/run/rawhal/region.sock"
front = "/opt/rawhal/librawhal-front.so"
tried("delete", lambda: os.unlink(sock))
tried("rename", lambda: os.rename(sock, sock + ".old"))
tried("make", lambda: open("/run/rawhal/full", "w").write("x" * 65536))
tried("open", lambda: open(front, "r+b"))
tried("remount", libc_mount)
client = socket.socket(socket.AF_UNIX)
client.connect(sock)
data, parts, flags, address = client.recvmsg(1, 1024)
fd = array.array("i", parts[0][2])[0]
tried("cut", lambda: os.ftruncate(fd, 0))
tried("grow", lambda: os.ftruncate(fd, 1 << 40))
tried("fill", lambda: os.posix_fallocate(fd, 0, 1 << 40))
print("has", os.fstat(fd).st_size, flush=True)
"""

# And to what it must be able to write, as a member.
SCRIBBLER = r"""
import array, mmap, os, socket
client = socket.socket(socket.AF_UNIX)
client.connect("/run/rawhal/region.sock")
fd = array.array("i", client.recvmsg(1, 1024)[1][0][2])[0]
region = mmap.mmap(fd, os.fstat(fd).st_size)
region[:] = os.urandom(len(region))
print("scribbled")
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Node:
    """A machine that runs containers: a broker, a specification, podman with storage of its own."""

    def __init__(self):
        self.work = tempfile.mkdtemp(prefix="rawhal-podman-")
        os.chmod(self.work, 0o755)
        self.region = os.path.join(self.work, "region")
        os.mkdir(self.region)
        self.socket = os.path.join(self.region, "region.sock")
        self.specification = f"/run/cdi/{KIND.split('.')[0]}.json"
        self.broker, self.containers, self.roots = None, [], 0

    def begin_broker(self, *options):
        before = os.stat(self.socket).st_ino if os.path.exists(self.socket) else 0
        self.broker = subprocess.Popen([RAWHAL, "broker", *options, self.socket])
        while not os.path.exists(self.socket) or os.stat(self.socket).st_ino == before:
            assert self.broker.poll() is None, "the broker has ended"
            time.sleep(0.001)

    def start(self):
        self.begin_broker()
        os.makedirs("/run/cdi", exist_ok=True)
        with open(self.specification, "w") as file:
            subprocess.run([RAWHAL, "cdi", "--softgpu", f"--tenants={TENANTS}", f"--gpu-share={SHARE}%", "--memory=64M",
                            f"--kind={KIND}", f"--region-dir={self.region}"], stdout=file, check=True)
        subprocess.run([RAWHAL, "cdi", "--check", self.specification], check=True)

    def root(self, owner):
        """Where a container begins; runc makes what is mounted, so it has to be the container's."""
        self.roots += 1
        root = os.path.join(self.work, f"root{self.roots}")
        os.mkdir(root)
        for name in FOLDERS:
            os.mkdir(os.path.join(root, name))
        for name, target in SYMLINKS.items():
            os.symlink(target, os.path.join(root, name))
        for name in ["", *FOLDERS, *SYMLINKS]:
            os.lchown(os.path.join(root, name), owner, owner)
        os.chmod(os.path.join(root, "tmp"), 0o1777)  # where HIP compiles; podman mounts another like it
        return root

    def podman(self, *words):
        return ["podman", "--storage-driver=vfs", f"--root={self.work}/storage", f"--runroot={self.work}/run",
                "--runtime=runc", "--cgroup-manager=cgroupfs", *words]

    def command(self, slice_, words, options=(), owner=0):
        device = ["--device", f"{KIND}=gpu0-slice{slice_}"] if slice_ else []
        return [*self.podman("run"), "--rm", "--network=none", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000",
                "--read-only", "--volume=/usr:/usr:ro", f"--volume={BUILD}:/build:ro", "--env=RAWHAL_GPU_CHARGING=wall",
                *device, *options, "--rootfs", self.root(owner), *words]

    def run(self, *arguments, **named):
        return subprocess.run(self.command(*arguments, **named), capture_output=True, text=True, timeout=300)

    def begin(self, *arguments, **named):
        child = subprocess.Popen(self.command(*arguments, **named), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True)
        self.containers.append(child)
        return child

    def rows(self, level):
        said = subprocess.run([RAWHAL, "top", self.socket, "--json"], capture_output=True, text=True, check=True)
        region = json.loads(said.stdout)
        assert region["damage"] is None, region["damage"]
        return [row for row in region["rows"] if row["level"] == level]

    def charged(self):
        """Seconds of the host's clock, and of device time that each tenant has been charged."""
        used = {row["name"]: row["gpu_ns"] / 1e9 for row in self.rows("tenant")}
        return time.clock_gettime(time.CLOCK_MONOTONIC), used

    def end(self):
        subprocess.run(self.podman("rm", "--force", "--all", "--time", "0"), capture_output=True)
        for child in self.containers:
            child.kill()
            child.wait()
        if self.broker:
            self.broker.kill()
            self.broker.wait()
        if os.path.exists(self.specification):
            os.unlink(self.specification)
        shutil.rmtree(self.work, ignore_errors=True)


NO_SYS = "--security-opt=mask=/proc/sys"
MAPPED = (f"--uidmap=0:{FIRST_USER}:65536", f"--gidmap=0:{FIRST_USER}:65536")
# Users and namespaces, one container each: options, and who owns its root.
KINDS = [((), 0),
         (("--user=1234:1234", NO_SYS), 0),
         ((*MAPPED, NO_SYS), FIRST_USER),
         (("--user=77:77", *MAPPED), FIRST_USER)]


def expect_shares(what, node, names, seconds):
    """Each goes on: by how fast is this machine's business, which may be at something else. And none has more than its share,
    but for one submission, which may take long on a busy machine: what it is of the whole time shrinks with that."""
    began, before = node.charged()
    while True:
        now, after = node.charged()
        used = {name: after.get(name, 0) - before.get(name, 0) for name in names}
        found = {name: 100 * part / (now - began) for name, part in used.items()}
        if min(used.values()) >= seconds and (max(found.values()) <= SHARE + 1 or max(used.values()) > 20 * seconds):
            break
        time.sleep(0.05)
    print(what, {name: round(share, 2) for name, share in sorted(found.items())}, flush=True)
    assert max(found.values()) <= SHARE + 1, (what, found)


def check_sharing(node, seconds):
    for i, (options, owner) in enumerate(KINDS, 1):
        node.begin(i, ["/build/tests/front/share", "1000000", "1300"], options=options, owner=owner)
    names = [f"gpu0-slice{i}" for i in range(1, TENANTS + 1)]
    while sum(row["launches"] > 8 for row in node.rows("process")) < TENANTS:
        ended = [child for child in node.containers if child.poll() is not None]
        assert not ended, ended[0].stdout.read()
        time.sleep(0.05)
    processes = node.rows("process")
    assert sorted(row["name"] for row in processes) == names, "a tenant each"
    assert len({row["pid_namespace"] for row in processes}) == TENANTS, "in namespaces of their own"
    expect_shares("shares", node, names, seconds)

    first = [row for row in processes if row["name"] == names[0]][0]
    host = [pid for pid in os.listdir("/proc") if pid.isdigit() and namespace(pid) == first["pid_namespace"]]
    for pid in host:
        signal_child(int(pid), 9)
    while any(row["name"] == names[0] for row in node.rows("process")):
        time.sleep(0.01)
    expect_shares("one is dead", node, names[1:], seconds)
    return names[1:]


def namespace(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return 0


def check_quota(node):
    said = node.run(1, ["/build/tests/front/quota"], options=("--user=1234:1234", NO_SYS))
    assert said.stdout == "ok\n", said


def check_vandal(node, names, seconds):
    said = node.run(1, ["/usr/bin/python3", "-c", VANDAL], options=("--user=1234:1234",))
    print(said.stdout, said.stderr, sep="", flush=True)
    assert said.returncode == 0 and "did" not in said.stdout.split(), said
    assert said.stdout.count("cannot ") == 8 and "has " in said.stdout, said
    expect_shares("beside a vandal", node, names, seconds)


def begin_two(node):
    """Two programs that run at once: for longer, where one has ended before the other began."""
    names = ("gpu0-slice2", "gpu0-slice3")
    for seconds in (10, 20, 40, 80):
        runs = [node.begin(i, ["/build/tests/front/share", str(seconds * 1000), "1300"], options=options, owner=owner)
                for i, (options, owner) in enumerate(KINDS[1:3], 2)]
        while all(run.poll() is None for run in runs):
            if sum(row["launches"] > 0 for row in node.rows("process") if row["name"] in names) == len(names):
                return runs
            time.sleep(0.05)
        for run in runs:
            text = run.communicate()[0]
            assert run.returncode == 0, text
    raise AssertionError("one ended before the other began")


def check_scribbler(node):
    """All of the region is written over while two programs run: each ends as programs do, with no more than its share, and
    says what has happened. Who comes later finds no device, until there is a new region."""
    runs = begin_two(node)
    said = node.run(1, ["/usr/bin/python3", "-c", SCRIBBLER], options=("--user=1234:1234",))
    assert said.stdout == "scribbled\n", said
    for run in runs:
        text = run.communicate()[0]
        print(text, end="", flush=True)
        share = float(text.split(" percent of ")[0].split("\n")[-1])
        assert run.returncode == 0 and 0 < share <= 2 * SHARE, text
        assert "the region of shared limits is damaged" in text and f"gpu-share {SHARE}%" in text, text
    late = node.run(4, ["/build/tests/front/share", "10", "1300"])
    assert late.returncode != 0 and "region" in late.stdout + late.stderr, late
    node.broker.kill()
    node.broker.wait()
    node.begin_broker("--new")
    again = node.run(4, ["/build/tests/front/share", "10", "1300"])
    assert again.returncode == 0, again


def check_fails_closed(node):
    """Without a broker there is no region, and without a region no device."""
    node.broker.kill()
    node.broker.wait()
    said = node.run(2, ["/build/tests/front/share", "10", "1300"])
    assert said.returncode != 0 and "region.sock: Connection refused" in said.stdout + said.stderr, said


def main():
    if not shutil.which("podman") or not shutil.which("runc"):
        skip("podman is not installed")
    if os.geteuid() != 0:
        skip("no right to run containers of several users")
    node = Node()
    try:
        trial = node.run(0, ["/usr/bin/true"])
        if trial.returncode:
            skip(f"podman runs no containers here: {trial.stderr.strip()[-300:]}")
        node.start()
        check_quota(node)
        long = os.environ.get("RAWHAL_TEST_EXTENDED") == "all"
        left = check_sharing(node, 4 if long else 0.3)
        check_vandal(node, left, 4 if long else 0.3)
        subprocess.run(node.podman("rm", "--force", "--all", "--time", "0"), capture_output=True, check=True)
        check_scribbler(node)
        check_fails_closed(node)
    finally:
        node.end()


main()
