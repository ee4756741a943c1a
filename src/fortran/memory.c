/* The memory of an actual argument of any type and rank, from the compiler's descriptor of it. */
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
    snprintf(type, room, "a Fortran type of %zu bytes that Weir has not (bool is logical(c_bool))",
             memory->elem_len);
  }
}

void weir_fortran_describe(const CFI_cdesc_t* memory, fortran_transfer* transfer) {
  const int32_t rank = memory->rank;
  transfer->rank = rank;
  transfer->extents_are_known = rank > 0;
  transfer->is_contiguous = 1;
  int64_t packed = (int64_t)memory->elem_len; /* the stride that a contiguous array would have */
  for (int32_t d = 0; d < rank; ++d) {
    const int64_t extent = memory->dim[d].extent;
    const int32_t reversed = rank - 1 - d;
    if (extent < 0) transfer->extents_are_known = 0; /* an assumed-size array's last one */
    if (extent != 1 && memory->dim[d].sm != packed) transfer->is_contiguous = 0;
    transfer->extents[reversed] = extent;
    transfer->strides[reversed] = memory->dim[d].sm;
    packed *= extent;
  }
  const int is_known = rank == 0 || transfer->extents_are_known;
  if (is_known && packed == 0) transfer->is_contiguous = 1;
  transfer->data_bytes = is_known ? packed : 0;
  /* Null where there is none, so that 0 bytes are told. */
  transfer->data = is_known && packed == 0 ? NULL : memory->base_addr;
  weir_fortran_type_name(memory, transfer->type, (int64_t)sizeof transfer->type);
}
