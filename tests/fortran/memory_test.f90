! Memory of every type, of ranks 1 to 15, contiguous and not, with ghost cells, in several boxes.
module memory_test
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int16, int32, int8, real32, real64
  use checks
  implicit none
  private
  public :: test_memory

  type particle
    sequence
    integer(int32) :: number
    real(real32) :: place(3)
  end type

contains

  subroutine test_memory()
    call test_types()
    call test_ranks()
    call test_not_contiguous()
    call test_allocated_by_assignment()
    call test_ghost_cells()
    call test_several_boxes()
    call test_sections()
    call test_assumed_size(reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [2, 3]))
  end subroutine

  subroutine test_types()
    integer(int8) :: i1(6), j1(6)
    integer(int16) :: i2(6), j2(6)
    integer(int32) :: i4(6), j4(6)
    integer(int64) :: i8(6), j8(6)
    real(real32) :: r4(6), s4(6)
    real(real64) :: r8(6), s8(6)
    complex(real32) :: c4(6), d4(6)
    complex(real64) :: c8(6), d8(6)
    logical(c_bool) :: l1(6), m1(6)
    character(len=5) :: t5(6), u5(6)
    type(particle) :: p(6), q(6)
    type(weir_array) :: array
    type(weir_distribution) :: mine
    integer :: i
    call mine%create(session, [6 * ranks], 'BLOCK')
    do i = 1, 6
      i4(i) = 1000 * rank + i
      p(i) = particle(i4(i), i4(i) + [0.25, 0.5, 0.75])
      write (t5(i), '(i5)') i4(i)
    end do
    i1 = int(i4 / 40, int8)
    i2 = -int(i4, int16)
    i8 = i4 * 10_int64**12
    r4 = i4 + 0.5
    r8 = i4 / 3d0
    c4 = cmplx(r4, -r4)
    c8 = cmplx(r8, -r8, real64)
    l1 = logical(mod(i4, 2) == 0, c_bool)

    call created('int8', weir_type_of(i1)); call weir_write(array, mine, i1)
    j1 = 0; call weir_read(array, mine, j1); call check(all(j1 == i1), 'int8')
    call created('int16', weir_type_of(i2)); call weir_write(array, mine, i2)
    j2 = 0; call weir_read(array, mine, j2); call check(all(j2 == i2), 'int16')
    call created('int32', weir_type_of(i4)); call weir_write(array, mine, i4)
    j4 = 0; call weir_read(array, mine, j4); call check(all(j4 == i4), 'int32')
    call created('int64', weir_type_of(i8)); call weir_write(array, mine, i8)
    j8 = 0; call weir_read(array, mine, j8); call check(all(j8 == i8), 'int64')
    call created('float32', weir_type_of(r4)); call weir_write(array, mine, r4)
    s4 = 0; call weir_read(array, mine, s4); call check(all(s4 == r4), 'float32')
    call created('float64', weir_type_of(r8)); call weir_write(array, mine, r8)
    s8 = 0; call weir_read(array, mine, s8); call check(all(s8 == r8), 'float64')
    call created('complex64', weir_type_of(c4)); call weir_write(array, mine, c4)
    d4 = 0; call weir_read(array, mine, d4); call check(all(d4 == c4), 'complex64')
    call created('complex128', weir_type_of(c8)); call weir_write(array, mine, c8)
    d8 = 0; call weir_read(array, mine, d8); call check(all(d8 == c8), 'complex128')
    call created('bool', weir_type_of(l1)); call weir_write(array, mine, l1)
    m1 = .false.; call weir_read(array, mine, m1); call check(logical(all(m1 .eqv. l1)), 'bool')
    call created('record[5]', weir_type_of(t5)); call weir_write(array, mine, t5)
    u5 = ''; call weir_read(array, mine, u5); call check(all(u5 == t5), 'characters')
    call created('record[16]', weir_type_of(p)); call weir_write(array, mine, p)
    q%number = 0; call weir_read(array, mine, q)
    call check(all(q%number == p%number) .and. all(q%place(3) == p%place(3)), 'derived type')
    ! Fortran has no unsigned integers: bit for bit.
    call created('uint16', 'uint16'); call weir_write(array, mine, i2)
    j2 = 0; call weir_read(array, mine, j2); call check(all(j2 == i2), 'uint16')

  contains

    subroutine created(expected, found)
      character(len=*), intent(in) :: expected, found
      call check(found == expected, 'the type of '//expected//' is '//found)
      call array%create(session, path('types_'//expected), [6 * ranks], expected)
      call check(array%element_type() == expected, 'the name of '//expected)
    end subroutine
  end subroutine

  ! Ranks 1, 3, 7 and 15 by the same procedure.
  subroutine test_ranks()
    integer(int32) :: one(4), three(2, 3, 2), seven(2, 1, 2, 1, 2, 1, 3)
    integer(int32) :: fifteen(2, 1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1)
    integer(int32) :: other(2, 1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1)
    integer :: i
    call moved(one, shape(one))
    call moved(three, shape(three))
    call moved(seven, shape(seven))
    fifteen = reshape([(i + 100 * rank, i=1, size(fifteen))], shape(fifteen))
    call written(fifteen, shape(fifteen), other)
    call check(all(other == fifteen), 'rank 15')

  contains

    subroutine moved(data, extents)
      type(*), dimension(..), intent(inout), target :: data
      integer, intent(in) :: extents(:)
      call written(data, extents, data)
    end subroutine

    ! The last dimension is distributed: each rank has `extents` of it.
    subroutine written(data, extents, back)
      type(*), dimension(..), intent(in), target :: data
      integer, intent(in) :: extents(:)
      type(*), dimension(..), intent(inout), target :: back
      type(weir_array) :: array
      type(weir_distribution) :: mine
      integer, allocatable :: whole(:)
      integer :: status
      whole = extents
      whole(size(whole)) = ranks * whole(size(whole))
      call mine%create(session, whole, repeat('*, ', size(whole) - 1)//'BLOCK')
      call array%create(session, path('ranks'), whole, 'int32')
      call check(array%dimensions() == size(whole), 'dimensions')
      call check(all(array%shape() == whole), 'the shape is Fortran''s')
      call weir_write(array, mine, data, status=status)
      call check(status == weir_ok, 'written')
      call weir_read(array, mine, back, status=status)
      call check(status == weir_ok, 'read')
      call array%close()
    end subroutine
  end subroutine

  subroutine test_not_contiguous()
    real(real64), allocatable :: whole(:, :), back(:, :)
    type(particle), target :: particles(5)
    integer(int32), pointer :: their_numbers(:)
    integer(int32) :: numbers(5)
    type(weir_array) :: array
    type(weir_distribution) :: mine
    integer :: i, j
    allocate (whole(9, 8), back(9, 8))
    do j = 1, 8
      do i = 1, 9
        whole(i, j) = 100 * i + j + 10000 * rank
      end do
    end do
    call mine%create(session, [4 * ranks, 4], 'BLOCK, *')
    call array%create(session, path('strided'), [4 * ranks, 4], 'float64')
    call weir_write(array, mine, whole(2:8:2, 8:1:-2))
    back = -1
    call weir_read(array, mine, back(1:4, 3:6))
    call check(all(back(1:4, 3:6) == whole(2:8:2, 8:1:-2)), 'every second row, columns backwards')
    call check(count(back == -1) == 9 * 8 - 16, 'nothing around it has changed')
    back = -1
    call weir_read(array, mine, back(9:3:-2, ::2))
    call check(all(back(9:3:-2, ::2) == whole(2:8:2, 8:1:-2)), 'into memory with strides')
    call check(count(back == -1) == 9 * 8 - 16, 'nothing between them has changed')
    ! A component of every element.
    particles%number = [(rank * 10 + i, i=1, 5)]
    particles%place(1) = 0
    call mine%create(session, [5 * ranks], 'BLOCK')
    call array%create(session, path('components'), [5 * ranks], 'int32')
    call weir_write(array, mine, particles%number)
    call weir_read(array, mine, numbers)
    call check(all(numbers == particles%number), 'components of a derived type')
    ! A pointer to them: its elements lie as far apart as the particles.
    their_numbers => particles%number
    call weir_write(array, mine, their_numbers(5:1:-1))
    call weir_read(array, mine, numbers)
    call check(all(numbers == particles(5:1:-1)%number), 'components by a pointer, backwards')
    call weir_read(array, mine, their_numbers)
    call check(all(particles%number == numbers), 'into components by a pointer')
    call check(all(abs(particles%place(1)) <= 0), 'and into nothing beside them')
  end subroutine

  ! The descriptor of an array that an assignment allocates is the compiler's work alone.
  subroutine test_allocated_by_assignment()
    integer(int32), allocatable :: made(:, :), packed(:)
    integer(int32) :: back(3, 4)
    type(weir_array) :: array
    type(weir_distribution) :: mine
    integer :: extents(2), i
    extents = [3, 4]
    made = reshape([(i + 1000 * rank, i=1, product(extents))], extents)
    call mine%create(session, [3, 4 * ranks], '*, BLOCK')
    call array%create(session, path('assigned'), [3, 4 * ranks], 'int32')
    call weir_write(array, mine, made)
    back = 0; call weir_read(array, mine, back)
    call check(all(back == made), 'an array that reshape has made')
    made = spread([1, 2, 3, 4] + 10 * rank, 1, 6)
    call weir_write(array, mine, made(2:6:2, 4:1:-1))
    back = 0; call weir_read(array, mine, back)
    call check(all(back == made(2:6:2, 4:1:-1)), 'a section of one that spread has made')
    call weir_read(array, mine, made(1:3, :))
    call check(all(made(1:3, :) == back), 'into a section of one')
    packed = pack(made(1:3, :), made(1:3, :) > 0)
    call mine%create(session, [12 * ranks], 'BLOCK')
    call array%create(session, path('packed'), [12 * ranks], 'int32')
    call weir_write(array, mine, packed)
    packed = -1; call weir_read(array, mine, packed)
    call check(all(packed == pack(back, back > 0)), 'one that pack has made')
  end subroutine

  subroutine test_ghost_cells()
    integer(int32) :: field(0:6, -1:4), back(0:6, -1:4)
    type(weir_array) :: array
    type(weir_distribution) :: mine
    type(weir_ghosts) :: ghosts
    integer :: i
    ghosts = weir_ghosts(lower=[1, 2], upper=[2, 0])
    field = reshape([(i + 1000 * rank, i=1, size(field))], shape(field))
    call mine%create(session, [4, 4 * ranks], '*, BLOCK')
    call array%create(session, path('ghosts'), [4, 4 * ranks], 'int32')
    call weir_write(array, mine, field, ghosts=ghosts)
    back = -1
    call weir_read(array, mine, back, ghosts=ghosts)
    call check(all(back(1:4, 1:4) == field(1:4, 1:4)), 'the part')
    call check(count(back == -1) == size(back) - 16, 'ghost cells are as they were')
    ! This is the same memory by a section, which needs no words.
    back = -1
    call weir_read(array, mine, back(1:4, 1:4))
    call check(all(back(1:4, 1:4) == field(1:4, 1:4)), 'the part by a section of the memory')
  end subroutine

  subroutine test_several_boxes()
    integer(int32) :: two_boxes(3 * 2 + 3 * 1), whole(3, 3), none(0)
    type(weir_array) :: array
    type(weir_distribution) :: boxes, everywhere
    integer :: i, status
    call array%create(session, path('boxes'), [3, 3], 'int32')
    if (rank == 0) then
      call boxes%from_boxes(session, [3, 3], reshape([1, 2, 1, 1], [2, 2]), &
                            reshape([3, 2, 3, 1], [2, 2]))
      two_boxes = [(i, i=1, 9)]
      call weir_write(array, boxes, two_boxes, status=status)
    else
      call boxes%from_boxes(session, [3, 3], reshape(none, [2, 0]), reshape(none, [2, 0]))
      call weir_write(array, boxes, none, status=status)
    end if
    call check(status == weir_ok, 'written by boxes')
    call everywhere%from_boxes(session, [3, 3], reshape([1, 1], [2, 1]), reshape([3, 3], [2, 1]))
    call weir_read(array, everywhere, whole)
    call check(all(whole == reshape([7, 8, 9, 1, 2, 3, 4, 5, 6], [3, 3])), 'the boxes side by side')
  end subroutine

  subroutine test_sections()
    real(real32) :: field(6, 5), expected(6, 5)
    type(weir_array) :: array
    type(weir_distribution) :: everywhere
    type(weir_section) :: section
    integer :: i
    call array%create(session, path('sections'), [6, 5], 'float32')
    call everywhere%create(session, [6, 5], '*, BLOCK(5)')
    field = reshape([(real(i, real32), i=1, 30)], [6, 5])
    section = weir_section(start=[2, 3], count=[3, 2], stride=[2, 1])
    if (rank == 0) then
      call weir_write(array, everywhere, field, section=section)
      expected = 0
      expected(2:6:2, 3:4) = field(2:6:2, 3:4)
      field = -1
      call weir_read(array, everywhere, field)
      call check(all(field == expected), 'only the section was written')
      field = -1
      call weir_read(array, everywhere, field, section=weir_section([4, 3], [1, 1]))
      call check(field(4, 3) == expected(4, 3) .and. count(field == -1) == 29, 'one element is read')
    else
      ! Ranks without elements take part with whatever they have.
      call weir_write(array, everywhere, field(1:0, 1:0), section=section, status=i)
      call weir_read(array, everywhere, field(1:0, 1:0), status=i)
      call weir_read(array, everywhere, field(1:0, 1:0), section=weir_section([4, 3], [1, 1]), &
                     status=i)
    end if
  end subroutine

  ! An array as FORTRAN 77 passes it.
  subroutine test_assumed_size(field)
    real(real64), intent(in) :: field(2, *)
    real(real64) :: back(2, 3)
    type(weir_array) :: array
    type(weir_distribution) :: mine
    call array%create(session, path('assumed_size'), [2, 3 * ranks], 'float64')
    call mine%create(session, [2, 3 * ranks], '*, BLOCK')
    call weir_write(array, mine, field)
    call weir_read(array, mine, back)
    call check(all(back == field(:, 1:3)), 'an assumed-size array')
  end subroutine
end module
