#!/usr/bin/env python3
"""The crate rawhal-sys, made, built and used as whoever packages and uses it would: its example
runs a kernel on softgpu, and its structures and constants are the compiler's.

usage: rust.py INTERFACE.json LIBDIR INCLUDE CC SOURCE"""
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import interface as by_compiler

PROGRAM = """use rawhal_sys::*;
macro_rules! place {
    ($outer:ty, $member:ident) => {{
        let whole = std::mem::MaybeUninit::<$outer>::uninit();
        let member = unsafe { std::ptr::addr_of!((*whole.as_ptr()).$member) };
        [member as u64 - whole.as_ptr() as u64, size_at(member)]
    }};
}
fn size_at<T>(_: *const T) -> u64 {
    std::mem::size_of::<T>() as u64
}
fn main() {
    let numbers: Vec<u64> = [NUMBERS].concat();
    numbers.iter().for_each(|number| println!("{number}"));
    assert_eq!(rawhal_dispatch_t::default().work_items, [0; 3]);
    assert_eq!(rawhal_fault_t::default().size, std::mem::size_of::<rawhal_fault_t>());
}
"""


def expressions(interface):
    """In the order of rows() in interface.py, which has two for each member."""
    for kind in ("structures", "enums", "aliases"):
        for one in interface[kind]:
            yield f"vec![std::mem::size_of::<{one['name']}>() as u64]"
    for one in interface["structures"]:
        for member in one["members"]:
            yield f"place!({one['name']}, {CRATE.name_of(member)}).to_vec()"
    values = ([value for one in interface["enums"] for value in one["enumerators"]]
              + interface["constants"])
    yield f"vec![{', '.join(value['name'] + ' as u64' for value in values)}]"


def run(command, environment):
    found = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8")
    if found.returncode:
        sys.exit(f"{' '.join(command)}\nended with {found.returncode}\n"
                 f"{found.stdout}{found.stderr}")
    return found.stdout


def main(path, libdir, include, compiler, source):
    tools = ("cargo", "rustc", "pkg-config")
    if any(not shutil.which(tool)
           or subprocess.run([tool, "--version"], capture_output=True).returncode
           for tool in tools):
        print("skipped: cargo is not installed")
        return
    with open(path, encoding="ascii") as file:
        interface = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        wanted = by_compiler.compiled(interface, importlib.import_module("ctype").spell, include,
                                      compiler, folder)
        crate, target = os.path.join(folder, "rawhal-sys"), os.path.join(folder, "target")
        CRATE.main(path, crate)
        with open(os.path.join(crate, "examples/numbers.rs"), "w", encoding="ascii") as file:
            file.write(PROGRAM.replace("NUMBERS", ",\n".join(expressions(interface))))
        with open(os.path.join(folder, "rawhal.pc"), "w", encoding="ascii") as file:
            file.write("Name: rawhal\nDescription: the build tree's\n"
                       f"Version: {interface['version']}\nLibs: -L{libdir} -lrawhal\n")
        environment = {**os.environ, "PKG_CONFIG_PATH": folder, "CARGO_TARGET_DIR": target,
                       "RAWHAL_DEVICE": "softgpu", "LD_LIBRARY_PATH": libdir}
        run(["cargo", "build", "--quiet", "--offline", "--examples", "--manifest-path",
             f"{crate}/Cargo.toml"], environment)
        got = run([f"{target}/debug/examples/numbers"], environment).split()
        found = list(by_compiler.differences("rustc", wanted,
                                             dict(zip(wanted, map(int, got), strict=True))))
        said = run([f"{target}/debug/examples/vector_add",
                    f"{source}/tests/fixtures/vector_add-gfx90a-v5.co"], environment)
    if not said.startswith("65536 of 65536 sums are right, on softgpu"):
        found.append(f"the example says: {said}")
    print("\n".join(found + [f"{said.strip()}; {len(wanted)} numbers: {len(found)} findings"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    sys.path[:0] = [os.path.join(sys.argv[5], "bindings"),
                    os.path.join(sys.argv[5], "bindings/rust")]
    CRATE = importlib.import_module("crate")
    main(*sys.argv[1:])
