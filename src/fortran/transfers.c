#include "transfers.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* Structs to which the weir_transfer of a fortran_transfer points. */
typedef struct details {
  weir_memory memory;
  weir_section section;
} details;

/* An error that one rank found by itself would leave the other ranks waiting. Errors are therefore
 * passed on in a form that the library refuses on all ranks alike: a number of dimensions that no
 * array has, or an element type that does not exist. */
static void tell_dimensions(weir_transfer* transfer, int32_t dimensions) {
  const int agrees = transfer->dimensions == 0 || transfer->dimensions == dimensions;
  transfer->dimensions = agrees ? dimensions : -1;
}

/* Fortran has no unsigned integers, so they are moved bit for bit to and from signed ones. */
static const char* type_of(const fortran_transfer* given) {
  const char* const stored = weir_array_element_type(given->array);
  const int is_unsigned =
      stored != NULL && stored[0] == 'u' && strcmp(stored + 1, given->type) == 0;
  return is_unsigned ? stored : given->type;
}

static void refer(const fortran_transfer* given, weir_transfer* transfer, details* detail) {
  const int64_t pieces = weir_distribution_pieces(given->distribution);
  memset(transfer, 0, sizeof *transfer);
  memset(detail, 0, sizeof *detail);
  transfer->array = given->array;
  transfer->distribution = given->distribution;
  transfer->data = given->data;
  transfer->data_bytes = given->data_bytes;
  transfer->data_type = type_of(given);
  /* The dimensions are reversed, so packed memory is row-major. */
  if (pieces == 1 && given->rank > 0 && weir_distribution_elements(given->distribution) > 0) {
    tell_dimensions(transfer, given->rank);
    if (given->extents_are_known) transfer->data_shape = given->extents;
    if (!given->is_contiguous) {
      detail->memory.strides = given->strides;
      transfer->memory = &detail->memory;
    }
  } else if (pieces > 1 && !given->is_contiguous) {
    transfer->data_type = "in memory that is not contiguous, where the rank has several boxes";
  }
  if (given->ghost_dimensions != 0) {
    tell_dimensions(transfer, given->ghost_dimensions);
    detail->memory.ghost_lower = given->ghost_lower;
    detail->memory.ghost_upper = given->ghost_upper;
    transfer->memory = &detail->memory;
  }
  if (given->section_dimensions != 0) {
    tell_dimensions(transfer, given->section_dimensions);
    detail->section.start = given->start;
    detail->section.count = given->count;
    detail->section.stride = given->stride;
    transfer->section = &detail->section;
  }
}

/* Returns the structs of weir.h in one block of memory, which the caller frees. Returns null
 * without memory, which the library refuses on all ranks alike. */
static weir_transfer* in_c(int32_t count, const fortran_transfer* given) {
  if (count < 1) return NULL;
  weir_transfer* const transfers =
      malloc((size_t)count * (sizeof(weir_transfer) + sizeof(details)));
  if (transfers == NULL) return NULL;
  details* const all_details = (details*)(transfers + count);
  for (int32_t number = 0; number < count; ++number) {
    refer(&given[number], &transfers[number], &all_details[number]);
  }
  return transfers;
}

int weir_fortran_init_staging(int32_t communicator, const weir_session_options* options,
                              int32_t* program) {
  MPI_Comm made = MPI_COMM_NULL;
  const int code = weir_init_staging(MPI_Comm_f2c(communicator), options, &made);
  *program = (int32_t)MPI_Comm_c2f(made);
  return code;
}

int weir_fortran_finalize_staging(int32_t* program) {
  MPI_Comm given = MPI_Comm_f2c(*program);
  const int code = weir_finalize_staging(&given);
  *program = (int32_t)MPI_Comm_c2f(given);
  return code;
}

int weir_fortran_session_open(int32_t communicator, const weir_session_options* options,
                              weir_session** session) {
  return weir_session_open(MPI_Comm_f2c(communicator), options, session);
}

int weir_fortran_write_many(weir_session* session, int32_t count,
                            const fortran_transfer* transfers) {
  weir_transfer* const structs = in_c(count, transfers);
  const int code = weir_write_many(session, count, structs);
  free(structs);
  return code;
}

int weir_fortran_read_many(weir_session* session, int32_t count,
                           const fortran_transfer* transfers) {
  weir_transfer* const structs = in_c(count, transfers);
  const int code = weir_read_many(session, count, structs);
  free(structs);
  return code;
}

int weir_fortran_write_begin(weir_session* session, int32_t count,
                             const fortran_transfer* transfers, weir_request** request) {
  weir_transfer* const structs = in_c(count, transfers);
  const int code = weir_write_begin(session, count, structs, request);
  free(structs);
  return code;
}

int weir_fortran_read_begin(weir_session* session, int32_t count, const fortran_transfer* transfers,
                            weir_request** request) {
  weir_transfer* const structs = in_c(count, transfers);
  const int code = weir_read_begin(session, count, structs, request);
  free(structs);
  return code;
}

/* Returns the region of weir.h; null if the rank takes no part. */
static const weir_region* region_in_c(const fortran_transfer* given, weir_region* region,
                                      weir_memory* memory) {
  if (given->section_dimensions == 0) return NULL;
  memset(region, 0, sizeof *region);
  memset(memory, 0, sizeof *memory);
  region->lower = given->start;
  region->extent = given->extents;
  region->stride = given->stride;
  region->data = given->data;
  region->data_bytes = given->data_bytes;
  region->data_type = type_of(given);
  const int fits = given->section_dimensions == given->rank;
  region->dimensions = fits ? given->rank : -1;
  if (given->rank > 0 && !given->extents_are_known) {
    region->data_type = "in memory whose last extent is not known (an assumed-size array)";
  }
  /* The dimensions are reversed, so packed memory is row-major. */
  if (!given->is_contiguous) {
    memory->strides = given->strides;
    region->memory = memory;
  }
  return region;
}

int weir_fortran_write_region(int32_t how, const fortran_transfer* given, weir_request** request) {
  weir_region struct_of_c;
  weir_memory memory;
  const weir_region* const region = region_in_c(given, &struct_of_c, &memory);
  if (how == FORTRAN_BEGUN) return weir_write_region_begin(given->array, region, request);
  return how == FORTRAN_ALONE ? weir_write_region_independent(given->array, region)
                              : weir_write_region(given->array, region);
}

int weir_fortran_read_region(int32_t how, const fortran_transfer* given, weir_request** request) {
  weir_region struct_of_c;
  weir_memory memory;
  const weir_region* const region = region_in_c(given, &struct_of_c, &memory);
  if (how == FORTRAN_BEGUN) return weir_read_region_begin(given->array, region, request);
  return how == FORTRAN_ALONE ? weir_read_region_independent(given->array, region)
                              : weir_read_region(given->array, region);
}

int weir_fortran_session_explain(weir_session* session, int32_t direction, int32_t count,
                                 const fortran_transfer* transfers, const char** text) {
  weir_transfer* const structs = in_c(count, transfers);
  const int code = weir_session_explain(session, direction, count, structs, text);
  free(structs);
  return code;
}
