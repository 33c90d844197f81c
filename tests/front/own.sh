#!/bin/sh
# rawhal's own tests behind the front, with a share, a quota that they do not reach, a check and a trace, pass as they do
# without it. Some ask for just what the front changes: docs/front.md says which, and why. Only with RAWHAL_TEST_EXTENDED.
# usage: own.sh FRONT TEST [ARGUMENTS...]
# Exit status 77: it was not asked for.
set -u
[ -n "${RAWHAL_TEST_EXTENDED:-}" ] || { echo "skipped: only with RAWHAL_TEST_EXTENDED"; exit 77; }
front=$1
shift
unset RAWHAL_TEST_EXTENDED # each test once, not for hours
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export HSA_TOOLS_LIB="$front" HSA_TOOLS_REPORT_LOAD_FAILURE=1 RAWHAL_GPU_SHARE=100% RAWHAL_MEMORY_LIMIT=64G \
  RAWHAL_CHECK=report RAWHAL_TRACE="$work/trace" RAWHAL_FRONT_REPORT="$work/said" # what they print is theirs
"$@"
status=$?
[ -s "$work/trace" ] || { echo "the front was not there"; exit 1; }
exit $status
