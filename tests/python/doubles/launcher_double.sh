#!/bin/sh
# Test double for process handling: takes -n RANKS and starts the program once, without MPI. Like a
# launcher it ends its program when it is asked to end, and reports one that a signal ended.
shift 2
"$@" &
program=$!
trap 'kill -TERM "$program"' INT TERM
wait "$program"
status=$?
# A trap ends the first wait, so the program's own end is waited for as well.
while kill -0 "$program" 2>/dev/null; do wait "$program"; status=$?; done
if [ "$status" -eq 137 ]; then
  echo "--------------------------------------------------------------------------" >&2
  echo "mpirun noticed that process rank 0 exited on signal 9 (Killed)." >&2
  echo "--------------------------------------------------------------------------" >&2
fi
exit "$status"
