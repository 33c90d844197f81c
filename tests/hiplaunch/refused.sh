#!/bin/sh
# A program that uses what is not served does not link, and the linker names it.
# usage: refused.sh OUTPUT SYMBOL LINK...
set -u
output=$1 symbol=$2
shift 2
rm -f "$output"
said=$("$@" -o "$output" 2>&1) && { echo "it links"; exit 1; }
[ ! -e "$output" ] && printf '%s\n' "$said" | grep "undefined reference to .$symbol'"
