! Attributes of files of standard formats: text, integers or reals that belong to an array, to a group
! or ('') to the file. A unit is the text 'units'.
module weir_attributes
  use, intrinsic :: iso_c_binding, only: c_double, c_int32_t, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use weir_file_bindings, only: c_attribute, c_attribute_integers, c_attribute_reals, &
                                c_attribute_text, c_attributes, c_get_integers, c_get_reals, &
                                c_get_text
  use weir_files, only: weir_file
  use weir_outcomes, only: settle, text_at, with_null
  implicit none
  private
  public :: weir_file_attribute_text, weir_file_attribute_integers, weir_file_attribute_reals
  public :: weir_file_attributes, weir_file_attribute
  public :: weir_file_get_text, weir_file_get_integers, weir_file_get_reals

  integer, parameter, public :: weir_text = 1
  integer, parameter, public :: weir_integers = 2
  integer, parameter, public :: weir_reals = 3

  ! weir_file_attribute_integers(file, owner, name, values [, status])
  !
  ! Gives `owner` an attribute: one integer of 4 or 8 bytes, or several. Before the first step begins.
  ! Local.
  interface weir_file_attribute_integers
    module procedure small_integer, large_integer, small_integers, large_integers
  end interface

  ! The same with reals of 4 or 8 bytes.
  interface weir_file_attribute_reals
    module procedure small_real, large_real, small_reals, large_reals
  end interface

contains

  ! Gives `owner` an attribute that is text, in UTF-8. Before the first step begins. Local.
  subroutine weir_file_attribute_text(file, owner, name, text, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name, text
    integer, intent(out), optional :: status
    call settle(c_attribute_text(file%handle, with_null(owner), with_null(name), &
                                 with_null(text)), status)
  end subroutine

  subroutine small_integer(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer(int32), intent(in) :: values
    integer, intent(out), optional :: status
    call large_integers(file, owner, name, [int(values, int64)], status)
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
    call large_integers(file, owner, name, int(values, int64), status)
  end subroutine

  subroutine large_integers(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer(int64), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call settle(c_attribute_integers(file%handle, with_null(owner), with_null(name), &
                                     size(values, kind=int64), values), status)
  end subroutine

  subroutine small_real(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    real(real32), intent(in) :: values
    integer, intent(out), optional :: status
    call large_reals(file, owner, name, [real(values, real64)], status)
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
    call large_reals(file, owner, name, real(values, real64), status)
  end subroutine

  subroutine large_reals(file, owner, name, values, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    real(real64), intent(in) :: values(:)
    integer, intent(out), optional :: status
    call settle(c_attribute_reals(file%handle, with_null(owner), with_null(name), &
                                  size(values, kind=int64), real(values, c_double)), status)
  end subroutine

  ! How many attributes `owner` has. Local.
  function weir_file_attributes(file, owner, status) result(attributes)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner
    integer, intent(out), optional :: status
    integer(int64) :: attributes
    attributes = c_attributes(file%handle, with_null(owner))
    call settle(attributes, status)
  end function

  ! One of them, from 1: its name, its kind (weir_text, weir_integers, weir_reals) and how many bytes
  ! or numbers it has. Local.
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
    call settle(c_attribute(file%handle, with_null(owner), int(number, int64) - 1, place, found, &
                            count), status)
    name = text_at(place)
    kind = found
  end subroutine

  ! The value of an attribute that is text; '' on failure. Local.
  function weir_file_get_text(file, owner, name, status) result(text)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer, intent(out), optional :: status
    character(len=:), allocatable :: text
    type(c_ptr) :: place
    place = c_null_ptr
    call settle(c_get_text(file%handle, with_null(owner), with_null(name), place), status)
    text = text_at(place)
  end function

  ! The integers of an attribute, as many as it has; none on failure. Local.
  function weir_file_get_integers(file, owner, name, status) result(values)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer, intent(out), optional :: status
    integer(int64), allocatable :: values(:)
    integer :: code
    allocate (values(numbers_of(file, owner, name)))
    code = c_get_integers(file%handle, with_null(owner), with_null(name), &
                          size(values, kind=int64), values)
    if (code /= 0) values = [integer(int64) ::]
    call settle(int(code, int64), status)
  end function

  ! The reals of an attribute, as many as it has; none on failure. Local.
  function weir_file_get_reals(file, owner, name, status) result(values)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, name
    integer, intent(out), optional :: status
    real(real64), allocatable :: values(:)
    integer :: code
    allocate (values(numbers_of(file, owner, name)))
    code = c_get_reals(file%handle, with_null(owner), with_null(name), size(values, kind=int64), &
                       values)
    if (code /= 0) values = [real(real64) ::]
    call settle(int(code, int64), status)
  end function

  ! How many numbers an attribute has, 0 where there is none.
  function numbers_of(file, owner, wanted) result(found)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: owner, wanted
    integer(int64) :: found
    character(len=:), allocatable :: name
    integer(int64) :: count, i
    integer :: kind, status
    found = 0
    do i = 1, c_attributes(file%handle, with_null(owner))
      call weir_file_attribute(file, owner, int(i), name, kind, count, status)
      if (status == 0 .and. name == trim(wanted)) then
        if (kind /= weir_text) found = count
        return
      end if
    end do
  end function
end module
