! Arrays in files. Extents are in Fortran's order. C, C++, Python and other readers of the files see
! them reversed, as with the Fortran interfaces of HDF5 and NetCDF.
module weir_arrays
  use, intrinsic :: iso_c_binding, only: c_char, c_int32_t, c_loc, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use weir_bindings, only: array_options_in_c, c_array_close, c_array_create, c_array_dimensions, &
                           c_array_element_bytes, c_array_element_type, c_array_open, &
                           c_array_shape, c_array_sync, c_type_name, open_options_in_c
  use weir_constants, only: weir_column_major, weir_e_argument, weir_max_dimensions, &
                            weir_shared_file
  use weir_distributions, only: weir_distribution
  use weir_outcomes, only: lend_text, place_names, settle, text_at, with_null
  use weir_sessions, only: weir_session
  implicit none
  private
  public :: weir_array_create, weir_array_open, weir_array_dimensions, weir_array_shape
  public :: weir_array_element_type, weir_array_element_bytes, weir_array_sync, weir_array_close
  public :: weir_type_of

  ! All components alike. At most one of chunks, natural_chunks and typical_request may be given,
  ! and defines the chunks. If none is given, the whole array lies in one order.
  type, public :: weir_array_options
    ! The order of elements in the file, or in each chunk: weir_column_major, as in Fortran's
    ! memory, or weir_row_major, the last dimension running fastest.
    integer :: order = weir_column_major
    ! weir_shared_file; or, only with chunks, as many files as there are aggregators or ranks.
    integer :: files = weir_shared_file
    integer(int64), allocatable :: chunks(:)           ! extents of a chunk in elements
    type(weir_distribution) :: natural_chunks          ! chunks are equal to the blocks of this
    integer(int64), allocatable :: typical_request(:)  ! extents of a section that is often moved
    integer(int64) :: chunk_buffer_bytes = 0           ! with typical_request: largest chunk
    integer(int64) :: chunk_block_bytes = 0            ! with typical_request: smallest chunk
    ! With several files: existing folders among which the files are distributed in turn. Not
    ! allocated: all files lie beside the description.
    character(len=:), allocatable :: directories(:)
    ! The next four components set the striping of new files on Lustre and CephFS: the number of
    ! targets that have parts of a file (-1: all), the bytes that lie together on a target, the
    ! index of the first target plus 1, and the pool of targets. 0 or not allocated: as the folder
    ! has it.
    integer(int64) :: stripe_count = 0
    integer(int64) :: stripe_bytes = 0
    integer(int64) :: first_target = 0
    character(len=:), allocatable :: pool
  end type

  type, public :: weir_open_options
    logical :: read_only = .false.
  end type

  ! Handles are copied by assignment. `close` ends them; the end of the variable does not.
  type, public :: weir_array
    private
    type(c_ptr), public :: handle = c_null_ptr   ! the weir_array * of C
    type(c_ptr), public :: session = c_null_ptr  ! the weir_session * in which it is open
  contains
    procedure, pass(array), private :: create_small, create_large
    generic :: create => create_small, create_large
    procedure, pass(array) :: open => weir_array_open
    procedure :: dimensions => weir_array_dimensions
    procedure :: shape => weir_array_shape
    procedure :: element_type => weir_array_element_type
    procedure :: element_bytes => weir_array_element_bytes
    procedure :: sync => weir_array_sync
    procedure :: close => weir_array_close
  end type

  ! weir_array_create(session, path, shape, element_type, array [, options] [, status])
  !
  ! Creates an array of this shape: 1 to 15 extents (in elements; an extent may be 0), integers of 4
  ! or 8 bytes. `element_type` is 'int8' to 'int64', 'float32', 'float64', 'complex64',
  ! 'complex128', 'bool' (logical(c_bool)), or 'record[BYTES]' for derived types and characters;
  ! weir_type_of(x) returns the type of x. 'uint8' to 'uint64' are moved to and from integers bit
  ! for bit. All arguments alike.
  !
  ! The elements go to the file `path` (with several files, to path.0, path.1 and so on), the
  ! description to path.json beside it. An array that is already there is replaced. Elements that
  ! were never written read as 0. Collective.
  interface weir_array_create
    module procedure create_small, create_large
  end interface

contains

  subroutine create_small(session, path, shape, element_type, array, options, status)
    class(weir_session), intent(in) :: session
    character(len=*), intent(in) :: path
    integer(int32), intent(in) :: shape(:)
    character(len=*), intent(in) :: element_type
    class(weir_array), intent(inout) :: array
    type(weir_array_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    call create_large(session, path, int(shape, int64), element_type, array, options, status)
  end subroutine

  subroutine create_large(session, path, shape, element_type, array, options, status)
    class(weir_session), intent(in) :: session
    character(len=*), intent(in) :: path
    integer(int64), intent(in) :: shape(:)
    character(len=*), intent(in) :: element_type
    class(weir_array), intent(inout) :: array
    type(weir_array_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    type(array_options_in_c) :: in_c
    integer(int64), allocatable, target :: chunks(:), typical_request(:)
    character(kind=c_char), allocatable, target :: names(:, :)
    type(c_ptr), allocatable, target :: places(:)
    character(kind=c_char, len=:), allocatable, target :: pool
    integer(c_int32_t) :: dimensions
    dimensions = size(shape)
    if (present(options)) then
      ! An order that is column-major here is row-major with the dimensions reversed.
      in_c%order = weir_column_major - options%order
      in_c%files = options%files
      in_c%chunk_buffer_bytes = options%chunk_buffer_bytes
      in_c%chunk_block_bytes = options%chunk_block_bytes
      in_c%stripe_count = options%stripe_count
      in_c%stripe_bytes = options%stripe_bytes
      in_c%first_target = options%first_target
      call lend_text(options%pool, pool, in_c%pool)
      in_c%natural_chunks = options%natural_chunks%handle
      ! Extents for a wrong number of dimensions are refused on all ranks alike.
      if (allocated(options%chunks)) then
        allocate (chunks, source=options%chunks(size(options%chunks):1:-1))
        if (size(chunks) /= size(shape)) dimensions = 0
        in_c%chunks = c_loc(chunks)
      end if
      if (allocated(options%typical_request)) then
        allocate (typical_request, &
                  source=options%typical_request(size(options%typical_request):1:-1))
        if (size(typical_request) /= size(shape)) dimensions = 0
        in_c%typical_request = c_loc(typical_request)
      end if
      if (allocated(options%directories)) then
        call place_names(options%directories, .false., names, places)
        in_c%directory_count = size(places)
        if (size(places) > 0) in_c%directories = c_loc(places)
      end if
    end if
    array%session = session%handle
    call settle(c_array_create(session%handle, with_null(path), dimensions, &
                               shape(size(shape):1:-1), with_null(element_type), in_c, &
                               array%handle), status)
  end subroutine

  ! Opens an array that this or any other number of ranks created, in any language. All arguments
  ! alike. Collective.
  subroutine weir_array_open(session, path, array, options, status)
    class(weir_session), intent(in) :: session
    character(len=*), intent(in) :: path
    class(weir_array), intent(inout) :: array
    type(weir_open_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    type(open_options_in_c) :: in_c
    if (present(options)) in_c%read_only = merge(1, 0, options%read_only)
    array%session = session%handle
    call settle(c_array_open(session%handle, with_null(path), in_c, array%handle), status)
  end subroutine

  ! Returns how many dimensions the array has. Local.
  function weir_array_dimensions(array, status) result(dimensions)
    class(weir_array), intent(in) :: array
    integer, intent(out), optional :: status
    integer :: dimensions
    dimensions = c_array_dimensions(array%handle)
    call settle(int(dimensions, int64), status)
  end function

  ! Returns the array's extents. Local.
  function weir_array_shape(array, status) result(extents)
    class(weir_array), intent(in) :: array
    integer, intent(out), optional :: status
    integer(int64), allocatable :: extents(:)
    integer(int64) :: turned(weir_max_dimensions)
    integer :: dimensions
    dimensions = max(0, c_array_dimensions(array%handle))
    call settle(c_array_shape(array%handle, turned), status)
    extents = turned(dimensions:1:-1)
  end function

  ! Returns the name of the elements' type; '' on failure. Local.
  function weir_array_element_type(array, status) result(name)
    class(weir_array), intent(in) :: array
    integer, intent(out), optional :: status
    character(len=:), allocatable :: name
    name = text_at(c_array_element_type(array%handle))
    call settle(merge(int(weir_e_argument, int64), 0_int64, len(name) == 0), status)
  end function

  ! Returns the bytes of an element. Local.
  function weir_array_element_bytes(array, status) result(bytes)
    class(weir_array), intent(in) :: array
    integer, intent(out), optional :: status
    integer(int64) :: bytes
    bytes = c_array_element_bytes(array%handle)
    call settle(bytes, status)
  end function

  ! Makes durable what was written to the array: when this succeeds, it is on the storage, not only
  ! in memory. Collective.
  subroutine weir_array_sync(array, status)
    class(weir_array), intent(in) :: array
    integer, intent(out), optional :: status
    call settle(c_array_sync(array%handle), status)
  end subroutine

  ! Closes the array. Other programs can read what was written from then on, but it is durable only
  ! after weir_array_sync. Collective.
  subroutine weir_array_close(array, status)
    class(weir_array), intent(inout) :: array
    integer, intent(out), optional :: status
    call settle(c_array_close(array%handle), status)
  end subroutine

  ! Returns Weir's name for the element type of a variable of any type and rank, such as 'float64'
  ! for real64. Local.
  function weir_type_of(data) result(name)
    type(*), dimension(..), intent(in) :: data
    character(len=:), allocatable :: name
    character(kind=c_char), target :: characters(92)
    call c_type_name(data, characters, int(size(characters), int64))
    name = text_at(c_loc(characters))
  end function
end module
