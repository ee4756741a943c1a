program steps
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use weir
  implicit none
  type(weir_session) :: session
  type(weir_distribution) :: cells
  type(weir_file) :: file
  type(weir_array) :: density
  real(real64), allocatable :: mine(:, :, :)
  integer(int64) :: n(3)
  integer :: number
  call mpi_init()
  call session%open(mpi_comm_world)
  call cells%create(session, [20, 30, 40], '*, BLOCK, BLOCK')
  n = cells%shape()
  allocate (mine(n(1), n(2), n(3)))
  call file%create(session, 'plot.zarr')
  call weir_file_define(file, 'density', [20, 30, 40], 'float64', density, &
                        weir_define_options(steps=.true.))
  call weir_file_attribute_text(file, 'density', 'units', 'kg m-3')
  do number = 1, 3
    mine = 0.5d0 + number
    call file%step_begin()
    call weir_write(density, cells, mine)
    call file%step_end()  ! durable and in the file, whole or not at all
  end do
  call file%close()
  call session%close()
  call mpi_finalize()
end program
