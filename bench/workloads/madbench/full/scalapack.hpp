// ScaLAPACK, loaded when full mode is requested.
//
// Weir does not link to it, because OpenBLAS starts a thread per core as soon as it is loaded.
// These threads would disturb every other workload and take signals for which the failure guard
// waits, and thousands of ranks would load the library without need. The library's name is fixed
// when Weir is built.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "common/status.hpp"
#include "workloads/madbench/full/distribution.hpp"
#include "workloads/madbench/parameters.hpp"

namespace weir::bench::madbench {

// The functions of BLACS, PBLAS and ScaLAPACK that are called, under their own names.
struct ScalapackFunctions;

// Fails if Weir was built without ScaLAPACK, or if its 32-bit integers cannot count a rank's share
// of the matrices of this size. Local; needs no MPI.
[[nodiscard]] Status check_scalapack(const Size& size);

// Loads the library. The BLAS below it is set to one thread per rank, unless the environment says
// otherwise. Local. The functions stay valid until the process ends.
[[nodiscard]] Result<const ScalapackFunctions*> load_scalapack();

// A square grid of processes over a communicator, and matrices of doubles distributed over it.
// All operations are collective over the grid; matrices are this rank's shares.
class ProcessGrid {
 public:
  // Collective over `communicator`, which has side × side ranks. The caller keeps the communicator.
  static std::unique_ptr<ProcessGrid> create(const ScalapackFunctions& functions,
                                             MPI_Comm communicator, std::int64_t pixels,
                                             std::int64_t block);
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;
  ~ProcessGrid();  // collective: frees the BLACS context
  void abandon();  // drops the context without freeing it

  [[nodiscard]] const Distribution& distribution() const { return distribution_; }

  // Replaces the lower triangle of a positive definite matrix by its Cholesky factor. Fails on
  // every rank alike if the matrix is not positive definite.
  Status factor(double* matrix) const;
  // Replaces factor()'s lower triangle by the lower triangle of the inverse.
  Status invert_factored(double* matrix) const;
  void transpose(const double* matrix, double* transposed) const;
  // Computes product = left right, column panel by column panel, with a call of `progress` between
  // them.
  void multiply(const double* left, const double* right, double* product,
                const std::function<void()>& progress) const;
  // pdgemr2d: redistributes `matrix` of this grid to `gang_matrix` of `gang_grid`, which is null on
  // ranks outside that grid. Collective over this grid, which contains the other grid's ranks.
  void redistribute(const double* matrix, const ProcessGrid* gang_grid, double* gang_matrix) const;

 private:
  ProcessGrid(const ScalapackFunctions& functions, const Distribution& distribution);
  using Descriptor = std::array<int, 9>;
  // Returns the library's array descriptor; `context` is -1 on a rank outside the grid.
  [[nodiscard]] Descriptor descriptor() const;

  const ScalapackFunctions& functions_;
  Distribution distribution_;
  int handle_ = -1;
  int context_ = -1;
};

}  // namespace weir::bench::madbench
