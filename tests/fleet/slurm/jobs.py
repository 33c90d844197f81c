#!/usr/bin/env python3
"""Jobs of a real Slurm that have shards of a GPU, which softgpu is: what they get, and that nothing of them is left.

usage: jobs.py BUILD [CASE...]    cases: see CASES; `shares` and `thousand` take minutes, only with RAWHAL_TEST_EXTENDED=all
RAWHAL_TEST_SANITIZERS names the libraries that a plugin needs which was built with sanitizers, for the case `sanitized`.
Exit status 77: Slurm is not installed, or it was not asked for.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from child import signal_child  # noqa: E402
from cluster import Cluster, await_, check_installed, skip  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
PLUGIN = BUILD + "/lib/rawhal/slurm/rawhal_spank.so"
SOFTGPU, FRONT_TESTS = BUILD + "/softgpu/softgpu-run", BUILD + "/tests/front/"
TOP = [BUILD + "/tools/rawhal", "top", "--json"]
MIB, MS = 1 << 20, 1_000_000
FIRST, SECOND = "GPU-736f667467707501", "GPU-736f667467707502"
# So small that a shard is the quota that tests/front/programs/quota.hip expects.
WORDS = ["front=" + BUILD + "/lib/librawhal-front.so", "shards=10", f"gpu={FIRST},640M", f"gpu={SECOND},640M"]
BURST_NS, KERNEL_US = 20 * MS, 1300
SUBMISSION_NS = 40 * MS  # four kernels, each many times as long where the processor that runs them has others to run


def program(name, *words):
    return [SOFTGPU, FRONT_TESTS + name, *words]


def worker(milliseconds):
    return program("share", str(milliseconds), str(KERNEL_US))


FOREVER = worker(600_000)


def rows(cluster, node="a", gpu=0):
    """The tenants of a GPU by their names, and when they were read."""
    before = time.monotonic_ns()
    table = json.loads(subprocess.run([*TOP, cluster.region(node, gpu)], stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, check=True).stdout)
    return {row["name"]: row for row in table["rows"] if row["level"] == "tenant"}, before


def tenant(cluster, name, node="a", gpu=0):
    try:
        return rows(cluster, node, gpu)[0].get(name)
    except (ValueError, subprocess.CalledProcessError):
        return None  # it has just begun, or is over


def await_nothing(cluster, node="a"):
    await_(f"nothing is left of jobs on {node}: {cluster.kept(node)}", lambda: not cluster.kept(node))


def await_work(cluster, name, ns=1, node="a"):
    await_(f"{name} works", lambda: (tenant(cluster, name, node) or {"gpu_ns": 0})["gpu_ns"] >= ns)


def check(truth, *said):
    if not truth:
        raise AssertionError(*said)


# ---- Shares ----

def begin_four(cluster, words=FOREVER):
    return [cluster.submit("-w", "a", f"--gres=shard:{part}", "--wrap", "exec " + " ".join(words)) for part in (1, 2, 3, 4)]


def four_of_ten(cluster):
    """1 to 4 shards of 10, at a time: none is charged more than its share and what a burst and a kernel are."""
    jobs = begin_four(cluster)
    for job in jobs:
        await_work(cluster, f"slurm-{job}")
    first, _ = rows(cluster)
    began = time.monotonic_ns()
    for job in jobs:
        await_work(cluster, f"slurm-{job}", first[f"slurm-{job}"]["gpu_ns"] + 100 * MS)
    last, before = rows(cluster)
    lasted = time.monotonic_ns() - min(began, before)
    for part, job in enumerate(jobs, 1):
        name, row = f"slurm-{job}", last[f"slurm-{job}"]
        used = row["gpu_ns"] - first[name]["gpu_ns"]
        check(row["share_ppm"] == part * 100_000 and row["memory_limit"] == part * 64 * MIB, row)
        check(used <= lasted * part / 10 + BURST_NS * part / 10 + SUBMISSION_NS, name, used, lasted)
    cluster.call("scancel", *map(str, jobs))
    await_nothing(cluster)
    accounts = {row["JobID"]: row for row in cluster.accounts()}
    for part, job in enumerate(jobs, 1):
        row = accounts[str(job)]
        check(row["SharePercent"] == f"{part}0.0000" and int(row["MemoryQuota"]) == part * 64 * MIB, row)
        # Who ended later has given back what was charged too much beside it.
        check(float(row["DeviceSeconds"]) * 1e9 >= last[f"slurm-{job}"]["gpu_ns"] - SUBMISSION_NS, row, last[f"slurm-{job}"])
        check(0 < int(row["MemoryPeak"]) <= part * 64 * MIB, row)


# What runs four jobs that always ask, kernels in microseconds and how many are ahead, and their bursts. Charged by the wall
# clock each pays for all of its own time. Charged fairly the four have 100 % only of a device that is never idle: between
# two kernels of one another one has to run, with credit that it could not spend before (docs/limiter.md, "The guarantee").
KINDS = {"wall": (KERNEL_US, 32, 20), "fair": (50_000, 4, 200)}


def shares(cluster):
    """The same over 20 s, to half a point; where the machine has no time for it that is no test. A device waits for nobody's
    processor: softgpu, and who launches, go before what else runs here."""
    for charging, (kernel_us, ahead, burst_ms) in KINDS.items():
        seconds, error = 20, 0.5
        jobs = begin_four(cluster, ["nice", "-n", "-15", "env", f"RAWHAL_GPU_CHARGING={charging}", f"RAWHAL_GPU_BURST={burst_ms}ms",
                                    *program("share", "600000", str(kernel_us), str(ahead), "steady")])
        for part, job in enumerate(jobs, 1):
            await_work(cluster, f"slurm-{job}", part * 100 * MS)
        best = None
        for _ in range(5):
            first, began = rows(cluster)
            end = began + seconds * 10**9
            while time.monotonic_ns() < end:
                time.sleep(0.1)
            last, ended = rows(cluster)
            parts = [100 * (last[f"slurm-{job}"]["gpu_ns"] - first[f"slurm-{job}"]["gpu_ns"]) / (ended - began) for job in jobs]
            errors = [part - 10 * i for i, part in enumerate(parts, 1)]
            worst = max(map(abs, errors))
            print(f"charged {charging}:", " ".join(f"{part:.2f}" for part in parts), f"percent, worst by {worst:.2f}", flush=True)
            for i, over in enumerate(errors, 1):  # a burst, and a kernel of each end
                check(over / 100 * (ended - began) <= burst_ms * MS * i / 10 + 4 * kernel_us * 1000 + SUBMISSION_NS, parts)
            best = worst if best is None else min(best, worst)
            if best <= error:
                break
        cluster.call("scancel", *map(str, jobs))
        await_nothing(cluster)
        if best > error:
            skip(f"too much else runs on this machine: {charging}")


# ---- Memory ----

def memory(cluster):
    """A shard's memory is all that there is, also for a program whose parent has closed all files."""
    quota = program("quota")
    closing = ["python3", "-c", f"import subprocess, sys; sys.exit(subprocess.run({quota!r}).returncode)"]
    for words in (quota, closing):
        said = cluster.call("srun", "-w", "a", "--gres=shard:1", *words)
        check(said.splitlines()[-1] == "ok", said)
    said = cluster.call("srun", "-w", "a", "--gres=shard:5", "--gpu-memory=64M", *quota)
    check(said.splitlines()[-1] == "ok", said)
    await_nothing(cluster)
    peaks = [int(row["MemoryPeak"]) for row in cluster.accounts()[-3:]]
    check(all(32 * MIB < peak <= 64 * MIB for peak in peaks), peaks)


def another_user(cluster):
    """A descriptor is all that a user needs: the folder is root's."""
    if not subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "test", "-x", SOFTGPU], check=False).returncode == 0:
        print("another_user: this user may not execute what is tested")
        return
    os.mkdir(cluster.path("theirs"))
    os.chmod(cluster.path("theirs"), 0o777)
    cluster.call("sbatch", "--wait", "-w", "a", "--uid=65534", "--chdir=/", "--gres=shard:1", "--output=" + cluster.path("theirs/said"),
                 "--wrap", f"id -u; {' '.join(program('quota'))}; ls {cluster.regions}/a", status=None)
    said = cluster.read("theirs/said").split("\n")
    check(said[:2] == ["65534", "ok"] and "denied" in said[2], said)
    await_nothing(cluster)


# ---- What is asked for, and what is wrong ----

def wishes(cluster):
    job = cluster.submit("-w", "a", "--gres=shard:4", "--gpu-share=7%", "--wrap", "exec " + " ".join(FOREVER))
    await_work(cluster, f"slurm-{job}")
    check(tenant(cluster, f"slurm-{job}")["share_ppm"] == 70_000, tenant(cluster, f"slurm-{job}"))
    cluster.call("scancel", str(job))
    await_nothing(cluster)
    for words, reason in ((["--gpu-share=41%"], "--gpu-share=41% is more than what the job was allotted: 40%"),
                          (["--gpu-memory=257M"], "--gpu-memory=257MiB is more than what the job was allotted: 256MiB"),
                          (["--gpu-share=many"], "'many' is not understood")):
        said = cluster.call("srun", "-w", "a", "--gres=shard:4", *words, "echo", "it ran", status=1)
        check(reason in said and "it ran" not in said, said)
    said = cluster.call("srun", "-w", "a", "--gpu-share=5%", "echo", "it ran", status=1)
    check("are for jobs with a part of a GPU" in said and "it ran" not in said, said)
    await_nothing(cluster)
    check("ran\n" in cluster.call("srun", "-w", "a", "sh", "-c", "echo ran$RAWHAL_TENANT"))


def wrong_configuration(cluster):
    """The job does not start and says why, as slurmd's log does; or it does, or the node is drained, as the operator says."""
    wrong = [word for word in WORDS if not word.startswith("shards=")]
    run = ["srun", "-w", "a", "--gres=shard:3", "sh", "-c", "echo ran$RAWHAL_TENANT"]
    for words, reason in ((wrong, "more shards than a GPU has: is shards= as in gres.conf?"),
                          ([*wrong, "shards=2"], "more shards than a GPU has"),
                          ([*wrong, "shards=10", "fallback=yes"], "'fallback=yes' is none of dir=")):
        cluster.configure(words)
        said = cluster.call(*run, status=1)
        check("rawhal: this job does not start" in said and reason in said and "ran" not in said.split("\n"), said)
        await_nothing(cluster)
    check("is shards= as in gres.conf?" in cluster.read("slurmd.a.log"), "slurmd's log")
    cluster.configure(["on-error=run", *wrong])
    check("ran\n" in cluster.call(*run))
    cluster.configure(["on-error=drain", *wrong])
    job = cluster.submit("-w", "a", "--gres=shard:3", "--wrap", "true")
    await_("the node is drained", lambda: any(state.startswith("drain") for state in cluster.states()))
    cluster.call("scancel", str(job))
    cluster.configure(WORDS)
    await_("the job is gone", lambda: not cluster.jobs())
    cluster.call("scontrol", "update", "nodename=a", "state=resume")
    await_("both nodes are there", lambda: cluster.states() == ["idle", "idle"])
    check("ranslurm-" in cluster.call(*run))
    await_nothing(cluster)


# ---- Several GPUs, arrays, parts ----

def several(cluster):
    """Of node b's two GPUs each job has its own, by a region of its own; whole ones, too."""
    script = "sleep 600"
    jobs = [cluster.submit("-w", "b", "--gres=shard:6", "--wrap", script) for _ in range(2)]
    await_("both GPUs are used", lambda: cluster.kept("b") == ["gpu0", "gpu1", *(f"job.{job}" for job in sorted(jobs))])
    check(len(cluster.keepers()) == 2, cluster.keepers())
    names = [set(rows(cluster, "b", gpu)[0]) for gpu in (0, 1)]
    check(sorted(map(tuple, names)) == sorted((f"slurm-{job}",) for job in jobs), names)
    cluster.call("scancel", *map(str, jobs))
    await_nothing(cluster, "b")
    say = "echo $RAWHAL_LIMIT_REGION $RAWHAL_TENANT"
    check(re.search(r"fd:\d+,\d+ slurm-\d+\n", cluster.call("srun", "-w", "b", "--gres=gpu:2", "sh", "-c", say)))
    said = cluster.call("srun", "-w", "b", "--gres=gpu:1", "env", "SOFTGPU_GPUS=2", *worker(1))
    check("percent" in said, said)
    # A program that looks at a GPU that its job was not given has none.
    said = cluster.call("srun", "-w", "b", "--gres=shard:1", "env", "--unset=ROCR_VISIBLE_DEVICES", "SOFTGPU_GPUS=2",
                        *worker(1), status=1)
    check(f"has the device '{SECOND}'" in said or f"has the device '{FIRST}'" in said, said)
    await_nothing(cluster, "b")


def names(cluster):
    """Tenants are called as squeue calls their jobs."""
    say = cluster.path("names")
    array = cluster.submit("-w", "a", "--gres=shard:1", "--array=3,7", "--wrap", f"echo $RAWHAL_TENANT >>{say}")
    await_("both ran", lambda: cluster.read("names").count("\n") == 2)
    check(sorted(cluster.read("names").split()) == [f"slurm-{array}_3", f"slurm-{array}_7"], cluster.read("names"))
    said = cluster.call("srun", "-w", "a", "--gres=shard:1", "sh", "-c", "echo $RAWHAL_TENANT", ":", "-w", "b", "--gres=shard:2",
                        "sh", "-c", "echo $RAWHAL_TENANT")
    parts = sorted(line for line in said.split() if line.startswith("slurm-"))
    check(len(parts) == 2 and parts[0].endswith("+0") and parts[1].endswith("+1"), said)
    await_nothing(cluster)
    await_nothing(cluster, "b")


# ---- Ends ----

def step_daemons(job):
    """Processes of slurmstepd for a job."""
    pids = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", encoding="utf-8", errors="replace") as file:
                if re.match(rf"slurmstepd: \[{job}\.", file.read()):
                    pids.append(int(name))
        except OSError:
            continue  # it has ended
    return pids


def killed(cluster):
    """However a job ends: nothing of it is left, and others go on."""
    other = cluster.submit("-w", "a", "--gres=shard:2", "--wrap", "exec " + " ".join(FOREVER))
    await_work(cluster, f"slurm-{other}")
    for end in ("scancel", "slurmstepd"):
        job = cluster.submit("-w", "a", "--gres=shard:3", "--no-requeue", "--wrap", "exec " + " ".join(FOREVER))
        await_work(cluster, f"slurm-{job}")
        if end == "scancel":
            cluster.call("scancel", "--signal=KILL", "--full", str(job))
        for pid in step_daemons(job) if end == "slurmstepd" else ():
            signal_child(pid, signal.SIGKILL)
        if end == "slurmstepd":  # Slurm's controller learns of it later, if it is not told
            cluster.call("scancel", str(job))
        await_(f"nothing is left of the job: {end}", lambda: f"job.{job}" not in cluster.kept("a"))
        check(tenant(cluster, f"slurm-{job}") is None, end)
        row = next(row for row in cluster.accounts() if row["JobID"] == str(job))
        check(float(row["DeviceSeconds"]) > 0, row)
    used = tenant(cluster, f"slurm-{other}")["gpu_ns"]
    await_work(cluster, f"slurm-{other}", used + MS)
    # Whoever keeps the region may die, too: the next job finds it with those who have it.
    inode = os.stat(cluster.region("a")).st_ino
    signal_child(int(cluster.read("run/a/gpu0").split()[0]), signal.SIGKILL)
    job = cluster.submit("-w", "a", "--gres=shard:1", "--wrap", "exec " + " ".join(FOREVER))
    await_work(cluster, f"slurm-{job}")
    check(os.stat(cluster.region("a")).st_ino == inode, "another region")
    cluster.call("scancel", str(job), str(other))
    await_nothing(cluster)
    check(not cluster.keepers(), cluster.keepers())


def begin_at_once(cluster, job):
    """Slurm would wait for two minutes, after which its nodes have forgotten the job, and run its prolog again."""
    await_("it waits", lambda: cluster.state(job) == "PENDING")
    cluster.call("scontrol", "update", f"jobid={job}", "starttime=now+3")  # in the same second it is refused
    await_("it begins again", lambda: cluster.state(job) == "RUNNING")


def stopped(cluster):
    """A job that is suspended uses nothing, others go on; requeued, it begins again."""
    job, other = (cluster.submit("-w", "a", "--gres=shard:2", "--requeue", "--wrap", "exec " + " ".join(FOREVER)) for _ in range(2))
    for each in (job, other):
        await_work(cluster, f"slurm-{each}")
    cluster.call("scontrol", "suspend", str(job))
    await_("it is suspended", lambda: cluster.state(job) == "SUSPENDED")
    # What was on the device when the processes stopped ends without them.
    used = tenant(cluster, f"slurm-{job}")["launches"]
    await_work(cluster, f"slurm-{other}", tenant(cluster, f"slurm-{other}")["gpu_ns"] + 50 * MS)
    check(tenant(cluster, f"slurm-{job}")["launches"] == used, "it launched")
    cluster.call("scontrol", "resume", str(job))
    await_("it goes on", lambda: tenant(cluster, f"slurm-{job}")["launches"] > used)
    cluster.call("scontrol", "requeue", str(job))
    await_("it is gone", lambda: f"job.{job}" not in cluster.kept("a"))
    begin_at_once(cluster, job)
    await_work(cluster, f"slurm-{job}")
    cluster.call("scancel", str(job), str(other))
    await_nothing(cluster)


def restarted(cluster):
    """slurmd ends and begins again while a job runs; a node that was rebooted has forgotten it."""
    job = cluster.submit("-w", "a", "--gres=shard:2", "--wrap", "exec " + " ".join(FOREVER))
    await_work(cluster, f"slurm-{job}")
    cluster.end("slurmd.a")
    cluster.begin_node("a")
    await_work(cluster, f"slurm-{job}", tenant(cluster, f"slurm-{job}")["gpu_ns"] + MS)
    await_("both nodes are there", lambda: "idle*" not in cluster.states() and len(cluster.states()) == 2)
    said = cluster.call("srun", "-w", "a", "--gres=shard:1", *program("quota"))
    check(said.splitlines()[-1] == "ok", said)
    cluster.call("scancel", str(job))
    await_nothing(cluster)


# ---- Sanitized ----

def sanitized(cluster):
    """All hooks in Slurm's own processes, with a plugin that looks at each access: no job needs a GPU for them."""
    say = ["sh", "-c", "echo ran$RAWHAL_TENANT"]
    array = cluster.submit("-w", "a", "--gres=shard:1", "--array=3,7", "--wrap", "sleep 600")
    whole = cluster.submit("-w", "b", "--gres=gpu:2", "--wrap", "sleep 600")
    dies = cluster.submit("-w", "a", "--gres=shard:2", "--no-requeue", "--gpu-share=5%", "--gpu-memory=1M", "--wrap", "sleep 600")
    await_("all have begun", lambda: len(cluster.kept("a")) == 4 and len(cluster.kept("b")) == 3 and step_daemons(dies))
    for pid in step_daemons(dies):
        signal_child(pid, signal.SIGKILL)
    for process in cluster.keepers():  # the next job finds the regions with those who have them
        signal_child(process, signal.SIGKILL)
    check("ranslurm-" in cluster.call("srun", "-w", "a", "--gres=shard:1", *say))
    said = cluster.call("srun", "-w", "a", "--gres=shard:4", "--gpu-share=41%", *say, status=1)
    check("more than what the job was allotted" in said, said)
    cluster.configure([*WORDS, "fallback=yes"])
    check("is none of dir=" in cluster.call("srun", "-w", "a", "--gres=shard:1", *say, status=1))
    cluster.configure(WORDS)
    cluster.call("scontrol", "requeue", f"{array}_3")
    cluster.call("scancel", str(array), str(whole), str(dies))
    await_nothing(cluster)
    await_nothing(cluster, "b")
    await_("all are accounted for, though nobody knows of what node b's had", lambda: len(cluster.accounts()) >= 6)
    found = [name for name in os.listdir(cluster.folder) if name.startswith("sanitizer")]
    check(not found, *map(cluster.read, found))


# ---- Many ----

def many(cluster, count, at_a_time=8):
    """Short jobs, half of them killed at random moments after they have begun: before that there is nothing to be left."""
    chance = random.Random(count)
    before, log = len(cluster.accounts()), len(cluster.read("slurmd.a.log"))
    running, started, begun, kills = [], [], 0, 0
    while begun < count or running:
        while begun < count and len(running) < at_a_time:
            words = worker(chance.choice((1, 30, 200))) if chance.random() < 0.8 else program("quota")
            running.append(cluster.submit("-w", "a", "--no-requeue", f"--gres=shard:{chance.randint(1, 2)}", "--wrap", " ".join(words)))
            begun += 1
        if chance.random() < 0.5 and started:
            cluster.call("scancel", *(["--signal=KILL", "--full"] if chance.random() < 0.5 else []), str(chance.choice(started)),
                         status=None)
            kills += 1
        states = {int(job): state for job, state in (line.split()[:2] for line in cluster.jobs())}
        running = [job for job in running if job in states]
        started = [job for job in running if states[job] != "PENDING"]
    await_nothing(cluster)
    check(not cluster.keepers(), cluster.keepers())
    accounts = cluster.accounts()[before:]
    print(f"{count} jobs, {kills} kills, {len(accounts)} accounts")
    check(len({row["JobID"] for row in accounts}) == len(accounts) and count / 4 <= len(accounts) <= count, len(accounts))
    # A process that takes long to die is the next hook's.
    said = [line for line in cluster.read("slurmd.a.log")[log:].splitlines() if "rawhal: " in line and "processes in the tenant" not in line]
    check(not said, said)


def twenty(cluster):
    many(cluster, 20)


def thousand(cluster):
    many(cluster, 1000)


USUAL = (four_of_ten, memory, another_user, wishes, several, names, killed, stopped, restarted, twenty, wrong_configuration)
LONG = (shares, thousand)
CASES = {case.__name__: case for case in (*USUAL, *LONG, sanitized)}


def main():
    chosen = [CASES[name] for name in sys.argv[2:]] or USUAL
    check_installed()
    if any(case in LONG for case in chosen) and os.environ.get("RAWHAL_TEST_EXTENDED") != "all":
        skip("minutes, only with RAWHAL_TEST_EXTENDED=all")
    with Cluster(PLUGIN, WORDS, os.environ.get("RAWHAL_TEST_SANITIZERS", "")) as cluster:
        for case in chosen:
            began = time.monotonic()
            case(cluster)
            print(f"{case.__name__}: ok, {time.monotonic() - began:.1f} s", flush=True)


main()
