! Each rank's own region of an array: together, begun and alone, with strides in the array and in
! memory, and what is refused.
module regions_test
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use checks
  implicit none
  private
  public :: test_regions

contains

  subroutine test_regions()
    call test_together()
    call test_alone()
    call test_refused()
  end subroutine

  ! The value of the array's element (i, j).
  pure function value_at(i, j) result(value)
    integer, intent(in) :: i, j
    real(real64) :: value
    value = 1000 * i + j
  end function

  subroutine test_together()
    real(real64), target :: mine(3, 4), whole(7, 4 * ranks), sparse(6, 8)
    real(real64), asynchronous :: begun(3, 4), back(7, 4 * ranks)
    type(weir_array) :: array
    type(weir_request) :: requests(2)
    integer :: i, j
    call array%create(session, path('regions'), [7, 4 * ranks], 'float64')
    ! Rows 1 to 3 as blocks of columns, from memory with gaps; rows 5 and 7 with strides.
    do j = 1, 4
      do i = 1, 3
        mine(i, j) = value_at(i, 4 * rank + j)
      end do
    end do
    sparse = -1
    sparse(2::2, ::2) = mine
    call weir_write_region(array, [1, 4 * rank + 1], sparse(2::2, ::2))
    do j = 1, 4
      do i = 1, 2
        mine(i, j) = value_at(3 + 2 * i, rank + 1 + (j - 1) * ranks)
      end do
    end do
    call weir_write_region(array, [5_int64, int(rank + 1, int64)], mine(:2, :), &
                           stride=[2_int64, int(ranks, int64)])
    whole = -1
    if (rank == 0) then
      call weir_read_region(array, [1, 1], whole)
      do j = 1, 4 * ranks
        call check(all(whole(:3, j) == [(value_at(i, j), i=1, 3)]), 'regions by blocks')
        call check(all(whole([5, 7], j) == [value_at(5, j), value_at(7, j)]), 'regions with strides')
      end do
      call check(all(whole([4, 6], :) == 0), 'rows that nobody wrote')
    else
      call weir_read_region(array, [integer ::], whole)
      call check(all(whole == -1), 'a rank that takes no part')
    end if
    begun = rank + 0.25d0
    call weir_write_region_begin(array, [1, 4 * rank + 1], begun, requests(1))
    call weir_read_region_begin(array, [1, 1], back, requests(2))
    call requests(2)%wait()
    call requests(1)%wait()
    do j = 1, 4 * ranks
      call check(all(back(:3, j) == (j - 1) / 4 + 0.25d0), 'regions that were begun')
    end do
    call array%close()
  end subroutine

  subroutine test_alone()
    integer(int32), target :: row(5, 1), all_rows(5, ranks)
    type(weir_array) :: array
    integer :: turn
    call array%create(session, path('alone'), [10, ranks], 'int32')
    do turn = 1, rank  ! as often as this rank likes
      row = turn
      call weir_write_region_independent(array, [2, rank + 1], row, stride=[2, 1])
    end do
    call weir_array_sync(array)
    call weir_read_region_independent(array, [2, 1], all_rows, stride=[2, 1])
    do turn = 1, ranks
      call check(all(all_rows(:, turn) == turn - 1), 'what one rank wrote alone')
    end do
    call array%close()
  end subroutine

  subroutine test_refused()
    real(real64), target :: mine(2, 2)
    type(weir_array) :: array
    integer :: status
    call array%create(session, path('refused_region'), [2, 2 * ranks], 'float64')
    mine = 1
    call weir_write_region(array, [1, 2 * rank + 2], mine, status=status)
    call check(status == weir_e_argument .and. told('ends outside'), 'a region beyond the array')
    call weir_write_region(array, [1], mine, status=status)
    call check(status == weir_e_argument .and. told('region.dimensions'), 'too few numbers')
    call weir_write_region(array, [1, 1], mine, stride=[1], status=status)
    call check(status == weir_e_argument .and. told('region.dimensions'), 'too few strides')
    if (ranks > 1) then
      call weir_write_region(array, [1, 1], mine, status=status)
      call check(status == weir_e_argument .and. told('elements in common'), 'overlapping regions')
    end if
    call weir_write_region_independent(array, [3, 1], mine, status=status)
    call check(status == weir_e_argument, 'alone beyond the array')
    call weir_write_region(array, [1, 2 * rank + 1], mine, status=status)
    call check(status == weir_ok, 'the last region that fits')
    call array%close()
  end subroutine
end module
