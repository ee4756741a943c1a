! The output of S3D, a code for turbulent combustion: 16 doubles per cell of a box that is divided
! among the ranks along x, y and z. Writes a restart file after each step and computes in between;
! another run reads them back, on any number of ranks:
!
!     mpirun -n 8 12_restart write   44 72 44  FOLDER  20 0.5
!     mpirun -n 3 12_restart restart 44 72 44  FOLDER  20
!
! The numbers are the cells along x, y and z, the steps, and the seconds of work after each step.
! With WEIR_STAGING=node the steps are stored while the program computes.
module fields
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: arrays = 4
  character(len=8), parameter :: names(arrays) = ['yspecies', 'temp    ', 'pressure', 'u       ']
  integer, parameter :: components(arrays) = [11, 1, 1, 3]
  ! Names of the fourth dimension, which two of the arrays have.
  character(len=9), parameter :: fourth(arrays) = &
    ['species  ', '         ', '         ', 'component']

contains

  ! The value of a component in a cell after a step. No two are alike within a step of up to 2**36
  ! cells, and no two steps have a value in common.
  elemental function value_of(step, component, cell) result(value)
    integer, intent(in) :: step, component
    integer(int64), intent(in) :: cell
    real(real64) :: value
    value = real(cell * 16 + component, real64) + step * 2d0**40
  end function

end module

program restart
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  use weir
  use fields
  implicit none

  ! A rank's part of one array. Arrays with three dimensions have one component.
  type :: field
    real(real64), allocatable :: part(:, :, :, :)
  end type

  type(weir_session) :: session
  type(weir_distribution) :: of_cells, of_components(arrays)
  type(field), target :: mine(arrays)
  character(len=:), allocatable :: phase, folder
  integer(int64) :: cells(3), lower(3), extent(3)
  integer :: rank, ranks, steps, i
  real(real64) :: seconds_of_work
  logical :: failed = .false.

  call mpi_init()
  call mpi_comm_rank(mpi_comm_world, rank)
  call mpi_comm_size(mpi_comm_world, ranks)
  phase = argument(1)
  cells = [(int(number(i), int64), i=2, 4)]
  folder = argument(5)
  steps = int(number(6))
  call session%open(mpi_comm_world)
  call divide()
  if (phase == 'write') then
    seconds_of_work = number(7)
    call write_steps()
  else if (phase == 'restart') then
    call read_steps()
  else
    error stop 'the first argument must be "write" or "restart"'
  end if
  call session%close()
  call mpi_finalize()
  if (failed) stop 1

contains

  function argument(place) result(text)
    integer, intent(in) :: place
    character(len=:), allocatable :: text
    integer :: length
    call get_command_argument(place, length=length)
    if (length == 0) error stop 'usage: 12_restart write|restart NX NY NZ FOLDER STEPS [SECONDS]'
    allocate (character(len=length) :: text)
    call get_command_argument(place, text)
  end function

  function number(place)
    integer, intent(in) :: place
    real(real64) :: number
    character(len=:), allocatable :: text
    integer :: problem
    text = argument(place)
    read (text, *, iostat=problem) number
    if (problem /= 0) error stop 'an argument that must be a number is none'
  end function

  ! Divides the cells into boxes. Weir divides the first three dimensions of all arrays alike, and
  ! all components of a cell are on the rank that has the cell.
  subroutine divide()
    integer(int64), allocatable :: first(:), shape_of_part(:)
    call of_cells%create(session, cells, 'BLOCK, BLOCK, BLOCK')
    do i = 1, arrays
      if (components(i) > 1) call of_components(i)%create( &
        session, [cells, int(components(i), int64)], 'BLOCK, BLOCK, BLOCK, *')
    end do
    lower = 1
    extent = 0
    if (of_cells%elements() > 0) then  ! there may be more ranks than cells
      first = of_cells%global_index([1, 1, 1])
      shape_of_part = of_cells%shape()
      lower = first
      extent = shape_of_part
    end if
    do i = 1, arrays
      allocate (mine(i)%part(extent(1), extent(2), extent(3), components(i)))
    end do
  end subroutine

  ! The number of the file's component that is the first of an array.
  integer function first_component(array)
    integer, intent(in) :: array
    first_component = sum(components(:array - 1))
  end function

  ! The number of a cell in the whole box, from 0 on.
  integer(int64) function cell_number(x, y, z)
    integer(int64), intent(in) :: x, y, z
    cell_number = (lower(1) + x - 2) + cells(1) * ((lower(2) + y - 2) + cells(2) * (lower(3) + z - 2))
  end function

  ! What a simulation would compute: the values of all components after a step.
  subroutine compute(step)
    integer, intent(in) :: step
    integer :: array, component
    integer(int64) :: x, y, z
    do array = 1, arrays
      do component = 1, components(array)
        do z = 1, extent(3)
          do y = 1, extent(2)
            mine(array)%part(:, y, z, component) = &
              [(value_of(step, first_component(array) + component - 1, cell_number(x, y, z)), &
                x=1, extent(1))]
          end do
        end do
      end do
    end do
  end subroutine

  function path_of(step) result(path)
    integer, intent(in) :: step
    character(len=:), allocatable :: path
    character(len=16) :: name
    write (name, '(a, i4.4, a)') 'field_', step - 1, '.h5'
    path = folder//'/'//trim(name)
  end function

  subroutine define(file, handles)
    type(weir_file), intent(inout) :: file
    type(weir_array), intent(out) :: handles(arrays)
    type(weir_define_options) :: of_cell, of_component
    integer :: array
    ! By assignment: in a structure constructor, gfortran 12 loses the length of the texts.
    of_cell%dimension_names = ['x', 'y', 'z']
    do array = 1, arrays
      if (components(array) > 1) then
        of_component%dimension_names = [character(len=9) :: 'x', 'y', 'z', fourth(array)]
        call weir_file_define(file, trim(names(array)), &
                              [cells, int(components(array), int64)], 'float64', &
                              handles(array), of_component)
      else
        call weir_file_define(file, trim(names(array)), cells, 'float64', handles(array), of_cell)
      end if
    end do
  end subroutine

  ! All arrays of a file are moved by one call, and Weir plans for all of them together.
  subroutine move(handles, writes)
    type(weir_array), intent(in) :: handles(arrays)
    logical, intent(in) :: writes
    type(weir_transfer) :: transfers(arrays)
    real(real64), pointer :: cells_of_part(:, :, :)
    integer :: array
    do array = 1, arrays
      if (components(array) > 1) then
        transfers(array) = weir_transfer(handles(array), of_components(array), mine(array)%part)
      else
        cells_of_part(1:extent(1), 1:extent(2), 1:extent(3)) => mine(array)%part(:, :, :, 1)
        transfers(array) = weir_transfer(handles(array), of_cells, cells_of_part)
      end if
    end do
    if (writes) then
      call weir_write_many(session, transfers)
    else
      call weir_read_many(session, transfers)
    end if
  end subroutine

  subroutine write_steps()
    type(weir_file) :: files(steps)
    type(weir_array) :: handles(arrays)
    real(real64) :: blocked, began, ended
    integer :: step
    blocked = 0
    began = mpi_wtime()
    do step = 1, steps
      call compute(step)
      ended = mpi_wtime()
      call files(step)%create(session, path_of(step))
      call define(files(step), handles)
      call files(step)%step_begin()
      call move(handles, writes=.true.)
      call files(step)%step_end()
      blocked = blocked + mpi_wtime() - ended
      call work()
    end do
    ! A file that is open does not keep others from being stored.
    do step = 1, steps
      call files(step)%step_wait()
      call files(step)%close()
    end do
    call report(blocked, mpi_wtime() - began)
  end subroutine

  subroutine work()
    real(real64) :: until
    until = mpi_wtime() + seconds_of_work
    do while (mpi_wtime() < until)
    end do
  end subroutine

  subroutine report(blocked, whole)
    real(real64), intent(in) :: blocked, whole
    real(real64) :: longest(2), bytes
    call mpi_reduce([blocked, whole], longest, 2, mpi_double_precision, mpi_max, 0, mpi_comm_world)
    if (rank /= 0) return
    bytes = 8d0 * sum(components) * product(real(cells, real64)) * steps
    print '(i0, a, f0.3, a, f0.3, a, f0.1, a)', steps, ' steps: blocked for ', longest(1), &
      ' s of ', longest(2), ' s until all are stored; observed: ', bytes / longest(1) / 2d0**20, &
      ' MiB/s'
  end subroutine

  ! Reads every file and compares every element, on however many ranks there are now.
  subroutine read_steps()
    type(weir_file) :: file
    type(weir_array) :: handles(arrays)
    integer(int64) :: wrong
    integer :: step, array
    wrong = 0
    do step = 1, steps
      do array = 1, arrays
        mine(array)%part = -1
      end do
      call file%open(session, path_of(step), weir_file_open_options(read_only=.true.))
      do array = 1, arrays
        call file%array(trim(names(array)), handles(array))
      end do
      call move(handles, writes=.false.)
      call file%close()
      wrong = wrong + wrong_elements(step)
    end do
    call mpi_allreduce(mpi_in_place, wrong, 1, mpi_integer8, mpi_sum, mpi_comm_world)
    if (rank == 0) print '(i0, a, i0, a, i0)', steps, ' steps read on ', ranks, &
      ' ranks; wrong elements: ', wrong
    failed = wrong > 0
  end subroutine

  ! Counts the elements that are not those of the step, and names the first one.
  integer(int64) function wrong_elements(step) result(wrong)
    integer, intent(in) :: step
    integer :: array, component
    integer(int64) :: x, y, z
    real(real64) :: found
    wrong = 0
    do array = 1, arrays
      do component = 1, components(array)
        do z = 1, extent(3)
          do y = 1, extent(2)
            do x = 1, extent(1)
              found = mine(array)%part(x, y, z, component)
              if (found == value_of(step, first_component(array) + component - 1, &
                                    cell_number(x, y, z))) cycle
              if (wrong == 0) write (error_unit, '(a, i0, 4a, 3(i0, a), i0, a, es24.16)') &
                'rank ', rank, ': ', path_of(step), ': ', &
                trim(names(array))//'(', lower(1) + x - 1, ', ', lower(2) + y - 1, ', ', &
                lower(3) + z - 1, ', ', component, ') is', found
              wrong = wrong + 1
            end do
          end do
        end do
      end do
    end do
  end function

end program
