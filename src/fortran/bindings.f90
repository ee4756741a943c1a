! Interoperable declarations of weir.h and transfers.h. Only for the other modules: programs use the
! module weir.
module weir_bindings
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int32_t, c_int64_t, c_null_ptr, &
                                         c_ptr, c_size_t
  implicit none
  private

  integer, parameter, public :: max_dimensions = 16

  type, bind(C), public :: session_options_in_c
    real(c_double) :: deadline_seconds = 0
    type(c_ptr) :: strategy = c_null_ptr
    integer(c_int64_t) :: aggregators = 0
    integer(c_int64_t) :: buffer_bytes = 0
    integer(c_int64_t) :: buffers = 0
    integer(c_int64_t) :: ranks_per_node = 0
    type(c_ptr) :: platform = c_null_ptr
    integer(c_int64_t) :: alignment_bytes = 0
    integer(c_int64_t) :: stripe_bytes = 0
    integer(c_int64_t) :: lock_bytes = 0
    integer(c_int64_t) :: targets = 0
    type(c_ptr) :: engine = c_null_ptr
    integer(c_int64_t) :: reserved(4) = 0
  end type

  type, bind(C), public :: distribution_options_in_c
    type(c_ptr) :: grid = c_null_ptr
    integer(c_int32_t) :: grid_order = 0
    integer(c_int32_t) :: reserved_flags = 0
    integer(c_int64_t) :: reserved(6) = 0
  end type

  type, bind(C), public :: array_options_in_c
    integer(c_int32_t) :: order = 0
    integer(c_int32_t) :: files = 0
    type(c_ptr) :: chunks = c_null_ptr
    type(c_ptr) :: natural_chunks = c_null_ptr
    type(c_ptr) :: typical_request = c_null_ptr
    integer(c_int64_t) :: chunk_buffer_bytes = 0
    integer(c_int64_t) :: chunk_block_bytes = 0
    type(c_ptr) :: directories = c_null_ptr
    integer(c_int64_t) :: directory_count = 0
    integer(c_int64_t) :: stripe_count = 0
    integer(c_int64_t) :: stripe_bytes = 0
    integer(c_int64_t) :: first_target = 0
    type(c_ptr) :: pool = c_null_ptr
    integer(c_int64_t) :: reserved(3) = 0
  end type

  type, bind(C), public :: open_options_in_c
    integer(c_int32_t) :: read_only = 0
    integer(c_int32_t) :: reserved_flags = 0
    integer(c_int64_t) :: reserved(7) = 0
  end type

  ! Mirrors fortran_transfer of transfers.h.
  type, bind(C), public :: transfer_in_c
    type(c_ptr) :: array = c_null_ptr
    type(c_ptr) :: distribution = c_null_ptr
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: data_bytes = 0
    integer(c_int32_t) :: rank = 0
    integer(c_int32_t) :: extents_are_known = 0
    integer(c_int32_t) :: is_contiguous = 0
    integer(c_int32_t) :: section_dimensions = 0
    integer(c_int32_t) :: ghost_dimensions = 0
    character(kind=c_char) :: element_type(92) = ' '
    integer(c_int64_t) :: extents(max_dimensions) = 0
    integer(c_int64_t) :: strides(max_dimensions) = 0
    integer(c_int64_t) :: start(max_dimensions) = 0
    integer(c_int64_t) :: count(max_dimensions) = 0
    integer(c_int64_t) :: stride(max_dimensions) = 0
    integer(c_int64_t) :: ghost_lower(max_dimensions) = 0
    integer(c_int64_t) :: ghost_upper(max_dimensions) = 0
  end type

  ! Figures of a session's latest request that ended: on what this rank spent the time, in
  ! nanoseconds, and how much it moved, in bytes. Mirrors weir_figures of weir.h.
  type, bind(C), public :: weir_figures
    integer(c_int32_t) :: strategy = 0     ! 1 direct, 2 node, 3 two-phase, 4 server-directed
    integer(c_int32_t) :: plan_reused = 0  ! 1: an earlier request's plan was used again
    integer(c_int64_t) :: aggregators = 0  ! on all nodes; with direct, the number of ranks
    integer(c_int64_t) :: plan_ns = 0
    integer(c_int64_t) :: gather_ns = 0    ! copying between the rank's memory and buffers
    integer(c_int64_t) :: storage_ns = 0   ! spent in system calls on files
    integer(c_int64_t) :: wait_ns = 0      ! spent waiting for other ranks
    integer(c_int64_t) :: bytes_asked = 0  ! size of this rank's part of the request
    integer(c_int64_t) :: bytes_stored = 0
    integer(c_int64_t) :: bytes_fetched = 0
    integer(c_int64_t) :: bytes_sent = 0
    integer(c_int64_t) :: storage_calls = 0
    integer(c_int32_t) :: engine = 0       ! 1 posix, 2 io_uring, 3 direct-io, 4 mpi-io
    integer(c_int32_t) :: reserved_flags = 0
    integer(c_int64_t) :: reserved(3) = 0
  end type

  public :: c_array_close, c_array_create, c_array_dimensions, c_array_element_bytes
  public :: c_array_element_type, c_array_open, c_array_shape, c_array_sync, c_describe
  public :: c_distribution_create, c_distribution_elements, c_distribution_free
  public :: c_distribution_from_boxes, c_distribution_global_index, c_distribution_piece_shape
  public :: c_distribution_pieces, c_explain, c_last_error, c_read_begin, c_read_many
  public :: c_read_region, c_write_region
  public :: c_detach, c_session_abandon, c_session_abandon_because, c_session_close
  public :: c_session_figures, c_session_open, c_string_length
  public :: c_test, c_type_name, c_version, c_wait, c_write_begin, c_write_many

  interface
    pure function c_string_length(text) bind(C, name='strlen') result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: text
      integer(c_size_t) :: length
    end function

    function c_version() bind(C, name='weir_version') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function

    function c_last_error() bind(C, name='weir_last_error') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function

    function c_session_open(communicator, options, session) &
        bind(C, name='weir_fortran_session_open') result(code)
      import :: c_int, c_int32_t, c_ptr, session_options_in_c
      integer(c_int32_t), value, intent(in) :: communicator
      type(session_options_in_c), intent(in) :: options
      type(c_ptr), intent(out) :: session
      integer(c_int) :: code
    end function

    function c_session_close(session) bind(C, name='weir_session_close') result(code)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: session
      integer(c_int) :: code
    end function

    subroutine c_session_abandon(session) bind(C, name='weir_session_abandon')
      import :: c_ptr
      type(c_ptr), intent(inout) :: session
    end subroutine

    subroutine c_session_abandon_because(session, reason) &
      bind(C, name='weir_session_abandon_because')
      import :: c_char, c_ptr
      type(c_ptr), intent(inout) :: session
      character(kind=c_char), intent(in) :: reason(*)
    end subroutine

    function c_session_figures(session, figures) bind(C, name='weir_session_figures') result(code)
      import :: c_int, c_ptr, weir_figures
      type(c_ptr), value, intent(in) :: session
      type(weir_figures), intent(out) :: figures
      integer(c_int) :: code
    end function

    function c_distribution_create(session, dimensions, extents, formats, options, distribution) &
        bind(C, name='weir_distribution_create') result(code)
      import :: c_char, c_int, c_int32_t, c_int64_t, c_ptr, distribution_options_in_c
      type(c_ptr), value, intent(in) :: session
      integer(c_int32_t), value, intent(in) :: dimensions
      integer(c_int64_t), intent(in) :: extents(*)
      character(kind=c_char), intent(in) :: formats(*)
      type(distribution_options_in_c), intent(in) :: options
      type(c_ptr), intent(out) :: distribution
      integer(c_int) :: code
    end function

    function c_distribution_from_boxes(session, dimensions, extents, boxes, lower, extent, &
        distribution) bind(C, name='weir_distribution_from_boxes') result(code)
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: session
      integer(c_int32_t), value, intent(in) :: dimensions
      integer(c_int64_t), intent(in) :: extents(*)
      integer(c_int64_t), value, intent(in) :: boxes
      integer(c_int64_t), intent(in) :: lower(*)
      integer(c_int64_t), intent(in) :: extent(*)
      type(c_ptr), intent(out) :: distribution
      integer(c_int) :: code
    end function

    subroutine c_distribution_free(distribution) bind(C, name='weir_distribution_free')
      import :: c_ptr
      type(c_ptr), intent(inout) :: distribution
    end subroutine

    function c_distribution_elements(distribution) bind(C, name='weir_distribution_elements') &
        result(elements)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: distribution
      integer(c_int64_t) :: elements
    end function

    function c_distribution_pieces(distribution) bind(C, name='weir_distribution_pieces') &
        result(pieces)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: distribution
      integer(c_int64_t) :: pieces
    end function

    function c_distribution_piece_shape(distribution, piece, extents) &
        bind(C, name='weir_distribution_piece_shape') result(code)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: distribution
      integer(c_int64_t), value, intent(in) :: piece
      integer(c_int64_t), intent(out) :: extents(*)
      integer(c_int) :: code
    end function

    function c_distribution_global_index(distribution, piece, local, global) &
        bind(C, name='weir_distribution_global_index') result(code)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: distribution
      integer(c_int64_t), value, intent(in) :: piece
      integer(c_int64_t), intent(in) :: local(*)
      integer(c_int64_t), intent(out) :: global(*)
      integer(c_int) :: code
    end function

    function c_array_create(session, path, dimensions, extents, element_type, options, array) &
        bind(C, name='weir_array_create') result(code)
      import :: array_options_in_c, c_char, c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: session
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value, intent(in) :: dimensions
      integer(c_int64_t), intent(in) :: extents(*)
      character(kind=c_char), intent(in) :: element_type(*)
      type(array_options_in_c), intent(in) :: options
      type(c_ptr), intent(out) :: array
      integer(c_int) :: code
    end function

    function c_array_open(session, path, options, array) bind(C, name='weir_array_open') &
        result(code)
      import :: c_char, c_int, c_ptr, open_options_in_c
      type(c_ptr), value, intent(in) :: session
      character(kind=c_char), intent(in) :: path(*)
      type(open_options_in_c), intent(in) :: options
      type(c_ptr), intent(out) :: array
      integer(c_int) :: code
    end function

    function c_array_dimensions(array) bind(C, name='weir_array_dimensions') result(dimensions)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: array
      integer(c_int32_t) :: dimensions
    end function

    function c_array_shape(array, extents) bind(C, name='weir_array_shape') result(code)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: array
      integer(c_int64_t), intent(out) :: extents(*)
      integer(c_int) :: code
    end function

    function c_array_element_type(array) bind(C, name='weir_array_element_type') result(text)
      import :: c_ptr
      type(c_ptr), value, intent(in) :: array
      type(c_ptr) :: text
    end function

    function c_array_element_bytes(array) bind(C, name='weir_array_element_bytes') result(bytes)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: array
      integer(c_int64_t) :: bytes
    end function

    function c_array_sync(array) bind(C, name='weir_array_sync') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: array
      integer(c_int) :: code
    end function

    function c_array_close(array) bind(C, name='weir_array_close') result(code)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: array
      integer(c_int) :: code
    end function

    subroutine c_describe(memory, transfer) bind(C, name='weir_fortran_describe')
      import :: transfer_in_c
      type(*), dimension(..), target, asynchronous :: memory
      type(transfer_in_c), intent(inout) :: transfer
    end subroutine

    subroutine c_type_name(memory, text, bytes) bind(C, name='weir_fortran_type_name')
      import :: c_char, c_int64_t
      type(*), dimension(..), intent(in) :: memory
      character(kind=c_char), intent(out) :: text(*)
      integer(c_int64_t), value, intent(in) :: bytes
    end subroutine

    function c_write_many(session, count, transfers) bind(C, name='weir_fortran_write_many') &
        result(code)
      import :: c_int, c_int32_t, c_ptr, transfer_in_c
      type(c_ptr), value, intent(in) :: session
      integer(c_int32_t), value, intent(in) :: count
      type(transfer_in_c), intent(in) :: transfers(*)
      integer(c_int) :: code
    end function

    function c_read_many(session, count, transfers) bind(C, name='weir_fortran_read_many') &
        result(code)
      import :: c_int, c_int32_t, c_ptr, transfer_in_c
      type(c_ptr), value, intent(in) :: session
      integer(c_int32_t), value, intent(in) :: count
      type(transfer_in_c), intent(in) :: transfers(*)
      integer(c_int) :: code
    end function

    function c_write_begin(session, count, transfers, request) &
        bind(C, name='weir_fortran_write_begin') result(code)
      import :: c_int, c_int32_t, c_ptr, transfer_in_c
      type(c_ptr), value, intent(in) :: session
      integer(c_int32_t), value, intent(in) :: count
      type(transfer_in_c), intent(in) :: transfers(*)
      type(c_ptr), intent(out) :: request
      integer(c_int) :: code
    end function

    function c_read_begin(session, count, transfers, request) &
        bind(C, name='weir_fortran_read_begin') result(code)
      import :: c_int, c_int32_t, c_ptr, transfer_in_c
      type(c_ptr), value, intent(in) :: session
      integer(c_int32_t), value, intent(in) :: count
      type(transfer_in_c), intent(in) :: transfers(*)
      type(c_ptr), intent(out) :: request
      integer(c_int) :: code
    end function

    function c_explain(session, direction, count, transfers, text) &
        bind(C, name='weir_fortran_explain') result(code)
      import :: c_int, c_int32_t, c_ptr, transfer_in_c
      type(c_ptr), value, intent(in) :: session
      integer(c_int32_t), value, intent(in) :: direction
      integer(c_int32_t), value, intent(in) :: count
      type(transfer_in_c), intent(in) :: transfers(*)
      type(c_ptr), intent(out) :: text
      integer(c_int) :: code
    end function

    function c_write_region(how, region, request) bind(C, name='weir_fortran_write_region') &
      result(code)
      import :: c_int, c_int32_t, c_ptr, transfer_in_c
      integer(c_int32_t), value :: how
      type(transfer_in_c), intent(in) :: region
      type(c_ptr), intent(inout) :: request
      integer(c_int) :: code
    end function

    function c_read_region(how, region, request) bind(C, name='weir_fortran_read_region') &
      result(code)
      import :: c_int, c_int32_t, c_ptr, transfer_in_c
      integer(c_int32_t), value :: how
      type(transfer_in_c), intent(in) :: region
      type(c_ptr), intent(inout) :: request
      integer(c_int) :: code
    end function

    function c_detach(request) bind(C, name='weir_request_detach') result(code)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: request
      integer(c_int) :: code
    end function
    function c_wait(request) bind(C, name='weir_wait') result(code)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: request
      integer(c_int) :: code
    end function

    function c_test(request, complete) bind(C, name='weir_test') result(code)
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t), intent(out) :: complete
      integer(c_int) :: code
    end function
  end interface
end module
