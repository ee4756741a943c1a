/* Requests in the form in which the module weir passes them to C: memory is described by the
 * compiler's descriptor, everything else is passed by value, in C's order of dimensions (Fortran's
 * last dimension first) and counted from 0. Used inside libweir_fortran only. */
#ifndef WEIR_FORTRAN_TRANSFERS_H
#define WEIR_FORTRAN_TRANSFERS_H

#include <ISO_Fortran_binding.h>
#include <stdint.h>
#include <weir/weir.h>

/* `section_dimensions` and `ghost_dimensions` are 0 if there is no section or are no ghost cells,
 * and -1 if their lists of numbers differ in size. In Fortran the type is `transfer_in_c`. */
typedef struct fortran_transfer {
  weir_array* array;
  const weir_distribution* distribution;
  void* data;
  int64_t data_bytes; /* 0: unknown */
  int32_t rank;       /* rank of the memory; 0: a scalar */
  int32_t extents_are_known;
  int32_t is_contiguous;
  int32_t section_dimensions;
  int32_t ghost_dimensions;
  char type[92]; /* element type of the memory */
  int64_t extents[WEIR_MAX_DIMENSIONS];
  int64_t strides[WEIR_MAX_DIMENSIONS]; /* in bytes */
  int64_t start[WEIR_MAX_DIMENSIONS];
  int64_t count[WEIR_MAX_DIMENSIONS];
  int64_t stride[WEIR_MAX_DIMENSIONS];
  int64_t ghost_lower[WEIR_MAX_DIMENSIONS];
  int64_t ghost_upper[WEIR_MAX_DIMENSIONS];
} fortran_transfer;

/* Fills in what the descriptor contains: data, data_bytes, rank, extents, strides, type. Copies
 * nothing, whatever the array's rank, type and strides. */
void weir_fortran_describe(const CFI_cdesc_t* memory, fortran_transfer* transfer);

/* Writes the name of the memory's element type, or words that name no type, to `type`, which has
 * room for `bytes` bytes. */
void weir_fortran_type_name(const CFI_cdesc_t* memory, char* type, int64_t bytes);

/* These calls are like those of weir.h. `communicator` and `program` are Fortran's handles of
 * communicators. */
int weir_fortran_init_staging(int32_t communicator, const weir_session_options* options,
                              int32_t* program);
int weir_fortran_finalize_staging(int32_t* program);
int weir_fortran_session_open(int32_t communicator, const weir_session_options* options,
                              weir_session** session);
int weir_fortran_write_many(weir_session* session, int32_t count,
                            const fortran_transfer* transfers);
int weir_fortran_read_many(weir_session* session, int32_t count, const fortran_transfer* transfers);
int weir_fortran_write_begin(weir_session* session, int32_t count,
                             const fortran_transfer* transfers, weir_request** request);
int weir_fortran_read_begin(weir_session* session, int32_t count, const fortran_transfer* transfers,
                            weir_request** request);
/* Write or read a region. `given` has the array, the memory, and the beginning of the region
 * (`start`, `stride`; without a section the rank takes no part); the region's shape is that of the
 * memory. `how` is one of the values below; `request` is used only with FORTRAN_BEGUN. */
enum { FORTRAN_TOGETHER = 0, FORTRAN_BEGUN = 1, FORTRAN_ALONE = 2 };
int weir_fortran_write_region(int32_t how, const fortran_transfer* given, weir_request** request);
int weir_fortran_read_region(int32_t how, const fortran_transfer* given, weir_request** request);
int weir_fortran_session_explain(weir_session* session, int32_t direction, int32_t count,
                                 const fortran_transfer* transfers, const char** text);

#endif
