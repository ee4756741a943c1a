/* Describes the memory of an actual argument of any type and rank, from the compiler's
 * descriptor. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "transfers.h"

static const char* intrinsic_type(CFI_type_t type) {
  if (type == CFI_type_int8_t) return "int8";
  if (type == CFI_type_int16_t) return "int16";
  if (type == CFI_type_int32_t) return "int32";
  if (type == CFI_type_int64_t) return "int64";
  if (type == CFI_type_float) return "float32";
  if (type == CFI_type_double) return "float64";
  if (type == CFI_type_float_Complex) return "complex64";
  if (type == CFI_type_double_Complex) return "complex128";
  if (type == CFI_type_Bool) return "bool";
  return NULL;
}

void weir_fortran_type_name(const CFI_cdesc_t* memory, char* type, int64_t bytes) {
  const size_t room = (size_t)bytes;
  const char* const name = intrinsic_type(memory->type);
  if (name != NULL) {
    snprintf(type, room, "%s", name);
  } else if (memory->type == CFI_type_struct || memory->type == CFI_type_char) {
    snprintf(type, room, "record[%zu]", memory->elem_len);
  } else {
    snprintf(type, room,
             "a Fortran type of %zu bytes that Weir does not support (bool is logical(c_bool))",
             memory->elem_len);
  }
}

/* Sets `is_contiguous` from the extents and strides. Returns the bytes of all elements; the value
 * is meaningless if an extent is unknown. */
static int64_t find_contiguity(fortran_transfer* transfer, size_t element_bytes) {
  int64_t packed = (int64_t)element_bytes; /* the stride that a contiguous array would have */
  transfer->is_contiguous = 1;
  for (int32_t d = transfer->rank - 1; d >= 0; --d) {
    if (transfer->extents[d] != 1 && transfer->strides[d] != packed) transfer->is_contiguous = 0;
    packed *= transfer->extents[d];
  }
  if (transfer->extents_are_known && packed == 0) transfer->is_contiguous = 1;
  return packed;
}

void weir_fortran_describe(const CFI_cdesc_t* memory, fortran_transfer* transfer) {
  const int32_t rank = memory->rank;
  transfer->rank = rank;
  transfer->extents_are_known = rank > 0;
  for (int32_t d = 0; d < rank; ++d) {
    const int32_t reversed = rank - 1 - d;
    transfer->extents[reversed] = memory->dim[d].extent;
    transfer->strides[reversed] = memory->dim[d].sm;
    /* The last extent of an assumed-size array is -1. */
    if (memory->dim[d].extent < 0) transfer->extents_are_known = 0;
  }
  const int64_t packed = find_contiguity(transfer, memory->elem_len);
  const int is_known = rank == 0 || transfer->extents_are_known;
  transfer->data_bytes = is_known ? packed : 0;
  /* Null if there are no elements, because 0 bytes alone would mean that the size is
   * unspecified. */
  transfer->data = is_known && packed == 0 ? NULL : memory->base_addr;
  weir_fortran_type_name(memory, transfer->type, (int64_t)sizeof transfer->type);
}

/* gfortran's own descriptor of an array, which it passes to procedures that are not bind(C). It has
 * not changed since version 8 (libgfortran.so.5). */
typedef struct gfortran_descriptor {
  void* base_addr;
  size_t offset;
  struct {
    size_t elem_len;
    int version;
    signed char rank;
    signed char type;
    signed short attribute;
  } dtype;
  ptrdiff_t span; /* bytes from one element to the next at a stride of 1 */
  struct {
    ptrdiff_t stride; /* in elements */
    ptrdiff_t lower_bound;
    ptrdiff_t upper_bound;
  } dim[CFI_MAX_RANK];
} gfortran_descriptor;

/* gfortran 13 and 14 leave `span` undefined in an array that is allocated by the assignment of a
 * function's result (`u = reshape(...)`; spread and pack likewise), and compute from it the strides
 * in bytes of C's descriptor. The elements of an argument lie `elem_len` bytes apart. Where they
 * would not, as in a component of an array of derived types, gfortran passes a packed copy.
 * tests/fortran/memory_test.f90 tests both, so that a compiler that behaves differently is
 * noticed. */
void weir_fortran_correct_strides_(const gfortran_descriptor* memory, fortran_transfer* transfer) {
  const int64_t bytes = (int64_t)memory->dtype.elem_len;
  if (memory->dtype.rank != transfer->rank || memory->span == bytes) return;
  for (int32_t d = 0; d < transfer->rank; ++d) {
    transfer->strides[transfer->rank - 1 - d] = memory->dim[d].stride * bytes;
  }
  find_contiguity(transfer, memory->dtype.elem_len);
}
