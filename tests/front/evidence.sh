#!/bin/sh
# What the front holds programs to that never heard of limits, at length: ten minutes. A share over ten seconds, two of
# them in one region, what programs try, and 10,000 of them killed while they allocate. Only with
# RAWHAL_TEST_EXTENDED=all. usage: evidence.sh BUILD
# Exit status 77: it was not asked for.
set -eu
[ "${RAWHAL_TEST_EXTENDED:-}" = all ] || { echo "skipped: ten minutes, only with RAWHAL_TEST_EXTENDED=all"; exit 77; }
build=$1 here=$(dirname "$0")
for percent in 10 30 60; do
  sh "$here/share.sh" "$build/softgpu/softgpu-run" "$build/tools/rawhal" "$build/tests/front/share" "$percent" \
    $((percent - 1)) $((percent + 1)) 10000
done
"$build/tests/front/test_front_charge"
"$build/tests/front/test_front_kill"
