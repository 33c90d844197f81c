"""A Slurm of the test's own: munged, slurmctld and two nodes' slurmd, real ones, on one machine and in one folder."""
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from child import signal_child

DAEMONS = ("munged", "slurmctld", "slurmd")
NODES = ("a", "b")
SKIPPED, PATIENCE = 77, 120
CONFIGURATION = """ClusterName=rawhal
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdDebug=info
PlugStackConfig={folder}/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=1
MinJobAge=300
MaxJobCount=5000
GresTypes=gpu,shard
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
NodeName=a NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[1]} CPUs=64 RealMemory=1000 Gres=gpu:1,shard:10
NodeName=b NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[2]} CPUs=64 RealMemory=1000 Gres=gpu:2,shard:20
PartitionName=p Nodes=ALL Default=YES
"""
RESOURCES = """NodeName=a Name=gpu File=/dev/null
NodeName=a Name=shard Count=10
NodeName=b Name=gpu File=/dev/zero
NodeName=b Name=gpu File=/dev/full
NodeName=b Name=shard Count=20
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def found(program):
    """Where it is: daemons are not on everybody's path."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def check_installed():
    for program in (*DAEMONS, "srun"):
        if not found(program):
            skip(f"{program} is not installed")
    if os.geteuid() != 0:
        skip("no right to start jobs of several users")


def await_(what, condition):
    """Waits until it is so; it is the machine's affair how long that takes."""
    end = time.monotonic() + PATIENCE
    result = condition()
    while not result and time.monotonic() < end:
        time.sleep(0.05)
        result = condition()
    if not result:
        raise AssertionError(f"not within {PATIENCE} s: {what}")
    return result


def free_ports(count):
    """Ports that nobody has: each is held until all are known."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    def __init__(self, plugin, words, sanitizers=""):
        """`words`: what plugstack.conf says behind the plugin, but for its folder and its file of accounts. `sanitizers`: their
        libraries, which Slurm's daemons and commands load first, for a plugin that was built with them."""
        self.folder = tempfile.mkdtemp(prefix="rawhal-slurm-")
        os.chmod(self.folder, 0o755)
        self.plugin, self.words, self.running = plugin, words, {}
        self.accounting, self.regions = self.path("accounting"), self.path("run")
        self.environment = dict(os.environ, SLURM_CONF=self.path("slurm.conf"))
        self.stepd = []
        if sanitizers:
            self.preload(sanitizers)
        os.mkdir(self.path("state"))
        self.write("slurm.conf", CONFIGURATION.format(folder=self.folder, ports=free_ports(3)))
        self.write("gres.conf", RESOURCES)
        self.configure(words)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def configure(self, words):
        """Counts from the next job on."""
        self.write("plugstack.conf", f"required {self.plugin} dir={self.regions} accounting={self.accounting} {' '.join(words)}\n")

    def preload(self, sanitizers):
        """What Slurm itself leaves is its own affair. slurmd starts prologs and steps without what it has in its environment."""
        variables = {"LD_PRELOAD": sanitizers, "UBSAN_OPTIONS": "print_stacktrace=1",
                     "ASAN_OPTIONS": f"detect_leaks=0:log_path={self.path('sanitizer')}"}
        self.environment.update(variables)
        real = found("slurmstepd")
        self.write("slurmstepd", "".join(["#!/bin/sh\n", *(f"export {name}='{value}'\n" for name, value in variables.items()),
                                          f'exec {real} "$@"\n']))
        os.chmod(self.path("slurmstepd"), 0o755)
        self.stepd = ["-d", self.path("slurmstepd")]

    # ---- Daemons ----

    def begin(self, name, *command):
        with open(self.path(name + ".log"), "a", encoding="utf-8") as log:
            self.running[name] = subprocess.Popen([found(command[0]), *command[1:]], env=self.environment, stdin=subprocess.DEVNULL,
                                                  stdout=log, stderr=log, start_new_session=True)

    def begin_node(self, node):
        self.begin("slurmd." + node, "slurmd", "-D", *self.stepd, "-N", node)

    def end(self, name):
        process = self.running.pop(name)
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self):
        with open(self.path("munge.key"), "wb") as file:
            file.write(secrets.token_bytes(64))
        os.chmod(self.path("munge.key"), 0o400)
        try:
            self.begin("munged", "munged", "--foreground", "--force", "--key-file=" + self.path("munge.key"),
                       "--socket=" + self.path("munge.sock"), "--pid-file=" + self.path("munged.pid"),
                       "--seed-file=" + self.path("munge.seed"), "--log-file=" + self.path("munge.log"))
            await_("munged listens", lambda: os.path.exists(self.path("munge.sock")))
            self.begin("slurmctld", "slurmctld", "-D", "-c")
            for node in NODES:
                self.begin_node(node)
            await_("both nodes are there", lambda: self.states() == ["idle"] * len(NODES))
        except BaseException:
            self.__exit__(AssertionError, None, None)
            raise
        return self

    def __exit__(self, kind, error, trace):
        if kind:
            for name in sorted(os.listdir(self.folder)):
                if name.endswith(".log"):
                    print(f"---- {name}\n{self.read(name)[-6000:]}")
        elif self.running:
            self.call("scancel", "--user=root", "--quiet")
            await_("no job is left", lambda: not self.jobs())
        for name in list(self.running)[::-1]:
            self.end(name)
        for process in self.keepers() | self.strays():
            signal_child(process, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def strays(self):
        """Whatever of it, or of its jobs, still runs."""
        pids = set()
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if self.folder.encode() in file.read():
                        pids.add(int(name))
            except OSError:
                continue  # it has ended
        return pids - {os.getpid()}

    # ---- Commands ----

    def call(self, *command, status=0, **others):
        """Its output, if it ends with that status; None: any."""
        done = subprocess.run([found(command[0]), *command[1:]], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False, **others)
        if status is not None and (done.returncode == 0) != (status == 0):
            raise AssertionError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    def begin_job(self, *words):
        return subprocess.Popen([found("srun"), *words], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def submit(self, *words):
        return int(self.call("sbatch", "--parsable", "--output=/dev/null", *words).split(";")[0])

    def states(self):
        said = self.call("sinfo", "--noheader", "--Node", "--format=%T", status=None).split()
        return [state.strip("*~#") for state in said]

    def jobs(self):
        """Jobs that are not over: their epilogs may still have to run."""
        return self.call("squeue", "--noheader", "--format=%A %T", status=None).split("\n")[:-1]

    def state(self, job):
        said = self.call("scontrol", "show", "job", str(job))
        return re.search(r"JobState=(\w+)", said).group(1)

    # ---- What the plugin keeps ----

    def keepers(self):
        """Of this cluster's regions: other tests have some, too."""
        return keepers() & self.strays()

    def kept(self, node):
        """Names of its files on a node, without the lock and links to regions."""
        try:
            return sorted(name for name in os.listdir(os.path.join(self.regions, node)) if name != "lock" and not name.endswith(".region"))
        except FileNotFoundError:
            return []

    def region(self, node, gpu=0):
        """A path of root's to the region of a GPU."""
        return os.path.join(self.regions, node, f"gpu{gpu}.region")

    def accounts(self):
        """Rows of the accounting file, each a dictionary."""
        lines = self.read("accounting").splitlines()
        return [dict(zip(lines[0].split("|"), line.split("|"))) for line in lines[1:]]


def keepers():
    """Processes that keep regions."""
    pids = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                if re.match(r"\d+ \(rawhal-region\) [^ZX]", file.read()):  # not one that has ended
                    pids.add(int(name))
        except OSError:
            continue  # it has ended
    return pids
