! Moves the same files from C and from Fortran: c_side.c has the other side.
module with_c_test
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int32_t, c_null_char, c_ptr
  use, intrinsic :: iso_fortran_env, only: real64
  use checks
  implicit none
  private
  public :: test_with_c

  interface
    ! A 3 by 4 by (2 * ranks) array of float64, element (i, j, k) being 100 i + 10 j + k from 0,
    ! distributed "*, *, BLOCK".
    function c_writes(session, path) bind(C) result(code)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value, intent(in) :: session
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: code
    end function

    ! Whether what lies at `path` is that array.
    function c_finds(session, path) bind(C) result(code)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value, intent(in) :: session
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: code
    end function
  end interface

contains

  subroutine test_with_c()
    real(real64) :: field(2, 4, 3), back(2, 4, 3)
    type(weir_array) :: array
    type(weir_distribution) :: mine
    character(:), allocatable :: document
    integer :: i, j, k, name
    do k = 1, 3
      do j = 1, 4
        do i = 1, 2
          field(i, j, k) = 100 * (k - 1) + 10 * (j - 1) + 2 * rank + i - 1
        end do
      end do
    end do
    call array%create(session, path('by_fortran'), [2 * ranks, 4, 3], weir_type_of(field))
    call mine%create(session, [2 * ranks, 4, 3], 'BLOCK, *, *')
    call weir_write(array, mine, field)
    call array%close()
    call check(c_finds(session%handle, path('by_fortran')//c_null_char) == 0, 'C reads Fortran''s')
    call check(c_writes(session%handle, path('by_c')//c_null_char) == 0, 'C writes')
    call check(contents('by_c') == contents('by_fortran'), 'the same bytes')
    document = contents('by_fortran.json')  ! names the array as its path does
    name = index(document, '"by_fortran"')
    call check(name > 0, 'its name')
    call check(contents('by_c.json') == document(:name)//'by_c'//document(name + 11:), &
               'the same document but for the name')
    call array%open(session, path('by_c'))
    call check(all(array%shape() == [2 * ranks, 4, 3]), 'the shape turned round')
    call weir_read(array, mine, back)
    call check(all(back == field), 'Fortran reads C''s')
  end subroutine
end module
