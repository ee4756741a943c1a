! usage: fortran_test FOLDER [stop]
program fortran_test
  use checks
  use distributions_test, only: test_distributions
  use errors_test, only: stop_without_status, test_errors
  use files_test, only: test_files
  use memory_test, only: test_memory
  use regions_test, only: test_regions
  use requests_test, only: test_requests
  use striping_test, only: test_striping
  use with_c_test, only: test_with_c
  implicit none
  character(len=4096) :: argument
  type(weir_session_options) :: options
  integer :: total, status

  call mpi_init()
  call mpi_comm_rank(mpi_comm_world, rank)
  call mpi_comm_size(mpi_comm_world, ranks)
  call get_command_argument(1, argument)
  folder = trim(argument)
  options%deadline_seconds = 60
  options%strategy = 'automatic'
  call session%open(mpi_comm_world, options)
  if (command_argument_count() == 2) call stop_without_status()

  call test_distributions()
  call test_memory()
  call test_regions()
  call test_requests()
  call test_errors()
  call test_with_c()
  call test_files()
  call test_striping()

  call session%close(status)
  call check(status == weir_ok, 'the session closes')
  call mpi_allreduce(failures, total, 1, mpi_integer, mpi_sum, mpi_comm_world)
  call mpi_finalize()
  if (total > 0) error stop 'there were failures'
end program
