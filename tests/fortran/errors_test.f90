! Mistakes are statuses, the same on every rank, and lines; and the session goes on.
module errors_test
  use, intrinsic :: iso_c_binding, only: c_double, c_int32_t
  use, intrinsic :: iso_fortran_env, only: int32, real32, real64
  use checks
  implicit none
  private
  public :: test_errors, stop_without_status

contains

  subroutine test_errors()
    type(weir_array) :: array, closed
    type(weir_distribution) :: mine, none
    real(real64) :: right(3, 4), wrong(4, 3), flat(12), back(3, 4)
    real(real32) :: narrow(3, 4)
    logical :: truth(3, 4)
    class(*), allocatable :: anything(:, :)
    type(weir_distribution_options) :: grid
    type(weir_array_options) :: options
    integer :: status
    call array%create(session, path('errors'), [3, 4 * ranks], 'float64')
    call mine%create(session, [3, 4 * ranks], '*, BLOCK')
    right = rank
    wrong = 0
    flat = 0
    narrow = 0
    truth = .true.

    call weir_write(array, mine, wrong, status=status)
    call check(status == weir_e_argument .and. told('data_shape[0] is 3'), 'extents turned round')
    if (rank == ranks - 1) then
      call weir_write(array, mine, right(:2, :), status=status)
    else
      call weir_write(array, mine, right, status=status)
    end if
    call check(status == weir_e_argument .and. told('data_shape[1] is 2'), 'one rank''s mistake')
    call weir_write(array, mine, flat, status=status)
    call check(status == weir_e_argument .and. told('dimensions is 1'), 'another rank')
    call weir_write(array, mine, narrow, status=status)
    call check(status == weir_e_argument .and. told('float32'), 'another type')
    call weir_write(array, mine, truth, status=status)
    call check(status == weir_e_argument .and. told('logical(c_bool)'), 'a logical of four bytes')
    allocate (anything(3, 4), source=right)
    call weir_write(array, mine, anything, status=status)
    call check(status == weir_e_argument, 'a polymorphic array')
    call weir_write(array, mine, right, section=weir_section([1, 0], [1, 1]), status=status)
    call check(status == weir_e_argument .and. told('section'), 'a section from index 0')
    call weir_write(array, mine, right, section=weir_section([1], [1]), status=status)
    call check(status == weir_e_argument .and. told('dimensions'), 'a section of one dimension')
    call weir_write(array, mine, right, section=weir_section([1, 1], [1]), status=status)
    call check(status == weir_e_argument .and. told('dimensions'), 'a section of two minds')
    call weir_write(array, mine, right, ghosts=weir_ghosts([1, 0], [0, 0]), status=status)
    call check(status == weir_e_argument .and. told('ghost cells included'), 'ghosts that are not')
    call weir_write(closed, mine, right, status=status)
    call check(status == weir_e_argument, 'no array')
    call weir_write(array, none, right, status=status)
    call check(status == weir_e_argument, 'no distribution')

    call none%create(session, [3, 4], 'BLOCK, DIAGONAL', status=status)
    call check(status == weir_e_argument .and. told('DIAGONAL'), 'a format that there is not')
    grid%grid = [ranks]
    call none%create(session, [3, 4], 'BLOCK, *', grid, status)
    call check(status == weir_e_argument, 'a grid of one dimension')
    options%chunks = [3]
    call closed%create(session, path('none'), [3, 4], 'float64', options, status)
    call check(status == weir_e_argument, 'chunks of one dimension')
    call closed%open(session, path('missing'), status=status)
    call check(status == weir_e_io .and. told('missing'), 'no file')
    if (rank == 0 .and. ranks > 1) then
      call array%sync(status)
      call check(status == weir_e_mismatch, 'different calls')
    else if (ranks > 1) then
      call weir_write(array, mine, right, status=status)
      call check(status == weir_e_mismatch .and. told('ranks differ'), 'different calls')
    end if
    call weir_session_close(no_session(), status)
    call check(status == weir_e_argument, 'no session')

    call weir_write(array, mine, right, status=status)
    call check(status == weir_ok, 'the session goes on')
    call weir_read(array, mine, back)
    call check(all(back == right), 'and what is written is read')
    call check(len(weir_version()) >= 5, 'the version')
  end subroutine

  function no_session() result(empty)
    type(weir_session), pointer :: empty
    allocate (empty)
  end function

  ! What main.f90 runs alone: it does not come back.
  subroutine stop_without_status()
    type(weir_array) :: array
    type(weir_distribution) :: mine
    integer(int32) :: data(3)
    data = rank
    call array%create(session, path('stop'), [3 * ranks], 'float64')
    call mine%create(session, [3 * ranks], 'BLOCK')
    call weir_write(array, mine, data)
  end subroutine
end module
