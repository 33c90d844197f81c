#!/usr/bin/env python3
"""A cache that Triton itself has made, as rawhal reads it: every fact against Python's json module and against Triton's
own objects, then each kernel run from its entry by `rawhal run`.

usage: cache.py RAWHAL CHIP FOLDER
    RAWHAL  the command
    CHIP    gfx90a
    FOLDER  gets the cache and the buffers

RAWHAL_TRITON_PYTHON names the interpreter, which needs triton and nothing else. Exits with 0 when all is right, 1 when
not, and 77 (skipped) when triton cannot be imported."""
import array
import json
import os
import shutil
import subprocess
import sys
import warnings

import interpreter

SKIPPED = 77
FACTS = ("name", "shared", "num_warps", "warp_size", "num_stages", "num_ctas", "hash", "triton_version", "arch",
         "launch_cooperative_grid", "global_scratch_size", "global_scratch_align", "profile_scratch_size",
         "profile_scratch_align")
ABSENT = {"num_ctas": 1, "hash": None, "triton_version": None, "arch": None, "launch_cooperative_grid": False}
N = 1000
X = [i * 7919 % 4001 - 2000 for i in range(4096)]
Y = [i * 104729 % 30011 for i in range(4096)]


def ints(values):
    return array.array("i", values).tobytes()


def cases():
    """Each kernel with its signature, constants, options, grid, arguments and what it leaves."""
    import cache_kernels as kernels
    p = "*i32"
    rows = [X[i * 512:(i + 1) * 512] for i in range(8)]
    sums = [sum(row) for row in rows]
    return [
        (kernels.add, dict(x=p, y=p, out=p, n="i32"), dict(BLOCK=256), {}, 4, [X, Y, None, N],
         [a + b for a, b in zip(X[:N], Y[:N])] + [0] * (4096 - N)),
        (kernels.row_sums, dict(x=p, out=p), dict(BLOCK=512), dict(num_warps=8), 8, [X, None], sums + [0] * (4096 - 8)),
        (kernels.row_most, dict(x=p, out=p), dict(BLOCK=512), dict(num_warps=2), 8, [X, None],
         [max(row) for row in rows] + [0] * (4096 - 8)),
        (kernels.running, dict(x=p, out=p), dict(BLOCK=512), dict(num_warps=4), 8, [X, None],
         [sum(row[:i + 1]) for row in rows for i in range(512)]),
        (kernels.transpose, dict(x=p, out=p), dict(ROWS=32, COLUMNS=64), dict(num_warps=4), 1, [X, None],
         [X[row * 64 + column] for column in range(64) for row in range(32)] + [0] * 2048),
        (kernels.add, dict(x=p, y=p, out=p, n="i32"), dict(BLOCK=64), dict(num_warps=1), 16, [X, Y, None, N],
         [a + b for a, b in zip(X[:N], Y[:N])] + [0] * (4096 - N)),
    ]


def compile_case(case, chip):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    kernel, types, constants, options = case[:4]
    source = ASTSource(kernel, signature={**types, **{name: "constexpr" for name in constants}}, constexprs=constants)
    return triton.compile(source, target=GPUTarget("hip", chip, 64), options=options)


def wrong_facts(listed, told):
    """What rawhal says of an entry otherwise than its JSON and than Triton's own object."""
    with open(listed["json"], encoding="utf-8") as file:
        read = json.load(file)
    expected = {fact: read.get(fact, ABSENT.get(fact, 0)) or ABSENT.get(fact, 0) for fact in FACTS}
    expected["backend"] = read["target"]["backend"]
    expected["workgroup"] = read["num_warps"] * read["warp_size"]
    wrong = [f"{fact} is {listed[fact]!r}, not {value!r}" for fact, value in expected.items() if listed[fact] != value]
    return wrong + [f"{fact} is {listed[fact]!r}, Triton has {getattr(told, fact)!r}" for fact in FACTS
                    if hasattr(told, fact) and getattr(told, fact) != listed[fact]]


def wrong_object(rawhal, listed, path, visible):
    """What the object says of the same: its own work-group size, and the arguments that it takes."""
    done = subprocess.run([rawhal, "inspect", "--json", path], stdout=subprocess.PIPE, text=True, check=True)
    read = json.loads(done.stdout)["objects"][0]
    kernel, metadata = (next(each for each in kernels if each["name"] == listed["name"])
                        for kernels in (read["kernels"], read["metadata"]["kernels"]))
    most, taken = metadata["max_flat_workgroup_size"], sum(not each["hidden"] for each in kernel["kernarg"]["arguments"])
    wrong = [] if most == listed["workgroup"] else [f"the object is for {most} work-items"]
    return wrong + ([] if taken == visible + listed["scratch_pointers"] else
                    [f"{taken} arguments, {visible} of the source and {listed['scratch_pointers']} pointers"])


def run_case(rawhal, case, entry, stem):
    """What is wrong with the results, or None."""
    words = []
    for index, value in enumerate(case[5]):
        if isinstance(value, int):
            words.append(f"i32:{value}")
        elif value is None:
            words.append(f"out:{stem}.out:{4 * 4096}")
        else:
            with open(f"{stem}.{index}.in", "wb") as file:
                file.write(ints(value))
            words.append(f"ptr:{stem}.{index}.in")
    done = subprocess.run([rawhal, "run", entry, "--grid", str(case[4]), "--device", "softgpu", *words],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return done.stderr.strip()
    with open(stem + ".out", "rb") as file:
        return None if file.read() == ints(case[6]) else "wrong results"


def main():
    interpreter.change()
    rawhal, chip, folder = sys.argv[1:]
    cache = os.path.join(folder, "cache")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.environ.update(TRITON_CACHE_DIR=cache, SOFTGPU_CHIP=chip)
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    warnings.simplefilter("ignore")
    try:
        import triton
    except ImportError as reason:
        print(f"skipped: {reason}; RAWHAL_TRITON_PYTHON names an interpreter that can")
        return SKIPPED
    made = cases()
    told = {each.metadata.hash: (each.metadata, case) for each, case in ((compile_case(case, chip), case) for case in made)}
    done = subprocess.run([rawhal, "inspect", "--json", cache], stdout=subprocess.PIPE, text=True, check=True)
    listed = json.loads(done.stdout)["objects"]
    right = 0
    for number, item in enumerate(listed):
        entry = item["triton"]
        if not entry or entry["status"] != "OK" or entry["hash"] not in told:
            print(f"{item['file']}: {entry}")
            continue
        metadata, case = told.pop(entry["hash"])
        wrong = wrong_facts(entry, metadata) + wrong_object(rawhal, entry, item["file"], len(case[5]))
        for path in (entry["json"], item["file"]):
            wrong += filter(None, [run_case(rawhal, case, path, os.path.join(folder, str(number)))])
        right += not wrong
        print(f"{entry['name']}: {'; '.join(wrong) or 'right'}")
    print(f"triton {triton.__version__}, {chip}: {right} of {len(made)} entries right")
    return 0 if right == len(made) == len(listed) else 1


if __name__ == "__main__":
    sys.exit(main())
