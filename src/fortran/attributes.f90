! Attributes of files of standard formats: text, integers or reals that belong to an array, to a
! group, or ('') to the file. A unit is the text attribute 'units'.
module weir_attributes
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_int32_t, c_loc, &
                                         c_null_char, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use weir_bindings, only: c_file_attribute, c_file_attribute_integers, &
                           c_file_attribute_numbers, c_file_attribute_reals, &
                           c_file_attribute_text, c_file_attribute_texts, c_file_attribute_type, &
                           c_file_attributes, c_file_get_integers, c_file_get_numbers, &
                           c_file_get_reals, c_file_get_text, c_file_get_texts
  use weir_constants, only: weir_integers, weir_reals, weir_texts
  use weir_files, only: weir_file
  use weir_outcomes, only: settle, text_at, with_null
  implicit none
  private
  public :: weir_file_attribute_text, weir_file_attribute_integers, weir_file_attribute_reals
  public :: weir_file_attributes, weir_file_attribute
  public :: weir_file_get_text, weir_file_get_integers, weir_file_get_reals
  public :: weir_file_attribute_texts, weir_file_attribute_type
  public :: weir_file_get_numbers, weir_file_get_texts

  ! weir_file_attribute_integers(file, owner, name, values [, status])
  !
  ! Gives `owner` an attribute of one or several integers of 4 or 8 bytes, which keep their type.
  ! Called before the first step begins, or between steps (weir_file_extend). Local.
  interface weir_file_attribute_integers
    module procedure small_integer, large_integer, small_integers, large_integers
  end interface

  ! Gives `owner` an attribute of one or several reals of 4 or 8 bytes.
  interface weir_file_attribute_reals
    module procedure small_real, large_real, small_reals, large_reals
  end interface

contains

  ! Gives `owner` a text attribute, in UTF-8. Called before the first step begins, or between steps.
  ! Local.
  subroutine weir_file_attribute_text(file, owner, name, text, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name, text
    integer, intent(out), optional :: status
    call settle(c_file_attribute_text(file%handle, with_null(owner), with_null(name), &
                                      with_null(text)), status)
  end subroutine

  subroutine small_integer(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer(int32), intent(in) :: values
    integer, intent(out), optional :: status
    call small_integers(file, owner, name, [values], status)
  end subroutine

  subroutine large_integer(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer(int64), intent(in) :: values
    integer, intent(out), optional :: status
    call large_integers(file, owner, name, [values], status)
  end subroutine

  subroutine small_integers(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer(int32), intent(in) :: values(:)
    integer, intent(out), optional :: status
    integer(int32), target :: packed(size(values))
    packed = values
    call settle(c_file_attribute_numbers(file%handle, with_null(owner), with_null(name), &
                                         with_null('int32'), size(values, kind=int64), &
                                         c_loc(packed)), status)
  end subroutine

  subroutine large_integers(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer(int64), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call settle(c_file_attribute_integers(file%handle, with_null(owner), with_null(name), &
                                          size(values, kind=int64), values), status)
  end subroutine

  subroutine small_real(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    real(real32), intent(in) :: values
    integer, intent(out), optional :: status
    call small_reals(file, owner, name, [values], status)
  end subroutine

  subroutine large_real(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    real(real64), intent(in) :: values
    integer, intent(out), optional :: status
    call large_reals(file, owner, name, [values], status)
  end subroutine

  subroutine small_reals(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    real(real32), intent(in) :: values(:)
    integer, intent(out), optional :: status
    real(real32), target :: packed(size(values))
    packed = values
    call settle(c_file_attribute_numbers(file%handle, with_null(owner), with_null(name), &
                                         with_null('float32'), size(values, kind=int64), &
                                         c_loc(packed)), status)
  end subroutine

  subroutine large_reals(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    real(real64), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call settle(c_file_attribute_reals(file%handle, with_null(owner), with_null(name), &
                                       size(values, kind=int64), real(values, c_double)), status)
  end subroutine

  ! Gives `owner` a list of texts, without their trailing blanks. Called before the first step
  ! begins, or between steps. Local.
  subroutine weir_file_attribute_texts(file, owner, name, texts, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name, texts(:)
    integer, intent(out), optional :: status
    character(kind=c_char), target :: letters(len(texts) + 1, max(1, size(texts)))
    type(c_ptr) :: places(max(1, size(texts)))
    integer :: i, k
    do i = 1, size(texts)
      letters(:, i) = c_null_char
      do k = 1, len_trim(texts(i))
        letters(k, i) = texts(i) (k:k)
      end do
      places(i) = c_loc(letters(1, i))
    end do
    call settle(c_file_attribute_texts(file%handle, with_null(owner), with_null(name), &
                                       size(texts, kind=int64), places), status)
  end subroutine

  ! Returns the type of an attribute: 'text', 'texts', 'int32', ...; '' if there is no such
  ! attribute. Local.
  function weir_file_attribute_type(file, owner, name) result(text)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    character(len=:), allocatable :: text
    type(c_ptr) :: place
    place = c_file_attribute_type(file%handle, with_null(owner), with_null(name))
    text = ''
    if (c_associated(place)) text = text_at(place)
  end function

  ! Copies the numbers of an attribute, in their own type, to `bytes` bytes of memory at `place`.
  ! Local.
  subroutine weir_file_get_numbers(file, owner, name, bytes, place, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer(int64), intent(in) :: bytes
    type(c_ptr), intent(in) :: place
    integer, intent(out), optional :: status
    call settle(c_file_get_numbers(file%handle, with_null(owner), with_null(name), bytes, place), &
                status)
  end subroutine

  ! Returns the texts of a list, all as long as the longest of them; none on failure. Local.
  function weir_file_get_texts(file, owner, name, status) result(texts)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer, intent(out), optional :: status
    character(len=:), allocatable :: texts(:)
    type(c_ptr), allocatable :: places(:)
    integer :: code, i, longest
    allocate (places(items_of(file, owner, name, weir_texts)))
    code = c_file_get_texts(file%handle, with_null(owner), with_null(name), &
                            size(places, kind=int64), places)
    if (code /= 0) then
      deallocate (places)
      allocate (places(0))
    end if
    longest = 0
    do i = 1, size(places)
      longest = max(longest, len(text_at(places(i))))
    end do
    allocate (character(len=longest) :: texts(size(places)))
    do i = 1, size(places)
      texts(i) = text_at(places(i))
    end do
    call settle(int(code, int64), status)
  end function

  ! Returns how many attributes `owner` has. Local.
  function weir_file_attributes(file, owner, status) result(attributes)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner
    integer, intent(out), optional :: status
    integer(int64) :: attributes
    attributes = c_file_attributes(file%handle, with_null(owner))
    call settle(attributes, status)
  end function

  ! Gets an attribute of `owner` by its number, counted from 1: its name, its kind (weir_text,
  ! weir_integers, weir_reals) and how many bytes or numbers it has. Local.
  subroutine weir_file_attribute(file, owner, number, name, kind, count, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner
    integer, intent(in) :: number
    character(len=:), allocatable, intent(out) :: name
    integer, intent(out) :: kind
    integer(int64), intent(out) :: count
    integer, intent(out), optional :: status
    type(c_ptr) :: place
    integer(c_int32_t) :: found
    place = c_null_ptr
    found = 0
    count = 0
    call settle(c_file_attribute(file%handle, with_null(owner), int(number, int64) - 1, place, &
                                 found, count), status)
    name = text_at(place)
    kind = found
  end subroutine

  ! Returns the value of a text attribute; '' on failure. Local.
  function weir_file_get_text(file, owner, name, status) result(text)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer, intent(out), optional :: status
    character(len=:), allocatable :: text
    type(c_ptr) :: place
    place = c_null_ptr
    call settle(c_file_get_text(file%handle, with_null(owner), with_null(name), place), status)
    text = text_at(place)
  end function

  ! Returns all integers of an attribute; none on failure. Local.
  function weir_file_get_integers(file, owner, name, status) result(values)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer, intent(out), optional :: status
    integer(int64), allocatable :: values(:)
    integer :: code
    allocate (values(numbers_of(file, owner, name)))
    code = c_file_get_integers(file%handle, with_null(owner), with_null(name), &
                               size(values, kind=int64), values)
    if (code /= 0) values = [integer(int64) ::]
    call settle(int(code, int64), status)
  end function

  ! Returns all reals of an attribute; none on failure. Local.
  function weir_file_get_reals(file, owner, name, status) result(values)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer, intent(out), optional :: status
    real(real64), allocatable :: values(:)
    integer :: code
    allocate (values(numbers_of(file, owner, name)))
    code = c_file_get_reals(file%handle, with_null(owner), with_null(name), &
                            size(values, kind=int64), values)
    if (code /= 0) values = [real(real64) ::]
    call settle(int(code, int64), status)
  end function

  ! Returns how many numbers an attribute has, 0 if there is no such attribute.
  function numbers_of(file, owner, wanted) result(found)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, wanted
    integer(int64) :: found
    found = items_of(file, owner, wanted, weir_integers) + items_of(file, owner, wanted, weir_reals)
  end function

  ! Returns how many items an attribute of this kind has, 0 if there is no such attribute.
  function items_of(file, owner, wanted, wanted_kind) result(found)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, wanted
    integer, intent(in) :: wanted_kind
    integer(int64) :: found
    character(len=:), allocatable :: name
    integer(int64) :: count, i
    integer :: kind, status
    found = 0
    do i = 1, c_file_attributes(file%handle, with_null(owner))
      call weir_file_attribute(file, owner, int(i), name, kind, count, status)
      if (status == 0 .and. name == trim(wanted)) then
        if (kind == wanted_kind) found = count
        return
      end if
    end do
  end function
end module
