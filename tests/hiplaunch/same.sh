#!/bin/sh
# Runs hip/PROGRAM by the runner and rawhal/PROGRAM as it is; both must end well and print the same.
# usage: same.sh RUNNER DIRECTORY PROGRAM [ARGUMENTS...]
set -u
runner=$1 directory=$2 program=$3
shift 3
"$runner" "$directory/hip/$program" "$@" >"$directory/hip/$program.out" || { echo "with HIP: exit code $?"; exit 1; }
RAWHAL_DEVICE=softgpu RAWHAL_LOG=error "$directory/rawhal/$program" "$@" >"$directory/rawhal/$program.out" ||
  { echo "with rawhal: exit code $?"; exit 1; }
[ -s "$directory/hip/$program.out" ] || { echo "nothing was printed"; exit 1; }
diff -u "$directory/hip/$program.out" "$directory/rawhal/$program.out"
