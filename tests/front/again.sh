#!/bin/sh
# again.sh RUNNER RAWHAL PROGRAM: what a program that was never changed does wrong goes wrong once more, of its core file.
set -eu
runner=$1 rawhal=$2 program=$3
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
for mistake in past_the_end in_memory grid; do
  core=$folder/$mistake
  RAWHAL_CORE="|/bin/dd status=none of=$core" RAWHAL_CORE_CONTENTS=all "$runner" "$rawhal" exec -- "$program" "$mistake" \
    >"$folder/said" 2>&1 && exit 1
  "$rawhal" replay "$core" --device softgpu >"$folder/answer" || { cat "$folder/said" "$folder/answer"; exit 1; }
  grep -q '^same  ' "$folder/answer"
done
