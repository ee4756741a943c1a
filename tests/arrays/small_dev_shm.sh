#!/usr/bin/env bash
# Runs a program on four ranks where /dev/shm has room for 256 KiB only, as in a container. The own
# memory of Open MPI, and of UCX below MPICH, lies elsewhere. The exit status is 77, with a reason, if
# /dev/shm cannot be replaced.
#
# usage: small_dev_shm.sh FOLDER MPIEXEC [FLAG...] PROGRAM [ARGUMENT...]
set -euo pipefail
folder=$1
shift

if ! reason=$(unshare --mount mount -t tmpfs -o size=256k none /dev/shm 2>&1); then
  echo "skipped: /dev/shm cannot be replaced here: ${reason}"
  exit 77
fi
export OMPI_MCA_btl_vader_backing_directory=$folder UCX_POSIX_DIR=$folder
# shellcheck disable=SC2016 # the inner shell expands it
exec unshare --mount sh -c 'mount -t tmpfs -o size=256k none /dev/shm && exec "$@"' sh "$@"
