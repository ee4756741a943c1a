! What the tests share: counted failures, the session, and where files go.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use mpi_f08
  use weir
  implicit none
  type(weir_session) :: session
  character(len=:), allocatable :: folder
  integer :: rank = 0, ranks = 1, failures = 0

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    write (error_unit, '(a, i0, 4a)') 'rank ', rank, ': ', what, ' | ', weir_last_error()
  end subroutine

  function path(name)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: path
    path = folder//'/'//name
  end function

  ! Whether `part` appears in the line of the latest failure.
  logical function told(part)
    character(len=*), intent(in) :: part
    told = index(weir_last_error(), part) > 0
  end function

  ! The bytes of a file, on every rank.
  function contents(name) result(bytes)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: bytes
    integer :: unit
    integer(int64) :: length
    open (newunit=unit, file=path(name), access='stream', form='unformatted', action='read')
    inquire (unit, size=length)
    allocate (character(len=length) :: bytes)
    read (unit) bytes
    close (unit)
  end function
end module
