! Outcomes of calls, and conversion of words, numbers and lists of numbers to and from C.
module weir_outcomes
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_loc, &
                                         c_null_char, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64
  use weir_bindings, only: c_last_error, c_version
  implicit none
  private
  public :: settle, text_at, with_null, lend_text, place_names, reversed_formats
  public :: weir_last_error, weir_version

  ! Stores a code in `status` if it is present. If it is absent, a failure prints a line and stops
  ! the program.
  interface settle
    module procedure settle_code, settle_count
  end interface

  interface
    pure function c_string_length(text) bind(C, name='strlen') result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: text
      integer(c_size_t) :: length
    end function
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

  ! Does the same as settle_code for a call that returns a count: counts are not failures.
  subroutine settle_count(found, status)
    integer(int64), intent(in) :: found
    integer, intent(out), optional :: status
    call settle_code(int(min(found, 0_int64), c_int), status)
  end subroutine

  ! Returns the line about the latest call that failed: what was wrong, where, what to do; '' before
  ! the first failure. Local. Dimensions in it are C's: for n dimensions, [d] is Fortran's dimension
  ! n - d.
  function weir_last_error() result(text)
    character(len=:), allocatable :: text
    text = text_at(c_last_error())
  end function

  ! Returns the version of the library, '0.1.0'. Local.
  function weir_version() result(text)
    character(len=:), allocatable :: text
    text = text_at(c_version())
  end function

  ! Converts a C string; '' if it is null.
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

  ! Converts a text to a C string, without trailing blanks.
  pure function with_null(text) result(in_c)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: in_c
    in_c = trim(text)//c_null_char
  end function

  ! Lets `place` point to an option's text for C; an option that is not allocated leaves it as it
  ! is. `kept` has the text, and must be a target that lives until C has read it.
  subroutine lend_text(option, kept, place)
    character(len=:), allocatable, intent(in) :: option
    character(kind=c_char, len=:), allocatable, target, intent(inout) :: kept
    type(c_ptr), intent(inout) :: place
    if (.not. allocated(option)) return
    kept = with_null(option)
    place = c_loc(kept)
  end subroutine

  ! Makes a C array of strings; if `turned`, the last string comes first. `places` points into
  ! `characters`, which must not be changed meanwhile.
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

  ! Reverses the words between commas, except commas inside parentheses: '*, BLOCK' becomes 'BLOCK,
  ! *'.
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
