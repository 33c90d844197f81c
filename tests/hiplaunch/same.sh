#!/bin/sh
# Runs hip/PROGRAM by the runner, and rawhal/PROGRAM and, where there is one, door/PROGRAM as they are; all must end well
# and print the same, that is, what HIP 5.2 says. Where a later HIP says something else, differences/PROGRAM-VERSION.txt
# has exactly that, as diff says it.
# usage: same.sh RUNNER DIRECTORY PROGRAM [ARGUMENTS...], with HIP_VERSION in the environment (5.2 if not)
set -u
runner=$1 directory=$2 program=$3
shift 3
work=$(mktemp -d) || exit 1 # of this run alone: behind a front it runs once more, maybe at the same time
trap 'rm -rf "$work"' EXIT
"$runner" "$directory/hip/$program" "$@" >"$work/hip" || { echo "with HIP: exit code $?"; exit 1; }
[ -s "$work/hip" ] || { echo "nothing was printed"; exit 1; }
known=$(dirname "$0")/differences/$program-${HIP_VERSION:-5.2}.txt
[ -f "$known" ] || known=/dev/null
for ours in rawhal door; do
  [ $ours = rawhal ] || [ -x "$directory/$ours/$program" ] || continue
  RAWHAL_DEVICE=softgpu RAWHAL_LOG=error "$directory/$ours/$program" "$@" >"$work/$ours" ||
    { echo "with $ours: exit code $?"; exit 1; }
  diff "$work/hip" "$work/$ours" | diff -u "$known" - || exit 1
done
