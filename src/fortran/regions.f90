! A rank's own region of an array, named in the call without a distribution, as with PnetCDF's
! nfmpi_put_vara_all and HDF5's hyperslabs.
!
! The region has the shape of `data`, which has as many dimensions as the array: element (i, j) of
! `data` is the array's element lower + stride * (i - 1, j - 1). `lower` counts from 1; strides that
! are not given are 1. Sections of Fortran arrays (u(2:n-1, ::2)) are moved directly and never
! copied. weir_write_region and weir_read_region are collective. Regions may differ between ranks; a
! rank that takes no part passes `lower` without numbers, [integer ::]. All ranks refuse indices
! outside the array and, in a write, regions of two ranks that have an element in common.
module weir_regions
  use, intrinsic :: iso_c_binding, only: c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use weir_arrays, only: weir_array
  use weir_bindings, only: alone => fortran_alone, begun => fortran_begun, c_read_region, &
                           c_write_region, together => fortran_together, transfer_in_c
  use weir_constants, only: weir_max_dimensions
  use weir_memory, only: describe
  use weir_outcomes, only: settle
  use weir_requests, only: weir_request
  implicit none
  private
  public :: weir_write_region, weir_read_region, weir_write_region_begin, weir_read_region_begin
  public :: weir_write_region_independent, weir_read_region_independent

  ! Writes this rank's region. Collective.
  interface weir_write_region
    module procedure write_region, write_region_int32
  end interface

  ! Reads this rank's region. Collective.
  interface weir_read_region
    module procedure read_region, read_region_int32
  end interface

  ! Begin to write or read this rank's region. `data` has the attribute `target` or `asynchronous`,
  ! and must not change until the request has ended. Collective, without waiting.
  interface weir_write_region_begin
    module procedure write_region_begin, write_region_begin_int32
  end interface
  interface weir_read_region_begin
    module procedure read_region_begin, read_region_begin_int32
  end interface

  ! Write or read a region by this rank alone, at once. No other rank takes part, and only this rank
  ! fails. Encoded chunks and files with checksums cannot be written in this way. Local.
  interface weir_write_region_independent
    module procedure write_region_alone, write_region_alone_int32
  end interface
  interface weir_read_region_independent
    module procedure read_region_alone, read_region_alone_int32
  end interface

contains

  subroutine write_region(array, lower, data, stride, status)
    type(weir_array), intent(in) :: array
    integer(int64), intent(in) :: lower(:)
    type(*), dimension(..), intent(in), target :: data
    integer(int64), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    type(transfer_in_c) :: region
    type(c_ptr) :: no_request
    no_request = c_null_ptr
    call describe(data, region)
    call locate(array, lower, stride, region)
    call settle(c_write_region(together, region, no_request), status)
  end subroutine

  subroutine write_region_int32(array, lower, data, stride, status)
    type(weir_array), intent(in) :: array
    integer(int32), intent(in) :: lower(:)
    type(*), dimension(..), intent(in), target :: data
    integer(int32), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    integer(int64), allocatable :: strides(:)  ! not allocated: no strides are given
    if (present(stride)) strides = int(stride, int64)
    call write_region(array, int(lower, int64), data, strides, status)
  end subroutine

  subroutine write_region_begin(array, lower, data, request, stride, status)
    type(weir_array), intent(in) :: array
    integer(int64), intent(in) :: lower(:)
    type(*), dimension(..), target, asynchronous :: data
    type(weir_request), intent(out) :: request
    integer(int64), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    type(transfer_in_c) :: region
    call describe(data, region)
    call locate(array, lower, stride, region)
    call settle(c_write_region(begun, region, request%handle), status)
  end subroutine

  subroutine write_region_begin_int32(array, lower, data, request, stride, status)
    type(weir_array), intent(in) :: array
    integer(int32), intent(in) :: lower(:)
    type(*), dimension(..), target, asynchronous :: data
    type(weir_request), intent(out) :: request
    integer(int32), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    integer(int64), allocatable :: strides(:)  ! not allocated: no strides are given
    if (present(stride)) strides = int(stride, int64)
    call write_region_begin(array, int(lower, int64), data, request, strides, status)
  end subroutine

  subroutine write_region_alone(array, lower, data, stride, status)
    type(weir_array), intent(in) :: array
    integer(int64), intent(in) :: lower(:)
    type(*), dimension(..), intent(in), target :: data
    integer(int64), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    type(transfer_in_c) :: region
    type(c_ptr) :: no_request
    no_request = c_null_ptr
    call describe(data, region)
    call locate(array, lower, stride, region)
    call settle(c_write_region(alone, region, no_request), status)
  end subroutine

  subroutine write_region_alone_int32(array, lower, data, stride, status)
    type(weir_array), intent(in) :: array
    integer(int32), intent(in) :: lower(:)
    type(*), dimension(..), intent(in), target :: data
    integer(int32), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    integer(int64), allocatable :: strides(:)  ! not allocated: no strides are given
    if (present(stride)) strides = int(stride, int64)
    call write_region_alone(array, int(lower, int64), data, strides, status)
  end subroutine

  subroutine read_region(array, lower, data, stride, status)
    type(weir_array), intent(in) :: array
    integer(int64), intent(in) :: lower(:)
    type(*), dimension(..), intent(inout), target :: data
    integer(int64), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    type(transfer_in_c) :: region
    type(c_ptr) :: no_request
    no_request = c_null_ptr
    call describe(data, region)
    call locate(array, lower, stride, region)
    call settle(c_read_region(together, region, no_request), status)
  end subroutine

  subroutine read_region_int32(array, lower, data, stride, status)
    type(weir_array), intent(in) :: array
    integer(int32), intent(in) :: lower(:)
    type(*), dimension(..), intent(inout), target :: data
    integer(int32), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    integer(int64), allocatable :: strides(:)  ! not allocated: no strides are given
    if (present(stride)) strides = int(stride, int64)
    call read_region(array, int(lower, int64), data, strides, status)
  end subroutine

  subroutine read_region_begin(array, lower, data, request, stride, status)
    type(weir_array), intent(in) :: array
    integer(int64), intent(in) :: lower(:)
    type(*), dimension(..), target, asynchronous :: data
    type(weir_request), intent(out) :: request
    integer(int64), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    type(transfer_in_c) :: region
    call describe(data, region)
    call locate(array, lower, stride, region)
    call settle(c_read_region(begun, region, request%handle), status)
  end subroutine

  subroutine read_region_begin_int32(array, lower, data, request, stride, status)
    type(weir_array), intent(in) :: array
    integer(int32), intent(in) :: lower(:)
    type(*), dimension(..), target, asynchronous :: data
    type(weir_request), intent(out) :: request
    integer(int32), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    integer(int64), allocatable :: strides(:)  ! not allocated: no strides are given
    if (present(stride)) strides = int(stride, int64)
    call read_region_begin(array, int(lower, int64), data, request, strides, status)
  end subroutine

  subroutine read_region_alone(array, lower, data, stride, status)
    type(weir_array), intent(in) :: array
    integer(int64), intent(in) :: lower(:)
    type(*), dimension(..), intent(inout), target :: data
    integer(int64), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    type(transfer_in_c) :: region
    type(c_ptr) :: no_request
    no_request = c_null_ptr
    call describe(data, region)
    call locate(array, lower, stride, region)
    call settle(c_read_region(alone, region, no_request), status)
  end subroutine

  subroutine read_region_alone_int32(array, lower, data, stride, status)
    type(weir_array), intent(in) :: array
    integer(int32), intent(in) :: lower(:)
    type(*), dimension(..), intent(inout), target :: data
    integer(int32), intent(in), optional :: stride(:)
    integer, intent(out), optional :: status
    integer(int64), allocatable :: strides(:)  ! not allocated: no strides are given
    if (present(stride)) strides = int(stride, int64)
    call read_region_alone(array, int(lower, int64), data, strides, status)
  end subroutine

  ! Sets the beginning of the region, in C's order and counted from 0. If the lists have different
  ! sizes, the number of dimensions is -1, which is refused on all ranks alike.
  subroutine locate(array, lower, stride, region)
    type(weir_array), intent(in) :: array
    integer(int64), intent(in) :: lower(:)
    integer(int64), intent(in), optional :: stride(:)
    type(transfer_in_c), intent(inout) :: region
    integer :: n
    region%array = array%handle
    n = size(lower)
    region%section_dimensions = n
    if (n > weir_max_dimensions) region%section_dimensions = -1
    if (present(stride)) then
      if (size(stride) /= n) region%section_dimensions = -1
    end if
    if (region%section_dimensions < 1) return
    region%start(1:n) = lower(n:1:-1) - 1
    region%stride(1:n) = 1
    if (present(stride)) region%stride(1:n) = stride(n:1:-1)
  end subroutine
end module
