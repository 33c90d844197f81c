#!/bin/sh
# Launches from 1, 4 and 8 streams, 20,000 a run, with a share, a check and a trace: no run aborts, each says that every
# kernel ran once and in its stream's order, the check says nothing, and the trace has them all. One round, 3 with
# RAWHAL_TEST_EXTENDED, 100 with RAWHAL_TEST_EXTENDED=all or as many as are asked for. usage: launches.sh RUNNER RAWHAL
# PROGRAM [ROUNDS]
set -u
runner=$1 rawhal=$2 program=$3 launches=20000
case ${RAWHAL_TEST_EXTENDED:-} in
  '' | once) rounds=1 ;;
  all) rounds=100 ;;
  *) rounds=3 ;;
esac
rounds=${4:-$rounds}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
round=0
while [ $round -lt "$rounds" ]; do
  round=$((round + 1))
  for streams in 1 4 8; do
    rm -f "$work/trace"
    "$runner" "$rawhal" exec --gpu-share 100% --check --trace "$work/trace" -- "$program" $streams \
      $((launches / streams)) >"$work/out" 2>"$work/said"
    status=$?
    traced=$(grep -c '"_Z4stepPjj"' "$work/trace")
    # The runtime has words of its own.
    grep '^rawhal' "$work/said" | grep -v "^rawhal: check: checked $launches, unknown 0, mistaken 0$" >"$work/front"
    if [ $status -ne 0 ] || [ "$(cat "$work/out")" != ok ] || [ -s "$work/front" ] || [ "$traced" -ne $launches ]; then
      echo "round $round, $streams streams: status $status, $traced of $launches traced"
      cat "$work/out" "$work/said"
      exit 1
    fi
  done
done
echo "$rounds rounds of $launches launches from 1, 4 and 8 streams"
