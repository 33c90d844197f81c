#!/bin/sh
# Runs a program as it is and behind the front with everything on: limits that it does not reach, a check, a trace, a
# recording with its buffers, a policy, and each kernel replaced by the one of that name in SAME_KERNELS, which is the
# program itself where that is not set, or a pattern for one file; where it is empty none is. Both must end the same way and say the same, but for
# addresses, times, the order of waves and what the runtime's assertions warn of. The front must have nothing else to say,
# the trace must be JSON and the recording be read, with dispatches unless SAME_NONE is set.
# usage: same.sh RUNNER FRONT RAWHAL PROGRAM [ARGUMENTS...]
# Exit status 77: the program skipped what it has to do.
set -u
runner=$1 front=$2 rawhal=$3 program=$4
[ -x "$program" ] || { echo "there is no $program"; exit 1; } # or nothing is the same as nothing
shift 3
kernels=${SAME_KERNELS-$program}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cat >"$work/policy" <<'POLICY'
{"version": 1, "rules": [
  {"limits": {"memory": "5G", "gpu-share": "95%"}},
  {"kernel": "__amd_rocclr_*", "substitute": ""},
  {"check": "report", "record": true, "trace": true}
]}
POLICY

"$runner" "$@" >"$work/bare" 2>"$work/bare.err"
echo "exit status $?" >>"$work/bare"
if grep -q '^\[  SKIPPED \]' "$work/bare"; then
  sed -n '/^[^ ]*: Skipped$/{n;s/^/skipped: /p;q}' "$work/bare"
  exit 77
fi
case $kernels in *\**) kernels=$(ls $kernels) || exit 1 ;; esac # a library that is unpacked after the build was made
HSA_TOOLS_LIB=$front HSA_TOOLS_REPORT_LOAD_FAILURE=1 RAWHAL_GPU_SHARE=90% RAWHAL_MEMORY_LIMIT=4G RAWHAL_CHECK=warn \
  RAWHAL_TRACE=$work/trace RAWHAL_RECORD=$work/recording RAWHAL_RECORD_BUFFERS=1 RAWHAL_POLICY=$work/policy \
  RAWHAL_SUBSTITUTE=${kernels:+*=$kernels} RAWHAL_FRONT_REPORT=$work/said "$runner" "$@" \
  >"$work/front" 2>"$work/front.err"
echo "exit status $?" >>"$work/front"
for stream in bare front bare.err front.err; do
  sed -e '/^Warning: .*Use of non-host signal/d' -e 's/0x[0-9a-f]*/ADDRESS/g' -e 's/([0-9]* ms\( total\)*)/TIME/' \
    -e 's/work-group ([0-9, ]*), wave [0-9]*/WAVE/' \
    -e 's/: [0-9]* us: [0-9]* *: /: TIME: /' -e 's/: [0-9]* us: \[pid:[0-9]* *tid:ADDRESS\] /: TIME: /' "$work/$stream" | sort >"$work/$stream.plain"
done
diff -u "$work/bare.plain" "$work/front.plain" && diff -u "$work/bare.err.plain" "$work/front.err.plain" || exit 1

# What the front says at the end, that it saw all of it, and what a replay may lack, and nothing else.
[ -e "$work/said" ] || : >"$work/said"
if grep -v -e "^rawhal: substitute: \*: [1-9][0-9]* dispatches replaced, 0 not replaced$" \
  -e '^rawhal: check: checked [0-9]*, unknown 0, mistaken 0$' -e '^rawhal: record: .* (.*, first in dispatch [0-9]*)$' \
  -e '^rawhal: record: recorded \([0-9]*\) of \1\(; the replay of [0-9]* may be incomplete .*\)*$' "$work/said"; then
  exit 1
fi
[ -z "${SAME_NONE:-}" ] || exit 0
listed=$("$rawhal" replay --list "$work/recording") || { echo "$listed"; exit 1; }
echo "$listed" | grep -q '^[0-9]*: ' || { echo "nothing was recorded: $listed"; exit 1; }
! command -v python3 >/dev/null || python3 -c 'import json, sys
text, ended_well = open(sys.argv[1]).read(), sys.argv[2:] == ["exit status 0"]
events = json.loads(text if text.endswith("]\n") else text.rstrip().rstrip(",") + "]")
traced = any(event.get("cat") == "dispatch" for event in events) # only what has ended is
sys.exit(ended_well and not traced and "no dispatch was traced")' "$work/trace" "$(tail -n 1 "$work/bare")"
