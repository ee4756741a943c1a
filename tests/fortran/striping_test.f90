! The striping of new files reaches the library as it was given, for arrays and for files; where the
! file system has none, it is refused by name.
module striping_test
  use, intrinsic :: iso_fortran_env, only: int64
  use checks
  implicit none
  private
  public :: test_striping

  integer(int64), parameter :: most_targets = 2_int64**20
  character(len=*), parameter :: all_four = &
                                 "stripe_count 2, stripe_bytes 65536, first_target 3, pool 'fast'"

contains

  subroutine test_striping()
    call test_arrays()
    call test_files()
  end subroutine

  subroutine test_arrays()
    type(weir_array) :: array
    type(weir_array_options) :: options
    integer :: status
    options%stripe_count = most_targets + 1
    call array%create(session, path('striped'), [4], 'int8', options, status)
    call check(status == weir_e_argument .and. told('stripe_count is 1048577'), 'a stripe count')
    options%stripe_count = 2
    options%first_target = most_targets + 1
    call array%create(session, path('striped'), [4], 'int8', options, status)
    call check(status == weir_e_argument .and. told('first_target is 1048577'), 'a first target')
    options%first_target = 3
    options%stripe_bytes = 65536
    options%pool = 'a pool'
    call array%create(session, path('striped'), [4], 'int8', options, status)
    call check(status == weir_e_argument .and. told("pool is 'a pool'"), 'a pool')
    options%pool = 'fast'
    call array%create(session, path('striped'), [4], 'int8', options, status)
    call check(status == weir_e_unsupported .and. told(all_four), 'an array without striping')
    deallocate (options%pool)
    options%first_target = most_targets
    call array%create(session, path('striped'), [4], 'int8', options, status)
    call check(status == weir_e_unsupported .and. told('first_target 1048576: '), 'the last target')
  end subroutine

  subroutine test_files()
    type(weir_file) :: file
    type(weir_array) :: array
    type(weir_file_options) :: options
    integer :: status
    options%format = 'cdf5'
    options%stripe_count = most_targets + 1
    call file%create(session, path('striped.nc'), options, status)
    call check(status == weir_e_argument .and. told('stripe_count is 1048577'), 'a stripe count')
    options%stripe_count = 2
    options%first_target = most_targets + 1
    call file%create(session, path('striped.nc'), options, status)
    call check(status == weir_e_argument .and. told('first_target is 1048577'), 'a first target')
    options%first_target = 3
    options%stripe_bytes = 65536
    options%pool = 'fast'
    call file%create(session, path('striped.nc'), options, status)
    call check(status == weir_ok, 'striping that there may be')
    call weir_file_define(file, 'a', [4], 'int8', array)
    call file%step_begin(status)
    call check(status == weir_e_unsupported .and. told(all_four), 'a file without striping')
    call file%close(status)
  end subroutine
end module
