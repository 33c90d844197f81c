#!/usr/bin/env python3
"""Compares `rawhal inspect --json` of solution libraries with what python3's msgpack reads in them.

usage: tensile_oracle.py RAWHAL [FOLDER]

All *.dat in FOLDER, or in RAWHAL_TENSILE_DIR, and below. Exit status 77 where there are none, or no
msgpack. Kernels are looked for in the code object that a library names for them, where that is there.
"""
import json
import os
import pathlib
import subprocess
import sys

SIZES = {
    "depth_u": "depthU", "global_split_u": "globalSplitU", "stagger_u": "staggerU",
    "stagger_stride_shift": "staggerStrideShift", "workgroup_mapping": "workGroupMapping",
    "global_accumulation": "globalAccumulation", "workspace_per_c": "workspaceSizePerElemC",
    "stream_k": "streamK", "persistent": "persistentKernel",
    "stagger_mapping": "staggerUMapping", "xcc": "workGroupMappingXCC", "xcc_group": "workGroupMappingXCCGroup",
    "split_coalesced": "globalSplitUCoalesced", "split_round_robin": "globalSplitUWorkGroupMappingRoundRobin",
}
DIMENSIONS = {"workgroup": "workGroup", "thread_tile": "threadTile", "macro_tile": "macroTile"}
ARGUMENTS = {
    "version": "version", "global_split_u": "gsu", "workgroup_mapping": "wgm", "stagger_u": "staggerU",
    "universal": "useUniversalArgs",
}


def placeholders(node):
    """In the order of the file."""
    if isinstance(node, dict):
        if node.get("type") == "Placeholder":
            yield node["value"]
        node = node.values()
    elif not isinstance(node, list):
        return
    for child in node:
        yield from placeholders(child)


def expected_solution(solution, stem):
    sizes = solution["sizeMapping"]
    numbers = {ours: int(sizes.get(theirs) or 0) for ours, theirs in SIZES.items()}
    for ours, theirs in DIMENSIONS.items():
        numbers[ours] = (sizes[theirs] + [0, 0, 0])[:3]
    given = solution.get("internalArgsSupport")
    source = bool(sizes["sourceKernel"])
    name = stem + (".hsaco" if source and not given else ".co")
    shared = stem == "TensileLibrary" or stem.startswith(("TensileLibrary_gfx", "TensileLibrary_lazy_"))
    if shared or source and not given and "fallback" in stem:
        name = None
    return {
        "index": solution["index"],
        "name": solution["name"],
        "kernel": solution.get("kernelName", solution["name"]),
        "code_object": name,
        "source_kernel": source,
        "operation": solution["problemType"]["operationIdentifier"],
        "sizes": numbers,
        "arguments": given and {ours: given[theirs] for ours, theirs in ARGUMENTS.items()},
    }


def inspect(rawhal, path):
    run = subprocess.run([rawhal, "inspect", "--json", str(path)], capture_output=True, check=True)
    return json.loads(run.stdout)


def main():
    rawhal = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("RAWHAL_TENSILE_DIR", "")
    try:
        import msgpack
    except ImportError:
        print("skipped: python3 has no msgpack")
        return 77
    paths = sorted(pathlib.Path(folder).rglob("*.dat")) if folder else []
    if not paths:
        print("skipped: no *.dat in RAWHAL_TENSILE_DIR")
        return 77
    solutions = found = references = wrong = 0
    objects = {}
    for path in paths:
        tables = msgpack.unpackb(path.read_bytes(), strict_map_key=False)
        ours = inspect(rawhal, path)
        theirs = {
            "version": tables.get("version"),
            "libraries": list(placeholders(tables["library"])),
            "solutions": [expected_solution(s, path.stem) for s in tables["solutions"]],
        }
        for key, value in theirs.items():
            if ours[key] != value:
                print(f"{path}: {key}: {ours[key]!r:.500} is not {value!r:.500}")
                wrong += 1
        solutions += len(theirs["solutions"])
        references += len(theirs["libraries"])
        for name in theirs["libraries"]:
            if not (path.parent / (name + ".dat")).exists():
                print(f"{path}: there is no {name}.dat")
        for solution in ours["solutions"]:
            file = path.parent / (solution["code_object"] or "")
            if not file.is_file():
                continue
            if file not in objects:
                objects[file] = {
                    kernel["name"]
                    for thing in inspect(rawhal, file)["objects"]
                    for kernel in thing["kernels"]
                }
            if solution["kernel"] in objects[file]:
                found += 1
            else:
                print(f"{file}: no kernel {solution['kernel']}")
                wrong += 1
    print(f"{len(paths)} libraries, {solutions} solutions, {references} references, "
          f"{found} kernels found in {len(objects)} code objects, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
