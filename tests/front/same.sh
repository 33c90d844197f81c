#!/bin/sh
# Runs a program as it is and behind the front, under limits that it does not reach, checked and traced; both must end the
# same way and say the same, but for addresses and the order of waves, and the trace must be JSON.
# usage: same.sh RUNNER FRONT PROGRAM [ARGUMENTS...]
set -u
runner=$1 front=$2 program=$3
[ -x "$program" ] || { echo "there is no $program"; exit 1; } # or nothing is the same as nothing
shift 2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$runner" "$@" >"$work/bare" 2>"$work/bare.err"
echo "exit status $?" >>"$work/bare"
HSA_TOOLS_LIB=$front HSA_TOOLS_REPORT_LOAD_FAILURE=1 RAWHAL_GPU_SHARE=90% RAWHAL_MEMORY_LIMIT=4G \
  RAWHAL_CHECK=report RAWHAL_TRACE=$work/trace "$runner" "$@" \
  >"$work/front" 2>"$work/front.err"
echo "exit status $?" >>"$work/front"
for stream in bare front bare.err front.err; do
  sed -e 's/0x[0-9a-f]*/ADDRESS/g' \
    -e 's/work-group ([0-9, ]*), wave [0-9]*/WAVE/' \
    -e 's/: [0-9]* us: [0-9]* *: /: TIME: /' "$work/$stream" | sort >"$work/$stream.plain"
done
diff -u "$work/bare.plain" "$work/front.plain" && diff -u "$work/bare.err.plain" "$work/front.err.plain" &&
  { ! command -v python3 >/dev/null || python3 -c 'import json, sys
text = open(sys.argv[1]).read()
json.loads(text if text.endswith("]\n") else text.rstrip().rstrip(",") + "]")' "$work/trace"; }
