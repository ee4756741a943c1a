// The record that a process leaves for `weir run --mpi-io`: one text file (record_file.hpp) in the
// folder that the environment variable WEIR_MPIIO_FOLDER names. It is written when the process
// calls MPI_Finalize or MPI_Abort, or ends after it called a function of MPI-IO.
//
//   weir-mpiio 3
//   process PID RANK RANKS HOST TIME PROGRAM     rank and ranks are -1 if no launcher set them
//   file PATH                                    lines of its calls follow
//   further-files                                as `file`: all files beyond the first `most_files`
//   no-file                                      as `file`: calls with an unknown handle
//   call FUNCTION CALLS FAILED BYTES NS TAKEN STAGED WITHOUT
//                                                of CALLS, TAKEN were taken over, and of these the
//                                                bytes of STAGED went to a stager; WITHOUT is what
//                                                NS would have been without Weir, as estimated by
//                                                the path model (without.hpp); -1: not known
//   passed CALLS REASON                          calls that might have been taken over (reason.hpp)
//   end NS                                       time since the process began
#pragma once

namespace weir::mpiio {

// Writes the record, only once, and not in a forked child that has the counts of its parent.
void end_record();

}  // namespace weir::mpiio
