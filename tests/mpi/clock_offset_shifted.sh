#!/usr/bin/env bash
# One rank of three runs with its monotonic clock 3 s ahead, in a time namespace of its own, as if it
# were on a host that was started earlier. Exit status 77 with a reason where that cannot be had.
#
# usage: clock_offset_shifted.sh PROGRAM MPIEXEC [FLAG...]
set -euo pipefail
shifted=(unshare --time --monotonic 3 --fork --kill-child)

# The launcher starts this script once for each rank: Open MPI 5.0's ends with a segmentation fault
# when ranks of one job are started by several commands.
if [[ $1 == --rank-of ]]; then
  [[ ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}} == 1 ]] || exec "$2"
  export WEIR_TEST_CLOCK_AHEAD=3
  exec "${shifted[@]}" "$2"
fi

program=$1
mpiexec=$2
shift 2
if ! reason=$("${shifted[@]}" true 2>&1); then
  echo "skipped: no shifted clock here: ${reason}"
  exit 77
fi
exec "$mpiexec" -n 3 "$@" "$0" --rank-of "$program"
