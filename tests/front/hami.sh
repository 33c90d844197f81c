#!/bin/sh
# What HAMi sets for a container holds programs behind the front: memory, a share, and the file that processes share.
# usage: hami.sh RUNNER RAWHAL FOLDER    FOLDER holds the test programs
set -eu
runner=$1 rawhal=$2 folder=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CUDA_DEVICE_MEMORY_SHARED_CACHE="$work/cudevshr.cache"
said=$(CUDA_DEVICE_MEMORY_LIMIT=64m "$runner" "$rawhal" exec -- "$folder/quota")
[ "$said" = ok ] || { echo "memory: $said"; exit 1; }
[ -e "$work/cudevshr.cache.rawhal" ] || { echo "there is no region:"; ls "$work"; exit 1; }
said=$(CUDA_DEVICE_SM_LIMIT=30 "$runner" "$rawhal" exec -- "$folder/share" 2000 1300)
echo "$said"
echo "$said" | awk '{ exit !($1 > 0 && $1 <= 34) }'
