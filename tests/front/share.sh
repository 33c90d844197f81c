#!/bin/sh
# A loop of kernels that never heard of limits, at a share: what they had by the device's own clock. The machine may give
# less, and a burst more. usage: share.sh RUNNER RAWHAL PROGRAM PERCENT LEAST MOST
# [MILLISECONDS]
set -eu
said=$("$1" "$2" exec --gpu-share "$4%" -- "$3" "${7:-2000}" 1300)
echo "$said"
echo "$said" | awk -v least="$5" -v most="$6" '{ exit !($1 >= least && $1 <= most) }'
