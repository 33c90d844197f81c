#!/bin/sh
# A kernel of which nothing tells what it takes is recorded without kernargs and buffers, and runs as it does by itself:
# into a fault, as its pointer is NULL. usage: record_unsized.sh RUNNER RAWHAL FILE
set -u
runner=$1 rawhal=$2 file=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
head -c 12 /dev/zero >"$work/blob"
"$runner" "$rawhal" record -o "$work/recording" --buffers -- "$rawhal" run "$file" --kernel bare_unsized --grid 1 --block 1 \
  --kernarg-size 12 "blob:$work/blob" 2>"$work/said"
status=$?
grep -q '^rawhal run: FAULT: kernel bare_unsized failed' "$work/said" || { cat "$work/said"; exit 1; }
[ $status -eq 3 ] || { echo "status $status"; exit 1; }
"$rawhal" replay --list "$work/recording" | grep '^1: bare_unsized: .*, 0 bytes of kernargs'
