! Distributions: which elements of an array each rank holds in memory.
!
! Dimensions are in Fortran's order: the first runs fastest in memory and in files. The library
! below has them in the reverse order; this is one of the places where they are reversed.
module weir_distributions
  use, intrinsic :: iso_c_binding, only: c_int32_t, c_loc, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use weir_bindings, only: c_distribution_create, c_distribution_elements, c_distribution_free, &
                           c_distribution_from_boxes, c_distribution_global_index, &
                           c_distribution_piece_shape, c_distribution_pieces, &
                           distribution_options_in_c
  use weir_constants, only: weir_column_major
  use weir_outcomes, only: reversed_formats, settle, with_null
  use weir_sessions, only: weir_session
  implicit none
  private
  public :: weir_distribution_create, weir_distribution_from_boxes, weir_distribution_free
  public :: weir_distribution_elements, weir_distribution_pieces, weir_distribution_piece_shape
  public :: weir_distribution_global_index

  ! All components alike.
  type, public :: weir_distribution_options
    ! Ranks along each dimension, 1 along '*'. Not allocated: all ranks, divided over the
    ! distributed dimensions as evenly as possible. Ranks beyond the grid hold nothing.
    integer(int64), allocatable :: grid(:)
    ! The dimension of the grid along which rank numbers run fastest: weir_column_major (HPF, BLACS
    ! 'C') or weir_row_major (MPI_Cart, BLACS 'R').
    integer :: grid_order = weir_column_major
  end type

  type, public :: weir_distribution
    private
    type(c_ptr), public :: handle = c_null_ptr  ! the weir_distribution * of C
    integer :: dimensions = 0
  contains
    procedure, pass(distribution), private :: create_small, create_large
    procedure, pass(distribution), private :: from_small_boxes, from_large_boxes
    procedure, pass(distribution), private :: global_small, global_large
    generic :: create => create_small, create_large
    generic :: from_boxes => from_small_boxes, from_large_boxes
    generic :: global_index => global_small, global_large
    procedure :: free => weir_distribution_free
    procedure :: elements => weir_distribution_elements
    procedure :: pieces => weir_distribution_pieces
    procedure :: shape => weir_distribution_piece_shape
  end type

  ! weir_distribution_create(session, shape, formats, distribution [, options] [, status])
  !
  ! Distributes an array of this shape (in elements) over the session's ranks. `formats` has one
  ! word per dimension, separated by commas: '*' (not distributed), 'BLOCK', 'BLOCK(100)', 'CYCLIC',
  ! 'CYCLIC(32)', 'CYCLIC(32,from=1)', with HPF's meaning; `from` is counted from 0. All arguments
  ! alike. `shape` consists of integers of 4 or 8 bytes. Collective.
  interface weir_distribution_create
    module procedure create_small, create_large
  end interface

  ! weir_distribution_from_boxes(session, shape, lower, extent, distribution [, status])
  !
  ! Creates a distribution of explicit boxes. This rank holds size(lower, 2) of them (0 or more);
  ! along dimension d, box b begins at index lower(d, b), counted from 1, and has extent(d, b)
  ! elements. Boxes may differ in size, be empty, and leave holes. If two boxes have elements in
  ! common, arrays can be read with the distribution but not written. `shape` alike; the boxes are
  ! each rank's own. Collective.
  interface weir_distribution_from_boxes
    module procedure from_small_boxes, from_large_boxes
  end interface

  ! weir_distribution_global_index(distribution, local [, piece] [, status]) result(index)
  !
  ! Returns the index in the whole array of the element at index `local` of a piece (default: piece
  ! 1). All indices and pieces are counted from 1. Local.
  interface weir_distribution_global_index
    module procedure global_small, global_large
  end interface

contains

  subroutine create_small(session, shape, formats, distribution, options, status)
    class(weir_session), intent(in) :: session
    integer(int32), intent(in) :: shape(:)
    character(len=*), intent(in) :: formats
    class(weir_distribution), intent(inout) :: distribution
    type(weir_distribution_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    call create_large(session, int(shape, int64), formats, distribution, options, status)
  end subroutine

  subroutine create_large(session, shape, formats, distribution, options, status)
    class(weir_session), intent(in) :: session
    integer(int64), intent(in) :: shape(:)
    character(len=*), intent(in) :: formats
    class(weir_distribution), intent(inout) :: distribution
    type(weir_distribution_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    type(distribution_options_in_c) :: in_c
    integer(int64), allocatable, target :: grid(:)
    integer(c_int32_t) :: dimensions
    dimensions = size(shape)
    if (present(options)) then
      ! An order that is column-major here is row-major with the dimensions reversed.
      in_c%grid_order = weir_column_major - options%grid_order
      if (allocated(options%grid)) then
        allocate (grid, source=options%grid(size(options%grid):1:-1))
        in_c%grid = c_loc(grid)
        ! A grid for a wrong number of dimensions is refused on all ranks alike.
        if (size(grid) /= dimensions) dimensions = 0
      end if
    end if
    distribution%dimensions = size(shape)
    call settle(c_distribution_create(session%handle, dimensions, shape(size(shape):1:-1), &
                                      with_null(reversed_formats(formats)), in_c, &
                                      distribution%handle), status)
  end subroutine

  subroutine from_small_boxes(session, shape, lower, extent, distribution, status)
    class(weir_session), intent(in) :: session
    integer(int32), intent(in) :: shape(:)
    integer(int32), intent(in) :: lower(:, :)
    integer(int32), intent(in) :: extent(:, :)
    class(weir_distribution), intent(inout) :: distribution
    integer, intent(out), optional :: status
    call from_large_boxes(session, int(shape, int64), int(lower, int64), int(extent, int64), &
                          distribution, status)
  end subroutine

  subroutine from_large_boxes(session, shape, lower, extent, distribution, status)
    class(weir_session), intent(in) :: session
    integer(int64), intent(in) :: shape(:)
    integer(int64), intent(in) :: lower(:, :)
    integer(int64), intent(in) :: extent(:, :)
    class(weir_distribution), intent(inout) :: distribution
    integer, intent(out), optional :: status
    integer(c_int32_t) :: dimensions
    logical :: fits
    ! Lists for a wrong number of dimensions, or of different numbers of boxes, are refused on all
    ! ranks alike.
    fits = size(lower, 2) == size(extent, 2)
    if (size(lower, 2) > 0) then
      fits = fits .and. size(lower, 1) == size(shape) .and. size(extent, 1) == size(shape)
    end if
    dimensions = merge(size(shape), 0, fits)
    distribution%dimensions = size(shape)
    call settle(c_distribution_from_boxes(session%handle, dimensions, shape(size(shape):1:-1), &
                                          int(size(lower, 2), int64), &
                                          lower(size(lower, 1):1:-1, :) - 1, &
                                          extent(size(extent, 1):1:-1, :), &
                                          distribution%handle), status)
  end subroutine

  ! Frees a distribution. Requests under way keep what they need. Local.
  subroutine weir_distribution_free(distribution)
    class(weir_distribution), intent(inout) :: distribution
    call c_distribution_free(distribution%handle)
  end subroutine

  ! Returns how many elements this rank holds. Local.
  function weir_distribution_elements(distribution, status) result(elements)
    class(weir_distribution), intent(in) :: distribution
    integer, intent(out), optional :: status
    integer(int64) :: elements
    elements = c_distribution_elements(distribution%handle)
    call settle(elements, status)
  end function

  ! Returns in how many pieces this rank holds them: 1 if the distribution was made from formats,
  ! the number of this rank's boxes otherwise. Local.
  function weir_distribution_pieces(distribution, status) result(pieces)
    class(weir_distribution), intent(in) :: distribution
    integer, intent(out), optional :: status
    integer(int64) :: pieces
    pieces = c_distribution_pieces(distribution%handle)
    call settle(pieces, status)
  end function

  ! Returns the extents of one of this rank's pieces (default: the first), for example to allocate
  ! it. Local.
  function weir_distribution_piece_shape(distribution, piece, status) result(extents)
    class(weir_distribution), intent(in) :: distribution
    integer, intent(in), optional :: piece
    integer, intent(out), optional :: status
    integer(int64), allocatable :: extents(:)
    integer(int64) :: turned(distribution%dimensions)
    turned = 0
    call settle(c_distribution_piece_shape(distribution%handle, from_zero(piece), turned), status)
    extents = turned(size(turned):1:-1)
  end function

  function global_small(distribution, local, piece, status) result(global)
    class(weir_distribution), intent(in) :: distribution
    integer(int32), intent(in) :: local(:)
    integer, intent(in), optional :: piece
    integer, intent(out), optional :: status
    integer(int64), allocatable :: global(:)
    global = global_large(distribution, int(local, int64), piece, status)
  end function

  function global_large(distribution, local, piece, status) result(global)
    class(weir_distribution), intent(in) :: distribution
    integer(int64), intent(in) :: local(:)
    integer, intent(in), optional :: piece
    integer, intent(out), optional :: status
    integer(int64), allocatable :: global(:)
    integer(int64) :: turned(distribution%dimensions)
    integer(int64) :: asked(distribution%dimensions)
    integer :: given
    ! A missing index becomes -1, which is in no piece and is refused.
    asked = -1
    given = min(size(local), size(asked))
    asked(size(asked):size(asked) - given + 1:-1) = local(1:given) - 1
    if (size(local) > size(asked)) asked = -1
    turned = 0
    call settle(c_distribution_global_index(distribution%handle, from_zero(piece), asked, turned), &
                status)
    global = turned(size(turned):1:-1) + 1
  end function

  pure function from_zero(piece) result(number)
    integer, intent(in), optional :: piece
    integer(int64) :: number
    number = 0
    if (present(piece)) number = piece - 1
  end function
end module
