#!/bin/sh
# What the front holds programs to that never heard of limits, at length: ten minutes. A share over ten seconds, two of
# them in one region, what programs try, and 10,000 of them killed while they allocate. usage: evidence.sh BUILD
set -eu
build=$1 here=$(dirname "$0")
export RAWHAL_TEST_EXTENDED=1
for percent in 10 30 60; do
  sh "$here/share.sh" "$build/softgpu/softgpu-run" "$build/tools/rawhal" "$build/tests/front/share" "$percent" \
    $((percent - 1)) $((percent + 1)) 10000
done
"$build/tests/front/test_front_charge"
"$build/tests/front/test_front_kill"
