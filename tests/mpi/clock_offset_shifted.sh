#!/usr/bin/env bash
# One rank of three runs with its monotonic clock 3 s ahead, in a time namespace of its own, as if it
# were on a host that was started earlier. Exit status 77 with a reason where that cannot be had.
#
# usage: clock_offset_shifted.sh PROGRAM MPIEXEC [FLAG...]
set -euo pipefail
program=$1
mpiexec=$2
shift 2

shifted=(unshare --time --monotonic 3 --fork --kill-child)
if ! reason=$("${shifted[@]}" true 2>&1); then
  echo "skipped: no shifted clock here: ${reason}"
  exit 77
fi
exec "$mpiexec" "$@" \
  -n 1 "$program" --shifted 1 3 : \
  -n 1 "${shifted[@]}" "$program" --shifted 1 3 : \
  -n 1 "$program" --shifted 1 3
