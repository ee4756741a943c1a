program write_and_read
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use weir
  implicit none
  type(weir_session) :: session
  type(weir_distribution) :: columns, rows
  type(weir_array) :: array
  real(real64), allocatable :: mine(:, :), theirs(:, :)
  integer(int64) :: n(2), m(2), i
  call mpi_init()
  call session%open(mpi_comm_world)
  call columns%create(session, [300, 400], '*, BLOCK')
  call rows%create(session, [300, 400], 'CYCLIC(10), *')
  call array%create(session, 'temperature', [300, 400], 'float64')
  n = columns%shape()
  m = rows%shape()
  mine = reshape([(real(i, real64), i=0, product(n) - 1)], n)
  allocate (theirs(m(1), m(2)))
  call weir_write(array, columns, mine)
  call weir_read(array, rows, theirs)
  call session%close()
  call mpi_finalize()
end program
