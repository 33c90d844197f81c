#!/usr/bin/env python3
"""What an operator's file says of programs and kernels: policy.py RUNNER RAWHAL PROGRAMS"""
import json, os, re, signal, subprocess, sys, tempfile

runner, rawhal, programs = map(os.path.abspath, sys.argv[1:])
ADD = "_Z3addPfPKfj"
CLEAN = re.compile(r"^rawhal: (check: checked [0-9]+, unknown 0, mistaken 0|record: recorded ([0-9]+) of \2)\n", re.M)
SIZES = {"arg0": "8 * arg2", "arg1": "arg2 * 4"}


def run(folder, rules, *what, options=(), text=None, path=None, environment=None):
    if path is None:
        path = os.path.join(folder, "policy.json")
        with open(path, "w") as file:
            file.write(json.dumps({"version": 1, "rules": rules}) if text is None else text)
    command = [runner, rawhal, "exec", "--policy", path, *options, "--", os.path.join(programs, what[0]), *what[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **(environment or {})})
    return done.stdout, CLEAN.sub("", done.stderr), done.returncode


def expect(what, out=None, said=None, status=0):
    assert what[2] == status and (out is None or what[0] == out), what
    if said is not None:
        assert (re.search(said, what[1]) if said else not what[1]), what


def check_contracts(folder):
    rules = [{"kernel": "_Z3add*", "check": "warn", "bytes": SIZES}]
    for right in ("clean", "sized"):
        expect(run(folder, rules, "mistakes", right), "done\n", "")
    expect(run(folder, rules, "mistakes", "too_short"), "done\n",
           f"check: {ADD}, queue [0-9]*: argument 1 leads to 3976 bytes; it takes 4000\n"
           "rawhal: check: checked 1, unknown 0, mistaken 1\n")
    expect(run(folder, rules, "mistakes", "swapped"), "done\n", "argument 0 leads to 4096 bytes; it takes 8000\n")
    expect(run(folder, [{"bytes": SIZES}], "mistakes", "swapped"), "done\n", "argument 0 leads to 4096 bytes; it takes 8000\n")
    expect(run(folder, [{"bytes": SIZES}, {"check": "off"}], "mistakes", "swapped"), "done\n", "")
    expect(run(folder, [{"bytes": {"arg0": "1"}}], "mistakes", "heap"), "done\n", "argument 1 is 0x")
    # A grid that is wrong: more work-items than one of the buffers has elements.
    each = {"arg0": "4 * work_items.x"}
    expect(run(folder, [{"bytes": each}], "mistakes", "sized"), "done\n", "")
    expect(run(folder, [{"bytes": each}], "mistakes", "wrong_grid"), "done\n",
           f"check: {ADD}, queue [0-9]*: argument 0 leads to 8192 bytes; it takes 16384\n"
           "rawhal: check: checked 1, unknown 0, mistaken 1\n")
    # By the grid, and what has no result.
    for text, least in (("4 * work_items.x", 512), ("max(64K, 1)", 65536), ("workgroups.x * workgroup.x * 100", 12800)):
        said = f"argument 1 leads to 4096 bytes; it takes {least}\n" if least > 4096 else ""
        expect(run(folder, [{"check": "warn", "bytes": {"arg1": text}}], "mistakes", "sized"), "done\n", said)
    for text in ("arg2 / (arg2 - 1000)", "arg2 - 1001", "arg2 * 0xffffffffffffffff"):
        expect(run(folder, [{"check": "warn", "bytes": {"arg1": text}}], "mistakes", "sized"), "done\n",
               "is not a number of 64 bits for this dispatch")
    # What is about another kernel is said, and the rest holds.
    expect(run(folder, [{"check": "warn", "bytes": {"arg2": "1", "arg9": "1", "n": "1", "arg1": "5K", "arg0": "4*m"}}],
               "mistakes", "sized"), "done\n", "argument 1 leads to 4096 bytes; it takes 5120")
    assert len(re.findall("policy: .* has no pointer '(arg2|arg9|n)'", run(folder, [
        {"check": "warn", "bytes": {"arg2": "1", "arg9": "1", "n": "1"}}], "mistakes", "sized")[1])) == 3
    expect(run(folder, [{"check": "refuse", "bytes": SIZES}], "mistakes", "swapped"), "", "a queue was stopped: ", -signal.SIGABRT)


def check_choosing(folder):
    for rule in ({"program": "mist*"}, {"program": os.path.join(programs, "mistakes")}, {"kernel": ADD}):
        expect(run(folder, [{**rule, "check": "warn"}], "mistakes", "nowhere"), "done\n", "argument 1 is 0x10000, in no")
    for rule in ({"program": "mist"}, {"program": "/mistakes"}, {"kernel": "_Z3sub*"}, {"object": "0123"}):
        expect(run(folder, [{**rule, "check": "refuse"}], "mistakes", "nowhere"), "done\n", "")
    # The first that says something counts, and the environment where none does.
    expect(run(folder, [{"kernel": "_Z3a*", "check": "off"}, {"check": "refuse"}], "mistakes", "nowhere"), "done\n", "")
    expect(run(folder, [{"kernel": ADD, "ignore": True}], "mistakes", "nowhere", options=("--check=refuse",)), "done\n", "")
    expect(run(folder, [{"kernel": ADD, "trace": True}], "mistakes", "nowhere", options=("--check",)), "done\n", "in no mem")


def check_files(folder):
    trace = os.path.join(folder, "trace")
    expect(run(folder, [{"kernel": ADD, "trace": False}], "mistakes", "clean", options=("--trace", trace)), "done\n")
    assert ADD not in open(trace).read()
    expect(run(folder, [], "mistakes", "clean", options=("--trace", trace + "2")), "done\n")
    assert ADD in open(trace + "2").read()
    for rules, count in (([{"kernel": ADD, "record": False}], 0), ([], 7)):
        recording = os.path.join(folder, f"recording{count}")
        expect(run(folder, rules, "mistakes", "clean", options=("--record", recording)), "done\n")
        listed = subprocess.run([rawhal, "replay", "--list", recording], capture_output=True, text=True).stdout
        assert listed.count(ADD) == count, listed


def check_limits(folder):
    expect(run(folder, [{"program": "quota", "limits": {"memory": "64M"}}], "quota"), "ok\n")
    expect(run(folder, [{"program": "other", "limits": {"memory": "64M"}}], "quota"), "no quota\n")
    expect(run(folder, [{"limits": {"memory": "64M"}}, {"limits": {"memory": "8G"}}], "quota"), "ok\n")
    # Nobody loosens it.
    expect(run(folder, [{"limits": {"memory": "64M"}}], "quota", options=("--memory", "8G")), "ok\n")
    expect(run(folder, [{"limits": {"memory": "8G"}}], "quota", options=("--memory", "64M")), "ok\n")
    expect(run(folder, [{"limits": {"memory": "64M", "gpu-share": "60%"}}], "quota"), "ok\n")


def check_substitutes(folder):
    kernels = os.path.join(programs, "replacements.co")
    original, _, _ = run(folder, [], "replaced")
    rule = {"program": "replaced", "kernel": "combine", "substitute": kernels}
    out, errors, _ = run(folder, [rule], "replaced")
    assert out != original and "combine: 20 dispatches replaced, 0 not replaced" in errors, (out, errors)
    # It stays, whatever the environment wants.
    others = ("--substitute", f"combine={kernels}")
    expect(run(folder, [{"kernel": "comb*", "ignore": True}, rule], "replaced", options=others), original)
    expect(run(folder, [{**rule, "object": "0000"}], "replaced"), original)
    recording = os.path.join(folder, "objects")
    expect(run(folder, [], "replaced", options=("--trace", recording)), original)
    digest = re.search(r'"name":"combine".*?"(?:object|hash)":"([0-9a-f]{32})"', open(recording).read()).group(1)
    assert run(folder, [{**rule, "object": digest[:8]}], "replaced")[0] == out
    for spec, status in (("nowhere.co", 3), (kernels + ":combine,buffer", 2)):
        expect(run(folder, [{**rule, "substitute": spec}], "replaced"), said="^rawhal exec: .*RAWHAL_POLICY: ", status=status)


BROKEN = [
    ("", "line 1, column"), ("{", "line 1"), ("[]", '"version"'), ('{"version": 2, "rules": []}', '"version" is not 1'),
    ('{"version": 1}', 'list of "rules"'), ('{"version": 1, "rules": [], "more": 1}', 'expected only "version"'),
    ('{"version": 1, "rules": [3]}', "rule 1: expected an object"),
    ('{"version": 1, "rules": [{"chek": "warn"}]}', "rule 1: unknown key 'chek'"),
    ('{"version": 1, "rules": [{}, {"check": "loud"}]}', "rule 2: 'check': expected off, warn, report or refuse"),
    ('{"version": 1, "rules": [{"check": 1}]}', "'check'"), ('{"version": 1, "rules": [{"kernel": 1}]}', "'kernel': expected text"),
    ('{"version": 1, "rules": [{"kernel": "a", "kernel": "b"}]}', "line 1, column"),
    ('{"version": 1, "rules": [{"object": "xyz1"}]}', "not a hash prefix"),
    ('{"version": 1, "rules": [{"record": "no"}]}', "expected true or false"),
    ('{"version": 1, "rules": [{"ignore": false}]}', "expected true"),
    ('{"version": 1, "rules": [{"ignore": true, "check": "warn"}]}', "contradicts"),
    ('{"version": 1, "rules": [{"bytes": {"arg0": "4 *"}}]}', "'bytes': '4 \\*', column 4: a number, an argument or"),
    ('{"version": 1, "rules": [{"bytes": {"arg0": 4}}]}', "'bytes': the value of 'arg0' is not text"),
    ('{"version": 1, "rules": [{"kernel": "a", "limits": {"memory": "1G"}}]}', "limits apply to programs"),
    ('{"version": 1, "rules": [{"limits": {"memory": "much"}}]}', "'limits': "),
    ('{"version": 1, "rules": [{"limits": {"money": "1"}}]}', "unknown limit 'money'"),
    ('{"version": 1, "rules": [' + ",".join(["{}"] * 4097) + "]}", "4097 rules; the limit is 4096"),
    (" " * (1 << 20) + "{}", "more than 1048576 bytes"),
    ('{"version": 1, "rules": ' + "[" * 3000, "line 1"),
]


def check_broken(folder):
    expect(run(folder, [], "quota", environment={"RAWHAL_POLICY": "other.json"}),
           said="--policy conflicts with RAWHAL_POLICY='other.json'", status=2)
    for text, said in BROKEN:
        expect(run(folder, None, "quota", text=text), said=f"^rawhal exec: .*RAWHAL_POLICY, '.*': .*{said}.*\n$", status=2)
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    for path in (fifo, folder, "/dev/zero", os.path.join(folder, "nothing")):
        expect(run(folder, None, "quota", path=path), said="^rawhal exec: .*RAWHAL_POLICY, '.*\n$", status=3)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_contracts, check_choosing, check_files, check_limits, check_substitutes, check_broken):
            check(folder)
        print(f"{len(BROKEN)} broken files refused")


main()
