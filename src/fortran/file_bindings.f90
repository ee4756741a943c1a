! Interoperable declarations of weir.h for files of standard formats. Only for the modules
! weir_files and weir_attributes.
module weir_file_bindings
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int32_t, c_int64_t, c_null_ptr, &
                                         c_ptr
  implicit none
  private

  type, bind(C), public :: file_options_in_c
    type(c_ptr) :: format = c_null_ptr
    type(c_ptr) :: durability = c_null_ptr
    type(c_ptr) :: step_dimension = c_null_ptr
    integer(c_int64_t) :: alignment_bytes = 0
    type(c_ptr) :: checksum = c_null_ptr
    integer(c_int64_t) :: stripe_count = 0
    integer(c_int64_t) :: stripe_bytes = 0
    integer(c_int64_t) :: first_target = 0
    type(c_ptr) :: pool = c_null_ptr
    type(c_ptr) :: unwritten = c_null_ptr
    integer(c_int64_t) :: reserved(1) = 0
  end type

  type, bind(C), public :: define_options_in_c
    integer(c_int32_t) :: order = 0
    integer(c_int32_t) :: steps = 0
    type(c_ptr) :: chunks = c_null_ptr
    type(c_ptr) :: natural_chunks = c_null_ptr
    type(c_ptr) :: typical_request = c_null_ptr
    integer(c_int64_t) :: chunk_buffer_bytes = 0
    integer(c_int64_t) :: chunk_block_bytes = 0
    type(c_ptr) :: shards = c_null_ptr
    type(c_ptr) :: dimension_names = c_null_ptr
    type(c_ptr) :: fill = c_null_ptr
    type(c_ptr) :: codec = c_null_ptr
    integer(c_int64_t) :: reserved(7) = 0
  end type

  type, bind(C), public :: file_open_options_in_c
    integer(c_int32_t) :: read_only = 0
    integer(c_int32_t) :: rewrite = 0
    type(c_ptr) :: durability = c_null_ptr
    type(c_ptr) :: checksum = c_null_ptr
    type(c_ptr) :: unwritten = c_null_ptr
    integer(c_int64_t) :: reserved(4) = 0
  end type

  public :: c_array_dimension_name, c_array_has_steps, c_attribute, c_attribute_integers
  public :: c_attribute_numbers, c_attribute_reals, c_attribute_text, c_attributes
  public :: c_file_array, c_file_array_name
  public :: c_file_arrays, c_file_close, c_file_create, c_file_define, c_file_open
  public :: c_attribute_texts, c_attribute_type, c_file_drop_steps, c_file_extend
  public :: c_file_in_step
  public :: c_file_select_step, c_file_step_abort, c_file_step_begin, c_file_step_end
  public :: c_file_steps, c_file_unwritten, c_file_unwritten_name
  public :: c_get_integers, c_get_numbers, c_get_reals, c_get_text, c_get_texts

  interface
    function c_file_create(session, path, options, file) bind(C, name='weir_file_create') &
        result(code)
      import :: c_char, c_int, c_ptr, file_options_in_c
      type(c_ptr), value, intent(in) :: session
      character(kind=c_char), intent(in) :: path(*)
      type(file_options_in_c), intent(in) :: options
      type(c_ptr), intent(out) :: file
      integer(c_int) :: code
    end function

    function c_file_open(session, path, options, file) bind(C, name='weir_file_open') result(code)
      import :: c_char, c_int, c_ptr, file_open_options_in_c
      type(c_ptr), value, intent(in) :: session
      character(kind=c_char), intent(in) :: path(*)
      type(file_open_options_in_c), intent(in) :: options
      type(c_ptr), intent(out) :: file
      integer(c_int) :: code
    end function

    function c_file_close(file) bind(C, name='weir_file_close') result(code)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: file
      integer(c_int) :: code
    end function

    function c_file_define(file, name, dimensions, extents, element_type, options, array) &
        bind(C, name='weir_file_define') result(code)
      import :: c_char, c_int, c_int32_t, c_int64_t, c_ptr, define_options_in_c
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value, intent(in) :: dimensions
      integer(c_int64_t), intent(in) :: extents(*)
      character(kind=c_char), intent(in) :: element_type(*)
      type(define_options_in_c), intent(in) :: options
      type(c_ptr), intent(out) :: array
      integer(c_int) :: code
    end function

    function c_attribute_text(file, owner, name, text) bind(C, name='weir_file_attribute_text') &
        result(code)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*), text(*)
      integer(c_int) :: code
    end function

    function c_attribute_integers(file, owner, name, count, values) &
        bind(C, name='weir_file_attribute_integers') result(code)
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int64_t), value, intent(in) :: count
      integer(c_int64_t), intent(in) :: values(*)
      integer(c_int) :: code
    end function

    function c_attribute_numbers(file, owner, name, element_type, count, values) &
        bind(C, name='weir_file_attribute_numbers') result(code)
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*), element_type(*)
      integer(c_int64_t), value, intent(in) :: count
      type(c_ptr), value, intent(in) :: values
      integer(c_int) :: code
    end function

    function c_attribute_texts(file, owner, name, count, texts) &
        bind(C, name='weir_file_attribute_texts') result(code)
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int64_t), value, intent(in) :: count
      type(c_ptr), intent(in) :: texts(*)
      integer(c_int) :: code
    end function

    function c_attribute_type(file, owner, name) bind(C, name='weir_file_attribute_type') &
        result(text)
      import :: c_char, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      type(c_ptr) :: text
    end function

    function c_get_numbers(file, owner, name, room, values) &
        bind(C, name='weir_file_get_numbers') result(code)
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int64_t), value, intent(in) :: room
      type(c_ptr), value, intent(in) :: values
      integer(c_int) :: code
    end function

    function c_get_texts(file, owner, name, room, texts) &
        bind(C, name='weir_file_get_texts') result(code)
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int64_t), value, intent(in) :: room
      type(c_ptr), intent(inout) :: texts(*)
      integer(c_int) :: code
    end function

    function c_attribute_reals(file, owner, name, count, values) &
        bind(C, name='weir_file_attribute_reals') result(code)
      import :: c_char, c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int64_t), value, intent(in) :: count
      real(c_double), intent(in) :: values(*)
      integer(c_int) :: code
    end function

    function c_file_step_begin(file) bind(C, name='weir_file_step_begin') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int) :: code
    end function

    function c_file_step_end(file) bind(C, name='weir_file_step_end') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int) :: code
    end function

    function c_file_step_abort(file, reason) bind(C, name='weir_file_step_abort') result(code)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: reason(*)
      integer(c_int) :: code
    end function

    function c_file_drop_steps(file, steps) bind(C, name='weir_file_drop_steps') result(code)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t), value, intent(in) :: steps
      integer(c_int) :: code
    end function

    function c_file_extend(file) bind(C, name='weir_file_extend') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int) :: code
    end function

    function c_file_in_step(file) bind(C, name='weir_file_in_step') result(in_step)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: in_step
    end function

    function c_file_steps(file) bind(C, name='weir_file_steps') result(steps)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t) :: steps
    end function

    function c_file_unwritten(file) bind(C, name='weir_file_unwritten') result(arrays)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t) :: arrays
    end function

    function c_file_unwritten_name(file, number) bind(C, name='weir_file_unwritten_name') &
        result(text)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t), value, intent(in) :: number
      type(c_ptr) :: text
    end function

    function c_file_select_step(file, step) bind(C, name='weir_file_select_step') result(code)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t), value, intent(in) :: step
      integer(c_int) :: code
    end function

    function c_file_arrays(file) bind(C, name='weir_file_arrays') result(arrays)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t) :: arrays
    end function

    function c_file_array_name(file, number) bind(C, name='weir_file_array_name') result(text)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t), value, intent(in) :: number
      type(c_ptr) :: text
    end function

    function c_file_array(file, name, array) bind(C, name='weir_file_array') result(code)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: array
      integer(c_int) :: code
    end function

    function c_array_has_steps(array) bind(C, name='weir_array_has_steps') result(has_steps)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: array
      integer(c_int32_t) :: has_steps
    end function

    function c_array_dimension_name(array, dimension) bind(C, name='weir_array_dimension_name') &
        result(text)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: array
      integer(c_int32_t), value, intent(in) :: dimension
      type(c_ptr) :: text
    end function

    function c_attributes(file, owner) bind(C, name='weir_file_attributes') result(attributes)
      import :: c_char, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*)
      integer(c_int64_t) :: attributes
    end function

    function c_attribute(file, owner, number, name, kind, count) &
        bind(C, name='weir_file_attribute') result(code)
      import :: c_char, c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*)
      integer(c_int64_t), value, intent(in) :: number
      type(c_ptr), intent(out) :: name
      integer(c_int32_t), intent(out) :: kind
      integer(c_int64_t), intent(out) :: count
      integer(c_int) :: code
    end function

    function c_get_text(file, owner, name, text) bind(C, name='weir_file_get_text') result(code)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      type(c_ptr), intent(out) :: text
      integer(c_int) :: code
    end function

    function c_get_integers(file, owner, name, room, values) &
        bind(C, name='weir_file_get_integers') result(code)
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int64_t), value, intent(in) :: room
      integer(c_int64_t), intent(out) :: values(*)
      integer(c_int) :: code
    end function

    function c_get_reals(file, owner, name, room, values) bind(C, name='weir_file_get_reals') &
        result(code)
      import :: c_char, c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int64_t), value, intent(in) :: room
      real(c_double), intent(out) :: values(*)
      integer(c_int) :: code
    end function
  end interface
end module
