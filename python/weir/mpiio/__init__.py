"""What programs request of MPI-IO, as `weir run --mpi-io` tells it."""
