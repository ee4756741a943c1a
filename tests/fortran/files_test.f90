! Files of every format: arrays once and in steps, attributes, and what is read of them again.
module files_test
  use, intrinsic :: iso_c_binding, only: c_loc
  use, intrinsic :: iso_fortran_env, only: int32, real32, real64
  use checks
  implicit none
  private
  public :: test_files

contains

  subroutine test_files()
    call test_format('hdf5')
    call test_format('cdf5')
    call test_format('zarr')
    call test_additions('hdf5')
    call test_additions('zarr')
    call test_mistakes()
  end subroutine

  ! Attributes of every kind, before the first step and between steps, and an array that is added.
  subroutine test_additions(format)
    character(len=*), intent(in) :: format
    type(weir_file) :: file
    type(weir_array) :: first, second
    type(weir_distribution) :: rows
    real(real64) :: part(3, 5), back(3, 5)
    integer(int32), target :: small(2)
    character(len=:), allocatable :: texts(:)
    logical :: stored
    integer :: status
    if (rank == 0) call execute_command_line('rm -rf '//path('added.'//format))
    call mpi_barrier(mpi_comm_world)
    call file%create(session, path('added.'//format), weir_file_options(format=format))
    call weir_file_define(file, 'first', [3 * ranks, 5], 'float64', first, &
                          weir_define_options(steps=.true.))
    call weir_file_attribute_integers(file, 'first', 'small', [7_int32, -8_int32])
    call weir_file_attribute_integers(file, 'first', 'large', 2_int64**40)
    call weir_file_attribute_reals(file, 'first', 'single', 0.5_real32)
    call weir_file_attribute_reals(file, 'first', 'double', [0.25d0, 4d0])
    call weir_file_attribute_texts(file, 'first', 'texts', ['one  ', 'three'])
    call rows%create(session, [3 * ranks, 5], 'BLOCK, *')
    part = rank + 1d0
    call file%step_begin()
    call weir_write(first, rows, part)
    call file%step_end()
    call file%step_wait(10d0, status)
    call check(status == weir_ok, format//': a step of ranks is stored when it ends')
    call file%step_test(stored, status)
    call check(status == weir_ok .and. stored, format//': and says so')
    call weir_file_define(file, 'second', [3 * ranks, 5], 'float64', second, &
                          weir_define_options(steps=.true.), fill=-1d0)
    call weir_file_attribute_text(file, 'second', 'units', 'm')
    call weir_file_attribute_text(file, 'first', 'units', 'kg')
    call file%extend(status)
    call check(status == weir_ok .and. file%arrays() == 2, format//': an array is added')
    call check(file%steps() == 1, format//': without a step')
    call file%step_begin()
    call weir_write(first, rows, part)
    call weir_write(second, rows, 2 * part)
    call file%step_end()
    call file%close()
    call file%open(session, path('added.'//format), weir_file_open_options(read_only=.true.))
    call check(weir_file_get_text(file, 'first', 'units') == 'kg', format//': a later attribute')
    call check(weir_file_get_text(file, 'second', 'units') == 'm', format//': of the new array')
    call check(weir_file_attribute_type(file, 'first', 'small') == 'int32', format//': int32')
    call check(weir_file_attribute_type(file, 'first', 'large') == 'int64', format//': int64')
    call check(weir_file_attribute_type(file, 'first', 'single') == 'float32', format//': float32')
    call check(weir_file_attribute_type(file, 'first', 'double') == 'float64', format//': float64')
    call weir_file_get_numbers(file, 'first', 'small', 8_int64, c_loc(small), status)
    call check(status == weir_ok .and. all(small == [7, -8]), format//': numbers in their type')
    call check(all(weir_file_get_integers(file, 'first', 'large') == [2_int64**40]), &
               format//': a large integer')
    call check(all(weir_file_get_reals(file, 'first', 'double') == [0.25d0, 4d0]), &
               format//': reals')
    texts = weir_file_get_texts(file, 'first', 'texts')
    call check(size(texts) == 2, format//': two texts')
    call check(texts(1) == 'one' .and. texts(2) == 'three', format//': the texts')
    call file%array('second', second)
    call weir_read(second, rows, back)
    call check(all(back == 2 * part), format//': the new array')
    call file%select_step(1)
    call weir_read(second, rows, back)
    call check(all(back == -1d0), format//': its fill value in the step before')
    call file%close()
  end subroutine

  subroutine test_format(format)
    character(len=*), intent(in) :: format
    call write_file(format)
    call read_file(format)
  end subroutine

  ! This rank's part of the density of a step: 6 x 4 x (2 * ranks), by its third dimension.
  function density_of(step) result(density)
    integer, intent(in) :: step
    real(real64) :: density(6, 4, 2)
    integer :: i
    density = reshape([(1000d0 * step + 100 * rank + i, i=1, size(density))], shape(density))
  end function

  subroutine write_file(format)
    character(len=*), intent(in) :: format
    type(weir_file) :: file
    type(weir_array) :: grid, density, time
    type(weir_distribution) :: rows, slabs, one
    type(weir_file_options) :: options
    type(weir_define_options) :: stepped
    integer(int32) :: numbers(3, 5)
    integer :: i, step, status
    ! A folder that is there is not replaced.
    if (rank == 0) call execute_command_line('rm -rf '//path('file.'//format))
    call mpi_barrier(mpi_comm_world)
    options%format = format
    options%durability = 'none'
    call file%create(session, path('file.'//format), options)
    call weir_file_define(file, 'grid', [3 * ranks, 5], 'int32', grid)
    stepped%steps = .true.
    stepped%dimension_names = [character(len=5) :: 'x', 'y', 'depth']
    if (format /= 'cdf5') stepped%chunks = [6, 2, 2]
    call weir_file_define(file, 'density', [6, 4, 2 * ranks], 'float64', density, stepped, &
                          fill=-1d0)
    call weir_file_define(file, 'time', [integer ::], 'float64', time, &
                          weir_define_options(steps=.true.))
    call weir_file_attribute_text(file, 'density', 'units', 'kg m-3')
    call weir_file_attribute_integers(file, '', 'run', [1, 2, 3])
    call weir_file_attribute_reals(file, 'density', 'scale', 0.5)
    call rows%create(session, [3 * ranks, 5], 'BLOCK, *')
    call slabs%create(session, [6, 4, 2 * ranks], '*, *, BLOCK')
    call one%create(session, [1], '*')
    numbers = reshape([(100 * rank + i, i=1, 15)], [3, 5])
    do step = 1, 3
      call file%step_begin()
      call weir_write(density, slabs, density_of(9))
      call file%step_abort('to be tried again', status)
      call check(status == weir_ok .and. .not. file%in_step(), format//': given up')
      call file%step_begin()
      call check(file%in_step(), format//': begun again')
      if (step == 1) call weir_write(grid, rows, numbers)
      call weir_write(density, slabs, density_of(step))
      call weir_write(time, one, [0.5d0 * step])
      call file%step_end()
      call check(file%steps() == step, format//': a step has ended')
      call check(file%unwritten() == 0, format//': all were written')
    end do
    call file%step_begin()
    call weir_write(time, one, [2d0])
    call file%step_end()
    call check(file%unwritten() == 1 .and. file%unwritten_name(1) == 'density', &
               format//': one is not written')
    call file%drop_steps(3)
    call file%close(status)
    call check(status == weir_ok, format//': closed')
    call file%open(session, path('file.'//format), weir_file_open_options(unwritten='error'))
    call file%step_begin()
    call file%step_end(status)
    call check(status == weir_e_argument .and. file%steps() == 3, format//': refused unwritten')
    call file%close()
  end subroutine

  subroutine read_file(format)
    character(len=*), intent(in) :: format
    type(weir_file) :: file
    type(weir_array) :: grid, density, time
    type(weir_distribution) :: slabs, rows, one
    real(real64) :: back(6, 4, 2), now(1)
    integer(int32) :: numbers(3, 5)
    character(len=:), allocatable :: name
    integer(int64) :: count
    integer :: kind, i
    call file%open(session, path('file.'//format), weir_file_open_options(read_only=.true.))
    call check(file%steps() == 3, format//': three steps')
    call check(file%arrays() == 3, format//': three arrays')
    do i = 1, 3
      name = file%array_name(i)
      call check(index('grid density time', name) > 0, format//': the names')
    end do
    call file%array('grid', grid)
    call file%array('density', density)
    call check(all(density%shape() == [6, 4, 2 * ranks]), format//': the shape of a step')
    call check(weir_array_has_steps(density), format//': has steps')
    call check(.not. weir_array_has_steps(grid), format//': has none')
    call check(weir_array_dimension_name(density, 1) == 'x', format//': the first dimension')
    call check(weir_array_dimension_name(density, 3) == 'depth', format//': the last dimension')
    call slabs%create(session, [6, 4, 2 * ranks], '*, *, BLOCK')
    call rows%create(session, [3 * ranks, 5], 'BLOCK, *')
    call weir_read(grid, rows, numbers)
    call check(all(numbers == reshape([(100 * rank + i, i=1, 15)], [3, 5])), format//': the grid')
    call weir_read(density, slabs, back)
    call check(all(back == density_of(3)), format//': the last step')
    call file%select_step(1)
    call weir_read(density, slabs, back)
    call check(all(back == density_of(1)), format//': the first step')
    call file%array('time', time)
    call one%from_boxes(session, [1], reshape([1], [1, 1]), reshape([1], [1, 1]))
    call weir_read(time, one, now)
    call check(now(1) == 0.5d0, format//': its time')
    call check(weir_file_get_text(file, 'density', 'units') == 'kg m-3', format//': the unit')
    call check(all(weir_file_get_integers(file, '', 'run') == [1, 2, 3]), format//': integers')
    call check(all(weir_file_get_reals(file, 'density', 'scale') == [0.5d0]), format//': a real')
    do i = 1, int(weir_file_attributes(file, 'density'))
      call weir_file_attribute(file, 'density', i, name, kind, count)
      if (name == 'units') call check(kind == weir_text .and. count == 6, format//': its kind')
      if (name == 'scale') call check(kind == weir_reals .and. count == 1, format//': its kind')
    end do
    call file%close()
  end subroutine

  subroutine test_mistakes()
    type(weir_file) :: file
    type(weir_array) :: array
    type(weir_define_options) :: options
    integer :: status
    integer(int64), allocatable :: numbers(:)
    call file%create(session, path('file.unknown'), status=status)
    call check(status == weir_e_argument .and. told('unknown'), 'no format')
    call file%create(session, path('mistakes.h5'))
    call weir_file_define(file, 'a', [3], 'float64', array, fill=1.0, status=status)
    call check(status == weir_e_argument .and. told('float32'), 'a fill value of another type')
    options%chunks = [2, 2]
    call weir_file_define(file, 'a', [3], 'float64', array, options, status=status)
    call check(status == weir_e_argument, 'chunks of two dimensions')
    deallocate (options%chunks)
    options%dimension_names = ['x', 'y']
    call weir_file_define(file, 'a', [3], 'float64', array, options, status=status)
    call check(status == weir_e_argument, 'names for two dimensions')
    numbers = weir_file_get_integers(file, '', 'none', status)
    call check(status == weir_e_argument .and. size(numbers) == 0, 'no such attribute')
    call file%select_step(0, status)
    call check(status == weir_e_argument, 'steps count from 1')
    call weir_file_define(file, 'a', [3], 'float64', array)
    call file%step_begin()
    call file%close(status)
    call check(status /= weir_ok, 'a step that has not ended')
  end subroutine
end module
