! Files of standard formats. A file holds several arrays with attributes, and steps. Its format is
! HDF5, NetCDF or Zarr, as their own tools read them. A program calls, in this order:
!
!   weir_file_create, weir_file_define, weir_file_attribute_...   nothing is on disk yet
!   weir_file_step_begin     lays the file out; later calls make room for one more step
!   weir_write, ...          on the file's arrays: transfers go to the step that has begun
!   weir_file_step_end       makes the step durable, as far as options require, and visible as a
!                            whole; or weir_file_step_abort removes it
!   weir_file_close
!
! In Fortran the steps are an array's last dimension, which shapes here do not include; steps are
! numbered from 1. weir.h says what a run that is killed leaves.
module weir_files
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_int32_t, c_loc, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use weir_arrays, only: weir_array
  use weir_bindings, only: c_array_dimension_name, c_array_has_steps, c_file_array, &
                           c_file_array_name, c_file_arrays, c_file_close, c_file_create, &
                           c_file_define, c_file_drop_steps, c_file_extend, c_file_in_step, &
                           c_file_open, c_file_select_step, c_file_step_abort, &
                           c_file_step_begin, c_file_step_end, c_file_step_test, &
                           c_file_step_wait, c_file_steps, c_file_unwritten, &
                           c_file_unwritten_name, define_options_in_c, file_open_options_in_c, &
                           file_options_in_c, transfer_in_c
  use weir_constants, only: weir_column_major, weir_e_argument, weir_ok
  use weir_distributions, only: weir_distribution
  use weir_memory, only: describe
  use weir_outcomes, only: lend_text, place_names, settle, text_at, with_null
  use weir_sessions, only: weir_session
  implicit none
  private
  public :: weir_file_create, weir_file_open, weir_file_close, weir_file_define
  public :: weir_file_step_begin, weir_file_step_end, weir_file_step_abort, weir_file_in_step
  public :: weir_file_step_wait, weir_file_step_test
  public :: weir_file_steps, weir_file_select_step, weir_file_drop_steps, weir_file_extend
  public :: weir_file_unwritten, weir_file_unwritten_name
  public :: weir_file_arrays, weir_file_array_name, weir_file_array
  public :: weir_array_has_steps, weir_array_dimension_name

  ! All components alike. A component that is not allocated, or 0, has its default.
  type, public :: weir_file_options
    ! 'hdf5', 'cdf5', 'cdf2', 'cdf1', 'zarr' or 'raw'. Default: the path's ending decides: .h5,
    ! .hdf5, .he5; .nc (cdf5); .zarr; .raw
    character(len=:), allocatable :: format
    ! From when on written data survives a crash of the system: 'step' (when weir_file_step_end
    ! returns), 'operation' (also when each write returns), 'none' (whenever the system writes it),
    ! 'journal' (as 'step', and its stagers have the step in their journals when
    ! weir_file_step_end returns). Default: as the session's option
    character(len=:), allocatable :: durability
    character(len=:), allocatable :: step_dimension  ! dimension of the steps; default: 'step'
    ! Arrays of at least this size begin at a multiple of it. 1: anywhere; 0: at multiples of up to
    ! 2 MiB
    integer(int64) :: alignment_bytes = 0
    ! Checksum of every block, kept in PATH.sums: 'crc32c' or 'none'. Default: 'none'
    character(len=:), allocatable :: checksum
    ! The next four components set the striping of new files on Lustre and CephFS: the number of
    ! targets that have parts of a file (-1: all), the bytes that lie together on a target, the
    ! index of the first target plus 1, and the pool of targets. 0 or not allocated: as the folder
    ! has it.
    integer(int64) :: stripe_count = 0
    integer(int64) :: stripe_bytes = 0
    integer(int64) :: first_target = 0
    character(len=:), allocatable :: pool
    ! What happens if no rank writes one of the arrays in a step: 'fill' (the array has its fill
    ! value in that step; weir_file_unwritten names it) or 'error' (weir_file_step_end fails and
    ! names it). Default: 'fill'
    character(len=:), allocatable :: unwritten
  end type

  ! All components alike.
  type, public :: weir_define_options
    integer :: order = weir_column_major  ! weir_row_major: stored with the dimensions reversed
    logical :: steps = .false.            ! the array has its own values in each step
    ! At most one of the next three may be given, as in weir_array_options; extents within one step.
    integer(int64), allocatable :: chunks(:)
    type(weir_distribution) :: natural_chunks
    integer(int64), allocatable :: typical_request(:)
    integer(int64) :: chunk_buffer_bytes = 0
    integer(int64) :: chunk_block_bytes = 0
    integer(int64), allocatable :: shards(:)  ! extents of the part that shares a file (zarr)
    character(len=:), allocatable :: dimension_names(:)
    character(len=:), allocatable :: codec  ! such as 'zstd:3' or 'shuffle,zstd:1,crc32c'
  end type

  ! All components alike.
  type, public :: weir_file_open_options
    logical :: read_only = .false.
    logical :: rewrite = .false.  ! arrays without steps can be written again, outside any step
    character(len=:), allocatable :: durability
    character(len=:), allocatable :: checksum  ! for added steps; default: as in existing steps
    character(len=:), allocatable :: unwritten  ! for added steps
  end type

  ! Handles are copied by assignment. `close` ends them; the end of the variable does not.
  type, public :: weir_file
    private
    type(c_ptr), public :: handle = c_null_ptr   ! the weir_file * of C
    type(c_ptr), public :: session = c_null_ptr  ! the weir_session * in which it is open
  contains
    procedure, pass(file) :: create => weir_file_create
    procedure, pass(file) :: open => weir_file_open
    procedure :: close => weir_file_close
    procedure :: step_begin => weir_file_step_begin
    procedure :: step_end => weir_file_step_end
    procedure :: step_wait => weir_file_step_wait
    procedure :: step_test => weir_file_step_test
    procedure :: step_abort => weir_file_step_abort
    procedure :: in_step => weir_file_in_step
    procedure :: drop_steps => weir_file_drop_steps
    procedure :: extend => weir_file_extend
    procedure :: steps => weir_file_steps
    procedure :: unwritten => weir_file_unwritten
    procedure :: unwritten_name => weir_file_unwritten_name
    procedure :: select_step => weir_file_select_step
    procedure :: arrays => weir_file_arrays
    procedure :: array_name => weir_file_array_name
    procedure :: array => weir_file_array
  end type

  ! weir_file_define(file, name, shape, element_type, array [, options] [, fill] [, status])
  !
  ! Defines an array in the file. The name has '/' between groups; the shape is that of one step, if
  ! the array has steps; the type is as for weir_array_create. With steps, the shape [integer ::]
  ! means one number for each step, such as its time; in memory it has the shape [1]. `fill` is one
  ! element of that type: the value that readers see where nothing was written. The array belongs to
  ! the file and is closed with it. Every rank makes the same calls; weir_file_step_begin fails if
  ! they differ. Arrays can be defined before the first step, or between steps; in the latter case
  ! the array is in the file after weir_file_extend or the next weir_file_step_begin. Local.
  interface weir_file_define
    module procedure define_small, define_large
  end interface

contains

  ! Begins the definition of a file in an existing folder. Local.
  subroutine weir_file_create(session, path, file, options, status)
    class(weir_session), intent(in) :: session
    character(len=*), intent(in) :: path
    class(weir_file), intent(inout) :: file
    type(weir_file_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(kind=c_char, len=:), allocatable, target :: format, durability, step_dimension
    character(kind=c_char, len=:), allocatable, target :: checksum, pool, unwritten
    type(file_options_in_c) :: in_c
    if (present(options)) then
      in_c%alignment_bytes = options%alignment_bytes
      in_c%stripe_count = options%stripe_count
      in_c%stripe_bytes = options%stripe_bytes
      in_c%first_target = options%first_target
      call lend_text(options%pool, pool, in_c%pool)
      call lend_text(options%format, format, in_c%format)
      call lend_text(options%durability, durability, in_c%durability)
      call lend_text(options%step_dimension, step_dimension, in_c%step_dimension)
      call lend_text(options%checksum, checksum, in_c%checksum)
      call lend_text(options%unwritten, unwritten, in_c%unwritten)
    end if
    file%session = session%handle
    call settle(c_file_create(session%handle, with_null(path), in_c, file%handle), status)
  end subroutine

  ! Opens a file of any of these formats, whichever program wrote it; the file's content tells the
  ! format. All arguments alike. Collective.
  subroutine weir_file_open(session, path, file, options, status)
    class(weir_session), intent(in) :: session
    character(len=*), intent(in) :: path
    class(weir_file), intent(inout) :: file
    type(weir_file_open_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(kind=c_char, len=:), allocatable, target :: durability, checksum, unwritten
    type(file_open_options_in_c) :: in_c
    if (present(options)) then
      in_c%read_only = merge(1, 0, options%read_only)
      in_c%rewrite = merge(1, 0, options%rewrite)
      call lend_text(options%durability, durability, in_c%durability)
      call lend_text(options%checksum, checksum, in_c%checksum)
      call lend_text(options%unwritten, unwritten, in_c%unwritten)
    end if
    file%session = session%handle
    call settle(c_file_open(session%handle, with_null(path), in_c, file%handle), status)
  end subroutine

  ! Closes the file and its arrays. If a step has begun and not ended, it is not in the file, and
  ! the call fails and says so. Collective.
  subroutine weir_file_close(file, status)
    class(weir_file), intent(inout) :: file
    integer, intent(out), optional :: status
    call settle(c_file_close(file%handle), status)
  end subroutine

  subroutine define_small(file, name, shape, element_type, array, options, fill, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: shape(:)
    character(len=*), intent(in) :: element_type
    type(weir_array), intent(inout) :: array
    type(weir_define_options), intent(in), optional :: options
    type(*), dimension(..), intent(in), target, optional :: fill
    integer, intent(out), optional :: status
    call define_large(file, name, int(shape, int64), element_type, array, options, fill, status)
  end subroutine

  subroutine define_large(file, name, shape, element_type, array, options, fill, status)
    type(weir_file), intent(in) :: file
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: shape(:)
    character(len=*), intent(in) :: element_type
    type(weir_array), intent(inout) :: array
    type(weir_define_options), intent(in), optional :: options
    type(*), dimension(..), intent(in), target, optional :: fill
    integer, intent(out), optional :: status
    character(len=:), allocatable :: type_name
    character(kind=c_char), allocatable, target :: names(:, :)
    type(c_ptr), allocatable, target :: places(:)
    integer(int64), allocatable, target :: chunks(:), typical_request(:), shards(:)
    character(kind=c_char, len=:), allocatable, target :: codec
    type(define_options_in_c) :: in_c
    integer(c_int32_t) :: dimensions
    dimensions = size(shape)
    if (present(options)) then
      ! An order that is column-major here is row-major with the dimensions reversed.
      in_c%order = weir_column_major - options%order
      in_c%steps = merge(1, 0, options%steps)
      in_c%natural_chunks = options%natural_chunks%handle
      in_c%chunk_buffer_bytes = options%chunk_buffer_bytes
      in_c%chunk_block_bytes = options%chunk_block_bytes
      call turn(options%chunks, chunks, in_c%chunks)
      call turn(options%typical_request, typical_request, in_c%typical_request)
      call turn(options%shards, shards, in_c%shards)
      call lend_text(options%codec, codec, in_c%codec)
      if (allocated(options%dimension_names)) then
        if (size(options%dimension_names) == size(shape)) then
          call place_names(options%dimension_names, .true., names, places)
          if (size(places) > 0) in_c%dimension_names = c_loc(places)
        else
          dimensions = -1
        end if
      end if
    end if
    type_name = element_type
    if (present(fill)) call take_fill(fill, type_name, in_c%fill)
    array%session = file%session
    call settle(c_file_define(file%handle, with_null(name), dimensions, &
                              shape(size(shape):1:-1), with_null(type_name), in_c, &
                              array%handle), status)

  contains

    ! Extents for a wrong number of dimensions are refused on all ranks alike.
    subroutine turn(given, turned, place)
      integer(int64), allocatable, intent(in) :: given(:)
      integer(int64), allocatable, target, intent(out) :: turned(:)
      type(c_ptr), intent(out) :: place
      place = c_null_ptr
      if (.not. allocated(given)) return
      if (size(given) /= size(shape)) dimensions = -1
      allocate (turned, source=given(size(given):1:-1))
      place = c_loc(turned)
    end subroutine
  end subroutine

  ! Returns the address of the fill value. If its type is not the array's, `type_name` becomes the
  ! name of a type that does not exist, which the library refuses.
  subroutine take_fill(fill, type_name, place)
    type(*), dimension(..), intent(in), target :: fill
    character(len=:), allocatable, intent(inout) :: type_name
    type(c_ptr), intent(out) :: place
    type(transfer_in_c) :: described
    character(kind=c_char), target :: found(size(described%type))
    call describe(fill, described)
    found = described%type
    if (text_at(c_loc(found)) /= type_name) then
      type_name = type_name//' with a fill value that is '//text_at(c_loc(found))
    end if
    place = described%data
  end subroutine

  ! Begins a step. The first step of a new file lays the file out, which ends its definition. Later
  ! steps make room in all arrays that have steps. Collective.
  subroutine weir_file_step_begin(file, status)
    class(weir_file), intent(in) :: file
    integer, intent(out), optional :: status
    call settle(c_file_step_begin(file%handle), status)
  end subroutine

  ! Ends the step: makes what all ranks wrote in it durable, then visible to readers. If this fails,
  ! or a write of the step failed, the step is not in the file and may be begun again. Collective.
  subroutine weir_file_step_end(file, status)
    class(weir_file), intent(in) :: file
    integer, intent(out), optional :: status
    call settle(c_file_step_end(file%handle), status)
  end subroutine

  ! Waits until the step that ended last is on storage, for at most `seconds` (default: as long as it
  ! takes); fails with weir_e_deadline if it is not by then. Without staging there is nothing to wait
  ! for. Collective, between steps.
  subroutine weir_file_step_wait(file, seconds, status)
    class(weir_file), intent(in) :: file
    real(c_double), intent(in), optional :: seconds
    integer, intent(out), optional :: status
    real(c_double) :: longest
    longest = huge(longest)
    if (present(seconds)) longest = seconds
    call settle(c_file_step_wait(file%handle, longest), status)
  end subroutine

  ! Sets `stored` to whether the step that ended last is on storage, without waiting. Collective,
  ! between steps.
  subroutine weir_file_step_test(file, stored, status)
    class(weir_file), intent(in) :: file
    logical, intent(out) :: stored
    integer, intent(out), optional :: status
    integer(c_int32_t) :: is_stored(1)
    is_stored = 0
    call settle(c_file_step_test(file%handle, is_stored), status)
    stored = is_stored(1) /= 0
  end subroutine

  ! Gives up the step that has begun: nothing of it is in the file, now or in the next step. If the
  ! first step is given up, nothing is left on disk. Collective, but one rank may call it before the
  ! others know: their calls fail with weir_e_aborted and this rank's `reason` until each has called
  ! this.
  subroutine weir_file_step_abort(file, reason, status)
    class(weir_file), intent(in) :: file
    character(len=*), intent(in), optional :: reason
    integer, intent(out), optional :: status
    if (present(reason)) then
      call settle(c_file_step_abort(file%handle, with_null(reason)), status)
    else
      call settle(c_file_step_abort(file%handle, with_null('')), status)
    end if
  end subroutine

  ! Keeps the first `steps` steps and removes the others, for a run that starts again from an
  ! earlier checkpoint. Collective, between steps; `steps` alike.
  subroutine weir_file_drop_steps(file, steps, status)
    class(weir_file), intent(in) :: file
    integer, intent(in) :: steps
    integer, intent(out), optional :: status
    call settle(c_file_drop_steps(file%handle, int(steps, int64)), status)
  end subroutine

  ! Adds, at once, the arrays and attributes that were defined since the file was laid out or
  ! opened. weir_file_step_begin also does this. Collective, between steps.
  subroutine weir_file_extend(file, status)
    class(weir_file), intent(in) :: file
    integer, intent(out), optional :: status
    call settle(c_file_extend(file%handle), status)
  end subroutine

  ! Returns whether a step has begun and neither ended nor been given up. Local.
  function weir_file_in_step(file, status) result(in_step)
    class(weir_file), intent(in) :: file
    integer, intent(out), optional :: status
    logical :: in_step
    integer(c_int32_t) :: found
    found = c_file_in_step(file%handle)
    in_step = found > 0
    call settle(int(found, int64), status)
  end function

  ! Returns how many steps have ended; 1 if no array has steps. Local.
  function weir_file_steps(file, status) result(steps)
    class(weir_file), intent(in) :: file
    integer, intent(out), optional :: status
    integer(int64) :: steps
    steps = c_file_steps(file%handle)
    call settle(steps, status)
  end function

  ! Return how many arrays no rank wrote in the step that ended last, and the name of one of them,
  ! counted from 1. These arrays have their fill value in that step. The number is 0 again when the
  ! next step has begun. Local.
  function weir_file_unwritten(file, status) result(arrays)
    class(weir_file), intent(in) :: file
    integer, intent(out), optional :: status
    integer(int64) :: arrays
    arrays = c_file_unwritten(file%handle)
    call settle(arrays, status)
  end function

  function weir_file_unwritten_name(file, number, status) result(name)
    class(weir_file), intent(in) :: file
    integer, intent(in) :: number
    integer, intent(out), optional :: status
    character(len=:), allocatable :: name
    name = text_or_failure(c_file_unwritten_name(file%handle, int(number, int64) - 1), status)
  end function

  ! Selects the step, counted from 1, that reads use from now on; after opening it is the last step.
  ! Not allowed inside a step. Local, but all ranks must have selected the same step when a request
  ! begins.
  subroutine weir_file_select_step(file, step, status)
    class(weir_file), intent(in) :: file
    integer, intent(in) :: step
    integer, intent(out), optional :: status
    call settle(c_file_select_step(file%handle, int(step, int64) - 1), status)
  end subroutine

  ! Returns how many arrays the file has. Local.
  function weir_file_arrays(file, status) result(arrays)
    class(weir_file), intent(in) :: file
    integer, intent(out), optional :: status
    integer(int64) :: arrays
    arrays = c_file_arrays(file%handle)
    call settle(arrays, status)
  end function

  ! Returns the name of an array of the file by its number, counted from 1. Local.
  function weir_file_array_name(file, number, status) result(name)
    class(weir_file), intent(in) :: file
    integer, intent(in) :: number
    integer, intent(out), optional :: status
    character(len=:), allocatable :: name
    name = text_or_failure(c_file_array_name(file%handle, int(number, int64) - 1), status)
  end function

  ! Gets an array of the file by its name; it belongs to the file. An array that cannot be read is
  ! refused with the reason. Local.
  subroutine weir_file_array(file, name, array, status)
    class(weir_file), intent(in) :: file
    character(len=*), intent(in) :: name
    type(weir_array), intent(inout) :: array
    integer, intent(out), optional :: status
    array%session = file%session
    call settle(c_file_array(file%handle, with_null(name), array%handle), status)
  end subroutine

  ! Returns whether an array of a file has steps. Local.
  function weir_array_has_steps(array, status) result(has_steps)
    class(weir_array), intent(in) :: array
    integer, intent(out), optional :: status
    logical :: has_steps
    integer(c_int32_t) :: found
    found = c_array_has_steps(array%handle)
    has_steps = found > 0
    call settle(int(found, int64), status)
  end function

  ! Returns the name of one of the array's dimensions, counted from 1; '' if the dimension has none.
  ! Local.
  function weir_array_dimension_name(array, dimension, status) result(name)
    class(weir_array), intent(in) :: array
    integer, intent(in) :: dimension
    integer, intent(out), optional :: status
    character(len=:), allocatable :: name
    integer :: dimensions
    dimensions = max(0, array%dimensions())
    name = text_or_failure(c_array_dimension_name(array%handle, &
                                                  int(dimensions - dimension, c_int32_t)), status)
  end function

  function text_or_failure(place, status) result(text)
    type(c_ptr), intent(in) :: place
    integer, intent(out), optional :: status
    character(len=:), allocatable :: text
    text = text_at(place)
    call settle(merge(int(weir_ok, int64), int(weir_e_argument, int64), c_associated(place)), &
                status)
  end function
end module
