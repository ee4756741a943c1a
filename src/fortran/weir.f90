! Weir's Fortran interface: collective reading and writing of distributed arrays.
!
!   type(weir_session)       the ranks of a communicator that do I/O together
!   type(weir_array)         a global array in files: path, shape, element type, layout on disk
!   type(weir_distribution)  which elements each rank holds in memory
!   type(weir_file)          several arrays, attributes and steps in a file of a standard format
!   type(weir_request)       one write or read of one array or several, whole or a section
!
! weir.h says what each call does, which calls are collective, which arguments must be alike on all
! ranks, and what every rank gets when a call fails; names and rules are the same here. The shortest
! useful program is examples/04_write_and_read.f90.
!
! STATUS. Every call that can fail has an optional last argument `status`. If it is present, it
! becomes 0 or one of the negative codes weir_e_*, and weir_last_error() returns the line that says
! why. If it is absent, a failure prints that line and stops the program with an error.
!
! ORDER. Dimensions, indices and extents are Fortran's: the first dimension runs fastest, in memory
! and in files, and indices count from 1. C, C++, Python and the tools of file formats see the same
! elements with the dimensions reversed, as with the Fortran interfaces of HDF5 and NetCDF:
! real(real64) :: t(400, 300) has shape (300, 400) there. Error messages use C's dimensions: for an
! array of n dimensions, [d] is Fortran's dimension n - d.
!
! TYPES. Memory may have any type and rank, and need not be contiguous. The interface has one
! procedure for all of them (assumed type, assumed rank: TS 29113 to Fortran 2008, part of Fortran
! 2018), and the library checks that the memory fits the array.
!
! NAMES. Calls are type-bound unless the rank's memory is an argument: session%open(...) is the same
! as call weir_session_open(...).
module weir
  use weir_arrays
  use weir_attributes
  use weir_constants
  use weir_distributions
  use weir_files
  use weir_outcomes, only: weir_last_error, weir_version
  use weir_regions
  use weir_requests
  use weir_sessions
  implicit none
  public
end module
