! Requests: collective writing and reading of arrays, whole or sections.
!
! `data` is this rank's whole part of the array, of any type and rank. It is used in place: sections
! of Fortran arrays (u(2:n-1, ::2)) are never copied. Before anything moves, all ranks compare its
! extents and its type with those of the part. On a rank with several boxes, `data` is contiguous
! and holds one box after the other; on a rank without elements it may have any size. Elements
! outside the section are neither written nor changed.
module weir_requests
  use, intrinsic :: iso_c_binding, only: c_associated, c_int32_t, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int64
  use weir_arrays, only: weir_array
  use weir_bindings, only: c_read_begin, c_read_many, c_request_detach, c_session_explain, c_test, &
                           c_wait, c_write_begin, c_write_many, transfer_in_c
  use weir_constants, only: weir_max_dimensions, weir_ok
  use weir_distributions, only: weir_distribution
  use weir_memory, only: describe
  use weir_outcomes, only: settle, text_at
  use weir_sessions, only: weir_session
  implicit none
  private
  public :: weir_write, weir_read, weir_write_many, weir_read_many, weir_write_begin
  public :: weir_read_begin, weir_wait, weir_test, weir_request_detach, weir_session_explain

  ! The elements start(d) + k * stride(d), 0 <= k < count(d), along each dimension d of the array,
  ! counted from 1. Strides that are not given are 1. Alike.
  !
  !     call weir_write(array, rows, data, section=weir_section(start=[11, 1], count=[10, 300]))
  type, public :: weir_section
    integer(int64), allocatable :: start(:)
    integer(int64), allocatable :: count(:)
    integer(int64), allocatable :: stride(:)
  end type

  ! Ghost cells: elements around the part that are in memory but not part of the transfer, before
  ! and after it, per dimension. `data` begins with the first of them. A section of the memory, such
  ! as u(2:n-1, :), has the same effect and does not need this type.
  type, public :: weir_ghosts
    integer(int64), allocatable :: lower(:)
    integer(int64), allocatable :: upper(:)
  end type

  ! One array of a request: weir_transfer(array, distribution, data [, section] [, ghosts]).
  ! `data` has the attribute `target` or `asynchronous`, and lives until the request has ended.
  type, public :: weir_transfer
    private
    type(transfer_in_c) :: in_c
  end type

  interface weir_transfer
    module procedure transfer_of
  end interface

  ! A write or read under way.
  type, public :: weir_request
    private
    type(c_ptr), public :: handle = c_null_ptr  ! the weir_request * of C; null once ended
  contains
    procedure :: wait => weir_wait
    procedure :: test => weir_test
    procedure :: detach => weir_request_detach
  end type

contains

  ! Writes the array, or a section of it. After success the program may change `data`, and every
  ! rank reads what was written. Collective.
  subroutine weir_write(array, distribution, data, section, ghosts, status)
    type(weir_array), intent(in) :: array
    type(weir_distribution), intent(in) :: distribution
    type(*), dimension(..), intent(in), target :: data
    type(weir_section), intent(in), optional :: section
    type(weir_ghosts), intent(in), optional :: ghosts
    integer, intent(out), optional :: status
    type(weir_transfer) :: transfer
    transfer = transfer_of(array, distribution, data, section, ghosts)
    call settle(c_write_many(array%session, 1_c_int32_t, [transfer%in_c]), status)
  end subroutine

  ! Reads the array, or a section of it. On failure the content of `data` is undefined. Collective.
  subroutine weir_read(array, distribution, data, section, ghosts, status)
    type(weir_array), intent(in) :: array
    type(weir_distribution), intent(in) :: distribution
    type(*), dimension(..), intent(inout), target :: data
    type(weir_section), intent(in), optional :: section
    type(weir_ghosts), intent(in), optional :: ghosts
    integer, intent(out), optional :: status
    type(weir_transfer) :: transfer
    transfer = transfer_of(array, distribution, data, section, ghosts)
    call settle(c_read_many(array%session, 1_c_int32_t, [transfer%in_c]), status)
  end subroutine

  ! Writes several arrays under one plan. The transfers are alike except for their `data`. An array
  ! may occur more than once; an element that is written twice gets one of the values. Collective.
  subroutine weir_write_many(session, transfers, status)
    type(weir_session), intent(in) :: session
    type(weir_transfer), intent(in) :: transfers(:)
    integer, intent(out), optional :: status
    call settle(c_write_many(session%handle, size(transfers, kind=c_int32_t), transfers%in_c), status)
  end subroutine

  ! Reads several arrays under one plan. Collective.
  subroutine weir_read_many(session, transfers, status)
    type(weir_session), intent(in) :: session
    type(weir_transfer), intent(in) :: transfers(:)
    integer, intent(out), optional :: status
    call settle(c_read_many(session%handle, size(transfers, kind=c_int32_t), transfers%in_c), status)
  end subroutine

  ! Begins weir_write_many and returns at once. The transfers' `data` belongs to Weir until the
  ! request has ended: give it the attribute `asynchronous` (or `target`), as for MPI_Isend, and do
  ! not change it (for a read, do not use it). weir_wait or weir_test reports invalid arguments, on
  ! all ranks alike. The requests of a session are carried out in the order in which they began.
  ! Collective, without waiting.
  subroutine weir_write_begin(session, transfers, request, status)
    type(weir_session), intent(in) :: session
    type(weir_transfer), intent(in) :: transfers(:)
    type(weir_request), intent(out) :: request
    integer, intent(out), optional :: status
    call settle(c_write_begin(session%handle, size(transfers, kind=c_int32_t), transfers%in_c, &
                              request%handle), status)
  end subroutine

  ! Begins weir_read_many, in the same way.
  subroutine weir_read_begin(session, transfers, request, status)
    type(weir_session), intent(in) :: session
    type(weir_transfer), intent(in) :: transfers(:)
    type(weir_request), intent(out) :: request
    integer, intent(out), optional :: status
    call settle(c_read_begin(session%handle, size(transfers, kind=c_int32_t), transfers%in_c, &
                             request%handle), status)
  end subroutine

  ! Waits until the request has ended; `status` says how it ended. Does nothing if the request has
  ! already ended or never began. Every rank ends every request, in any order. Collective.
  subroutine weir_wait(request, status)
    class(weir_request), intent(inout) :: request
    integer, intent(out), optional :: status
    if (present(status)) status = weir_ok
    if (c_associated(request%handle)) call settle(c_wait(request%handle), status)
  end subroutine

  ! Moves on as far as possible without waiting, and says whether the request has ended; `status`
  ! then says how it ended. A request progresses only inside calls of Weir, so it can end only if
  ! every rank calls Weir.
  subroutine weir_test(request, complete, status)
    class(weir_request), intent(inout) :: request
    logical, intent(out) :: complete
    integer, intent(out), optional :: status
    integer(c_int32_t) :: has_ended
    complete = .true.
    if (present(status)) status = weir_ok
    if (.not. c_associated(request%handle)) return
    has_ended = 0
    call settle(c_test(request%handle, has_ended), status)
    complete = has_ended /= 0
  end subroutine

  ! Gives the request's memory back at once, without waiting for any rank, for a program that has to
  ! leave while a request is under way. Weir copies what is still to be written, and discards what
  ! the request reads. This rank does not learn how the request ends. Does nothing if the request
  ! has already ended or never began. Local.
  subroutine weir_request_detach(request, status)
    class(weir_request), intent(inout) :: request
    integer, intent(out), optional :: status
    if (present(status)) status = weir_ok
    if (c_associated(request%handle)) call settle(c_request_detach(request%handle), status)
  end subroutine

  ! Describes what weir_write_many (`direction` weir_direction_write) or weir_read_many
  ! (weir_direction_read) would do with these transfers, and why, in several lines for people; '' on
  ! failure. Moves nothing. The text is the same on every rank. Local.
  function weir_session_explain(session, direction, transfers, status) result(text)
    type(weir_session), intent(in) :: session
    integer, intent(in) :: direction
    type(weir_transfer), intent(in) :: transfers(:)
    integer, intent(out), optional :: status
    character(len=:), allocatable :: text
    type(c_ptr) :: place
    place = c_null_ptr
    call settle(c_session_explain(session%handle, int(direction, c_int32_t), &
                                  size(transfers, kind=c_int32_t), transfers%in_c, place), status)
    text = text_at(place)
  end function

  function transfer_of(array, distribution, data, section, ghosts) result(transfer)
    type(weir_array), intent(in) :: array
    type(weir_distribution), intent(in) :: distribution
    type(*), dimension(..), target, asynchronous :: data
    type(weir_section), intent(in), optional :: section
    type(weir_ghosts), intent(in), optional :: ghosts
    type(weir_transfer) :: transfer
    integer :: n
    transfer%in_c%array = array%handle
    transfer%in_c%distribution = distribution%handle
    call describe(data, transfer%in_c)
    associate (in_c => transfer%in_c)
      if (present(section)) then
        n = common_size(section%start, section%count, section%stride)
        in_c%section_dimensions = n
        if (n > 0) then
          in_c%start(1:n) = section%start(n:1:-1) - 1
          in_c%count(1:n) = section%count(n:1:-1)
          in_c%stride(1:n) = 1
          if (allocated(section%stride)) in_c%stride(1:n) = section%stride(n:1:-1)
        end if
      end if
      if (present(ghosts)) then
        n = common_size(ghosts%lower, ghosts%upper)
        in_c%ghost_dimensions = n
        if (n > 0) then
          in_c%ghost_lower(1:n) = ghosts%lower(n:1:-1)
          in_c%ghost_upper(1:n) = ghosts%upper(n:1:-1)
        end if
      end if
    end associate
  end function

  ! Returns how many numbers each of the lists has; -1, which is refused on all ranks alike, if a
  ! list is missing or their sizes differ.
  pure function common_size(first, second, third) result(found)
    integer(int64), allocatable, intent(in) :: first(:), second(:)
    integer(int64), allocatable, intent(in), optional :: third(:)
    integer :: found
    found = -1
    if (.not. (allocated(first) .and. allocated(second))) return
    if (size(first) /= size(second)) return
    if (size(first) < 1 .or. size(first) > weir_max_dimensions) return
    if (present(third)) then
      if (allocated(third)) then
        if (size(third) /= size(first)) return
      end if
    end if
    found = size(first)
  end function
end module
