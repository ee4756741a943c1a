/* Requests as the module weir hands them over: the memory described by the compiler's own
 * descriptor, everything else by value, in C's order of dimensions (Fortran's last one first) and
 * counted from 0. Inside libweir_fortran only. */
#ifndef WEIR_FORTRAN_TRANSFERS_H
#define WEIR_FORTRAN_TRANSFERS_H

#include <ISO_Fortran_binding.h>
#include <stdint.h>
#include <weir/weir.h>

/* Mirrored by the type `transfer_in_c` of bindings.f90. `dimensions` of a section or of ghost cells
 * are 0 where there are none, and -1 where their numbers are not as many as each other's. */
typedef struct fortran_transfer {
  weir_array* array;
  const weir_distribution* distribution;
  void* data;
  int64_t data_bytes; /* 0: not known */
  int32_t rank;       /* of the memory; 0: a scalar */
  int32_t extents_are_known;
  int32_t is_contiguous;
  int32_t section_dimensions;
  int32_t ghost_dimensions;
  char type[92]; /* element type of the memory */
  int64_t extents[WEIR_MAX_DIMENSIONS];
  int64_t strides[WEIR_MAX_DIMENSIONS]; /* bytes */
  int64_t start[WEIR_MAX_DIMENSIONS];
  int64_t count[WEIR_MAX_DIMENSIONS];
  int64_t stride[WEIR_MAX_DIMENSIONS];
  int64_t ghost_lower[WEIR_MAX_DIMENSIONS];
  int64_t ghost_upper[WEIR_MAX_DIMENSIONS];
} fortran_transfer;

/* Fills in what the descriptor tells: data, data_bytes, rank, extents, strides, type. Copies
 * nothing, whatever the array's rank, type and strides. */
void weir_fortran_describe(const CFI_cdesc_t* memory, fortran_transfer* transfer);

/* The element type of memory as Weir names it, or words that name none, into `type` (of `bytes`).
 */
void weir_fortran_type_name(const CFI_cdesc_t* memory, char* type, int64_t bytes);

/* As the calls of weir.h; `communicator` is the handle that Fortran has of it. */
int weir_fortran_session_open(int32_t communicator, const weir_session_options* options,
                              weir_session** session);
int weir_fortran_write_many(weir_session* session, int32_t count,
                            const fortran_transfer* transfers);
int weir_fortran_read_many(weir_session* session, int32_t count, const fortran_transfer* transfers);
int weir_fortran_write_begin(weir_session* session, int32_t count,
                             const fortran_transfer* transfers, weir_request** request);
int weir_fortran_read_begin(weir_session* session, int32_t count, const fortran_transfer* transfers,
                            weir_request** request);
/* A region of `given`: its array, memory, and where it begins (`start`, `stride`; no section: the
 * rank takes no part). The shape is the memory's. `request` is for those that begin. */
enum { FORTRAN_TOGETHER = 0, FORTRAN_BEGUN = 1, FORTRAN_ALONE = 2 };
int weir_fortran_write_region(int32_t how, const fortran_transfer* given, weir_request** request);
int weir_fortran_read_region(int32_t how, const fortran_transfer* given, weir_request** request);
int weir_fortran_explain(weir_session* session, int32_t direction, int32_t count,
                         const fortran_transfer* transfers, const char** text);

#endif
