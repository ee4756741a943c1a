module distributions_test
  use checks
  implicit none
  private
  public :: test_distributions

contains

  subroutine test_distributions()
    call test_formats_follow_fortran_order()
    call test_grid_order()
    call test_boxes()
    call test_indices_cover_the_array()
  end subroutine

  subroutine test_formats_follow_fortran_order()
    type(weir_distribution) :: columns
    integer(int64), allocatable :: extents(:)
    call weir_distribution_create(session, [5, 8 * ranks], '*, CYCLIC(4,from=0)', columns)
    extents = columns%shape()
    call check(all(extents == [5, 8]), 'the second dimension is distributed')
    call check(columns%elements() == 40, 'the elements of a part')
    call check(columns%pieces() == 1, 'one piece by formats')
    extents = columns%global_index([3, 5])
    call check(all(extents == [3, 4 * ranks + 4 * rank + 1]), 'the second block of the second round')
    call columns%free()
  end subroutine

  subroutine test_grid_order()
    type(weir_distribution) :: blocks
    type(weir_distribution_options) :: options
    integer(int64), allocatable :: first(:)
    if (ranks /= 4) return
    options%grid = [2, 2]
    call blocks%create(session, [4_int64, 6_int64], 'BLOCK, BLOCK', options)
    first = blocks%global_index([1, 1])
    call check(all(first == [1 + 2 * mod(rank, 2), 1 + 3 * (rank / 2)]), 'first dimension fastest')
    options%grid_order = weir_row_major
    call blocks%create(session, [4, 6], 'BLOCK, BLOCK', options)
    first = blocks%global_index([1, 1])
    call check(all(first == [1 + 2 * (rank / 2), 1 + 3 * mod(rank, 2)]), 'last dimension fastest')
  end subroutine

  subroutine test_boxes()
    type(weir_distribution) :: boxes
    integer(int64), allocatable :: found(:)
    integer :: nothing(2, 0)
    if (rank == 0) then
      call weir_distribution_from_boxes(session, [10, 7], reshape([2, 3, 6, 1], [2, 2]), &
                                        reshape([3, 4, 1, 7], [2, 2]), boxes)
      call check(boxes%pieces() == 2, 'two boxes')
      found = boxes%shape(2)
      call check(all(found == [1, 7]), 'the second box')
      found = boxes%global_index([3, 4])
      call check(all(found == [4, 6]), 'the last element of the first box')
      found = boxes%global_index([1_int64, 2_int64], 2)
      call check(all(found == [6, 2]), 'an element of the second box')
    else
      call weir_distribution_from_boxes(session, [10, 7], nothing, nothing, boxes)
      call check(boxes%pieces() == 0, 'no box')
      call check(boxes%elements() == 0, 'no elements')
    end if
  end subroutine

  ! Every element of the array is somebody's, once.
  subroutine test_indices_cover_the_array()
    type(weir_distribution) :: distributed
    integer(int64), allocatable :: extents(:), at(:)
    integer, allocatable :: owners(:, :, :), all_owners(:, :, :)
    integer(int64) :: i, j, k
    allocate (owners(7, 5, 6), all_owners(7, 5, 6))
    owners = 0
    call distributed%create(session, [7, 5, 6], 'CYCLIC(2), *, BLOCK')
    extents = distributed%shape()
    do k = 1, extents(3)
      do j = 1, extents(2)
        do i = 1, extents(1)
          at = distributed%global_index([i, j, k])
          owners(at(1), at(2), at(3)) = owners(at(1), at(2), at(3)) + 1
        end do
      end do
    end do
    call mpi_allreduce(owners, all_owners, size(owners), mpi_integer, mpi_sum, mpi_comm_world)
    call check(all(all_owners == 1), 'each element has one owner')
  end subroutine
end module
