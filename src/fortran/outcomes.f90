! How calls end, and what stands for a word, a number or a list of numbers on the other side.
module weir_outcomes
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_loc, &
                                         c_null_char, c_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64
  use weir_bindings, only: c_last_error, c_string_length, c_version
  implicit none
  private
  public :: settle, text_at, with_null, place_names, reversed_formats
  public :: weir_last_error, weir_version

  ! As in weir.h, which says what each of them means.
  integer, parameter, public :: weir_ok = 0
  integer, parameter, public :: weir_e_argument = -1
  integer, parameter, public :: weir_e_mismatch = -2
  integer, parameter, public :: weir_e_io = -3
  integer, parameter, public :: weir_e_corrupt = -4
  integer, parameter, public :: weir_e_memory = -5
  integer, parameter, public :: weir_e_unsupported = -6
  integer, parameter, public :: weir_e_deadline = -7
  integer, parameter, public :: weir_e_broken = -8
  integer, parameter, public :: weir_e_aborted = -9

  ! Gives a code to whoever asked for it; for the others a failure is a line and a stop.
  interface settle
    module procedure settle_code, settle_count
  end interface

contains

  subroutine settle_code(code, status)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: status
    if (present(status)) then
      status = code
    else if (code < 0) then
      write (error_unit, '(a)') weir_last_error()
      flush (error_unit)
      error stop 1
    end if
  end subroutine

  ! A count of things is no failure.
  subroutine settle_count(found, status)
    integer(int64), intent(in) :: found
    integer, intent(out), optional :: status
    call settle_code(int(min(found, 0_int64), c_int), status)
  end subroutine

  ! The line for the latest call that failed: what was wrong, where, what to do; '' before the
  ! first. Local. Dimensions in it are C's: of n, [d] is Fortran's dimension n - d.
  function weir_last_error() result(text)
    character(len=:), allocatable :: text
    text = text_at(c_last_error())
  end function

  ! The version of the library, '0.1.0'. Local.
  function weir_version() result(text)
    character(len=:), allocatable :: text
    text = text_at(c_version())
  end function

  ! C's string, '' where there is none.
  function text_at(place) result(text)
    type(c_ptr), intent(in) :: place
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer(int64) :: length, i
    length = 0
    if (c_associated(place)) length = int(c_string_length(place), int64)
    allocate (character(len=length) :: text)
    if (length == 0) return
    call c_f_pointer(place, characters, [length])
    do i = 1, length
      text(i:i) = characters(i)
    end do
  end function

  ! As C wants it, without trailing blanks.
  pure function with_null(text) result(in_c)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: in_c
    in_c = trim(text)//c_null_char
  end function

  ! C's array of strings, `turned` with the last one first: `places` points into `characters`, as long
  ! as that is not changed.
  subroutine place_names(names, turned, characters, places)
    character(len=*), intent(in) :: names(:)
    logical, intent(in) :: turned
    character(kind=c_char), allocatable, target, intent(out) :: characters(:, :)
    type(c_ptr), allocatable, intent(out) :: places(:)
    integer :: i, j
    allocate (characters(len(names) + 1, size(names)), places(size(names)))
    characters = c_null_char
    do i = 1, size(names)
      do j = 1, len_trim(names(i))
        characters(j, i) = names(i)(j:j)
      end do
      places(merge(size(names) + 1 - i, i, turned)) = c_loc(characters(1, i))
    end do
  end subroutine

  ! The words between commas, those inside brackets apart, last one first: 'BLOCK, *' for '*, BLOCK'.
  pure function reversed_formats(formats) result(reversed)
    character(len=*), intent(in) :: formats
    character(len=:), allocatable :: reversed
    integer :: depth, first, i
    reversed = ''
    depth = 0
    first = 1
    do i = 1, len_trim(formats)
      select case (formats(i:i))
       case ('(')
        depth = depth + 1
       case (')')
        depth = depth - 1
       case (',')
        if (depth > 0) cycle
        reversed = ','//formats(first:i - 1)//reversed
        first = i + 1
      end select
    end do
    reversed = formats(first:len_trim(formats))//reversed
  end function
end module
