// ScaLAPACK, loaded when full mode is asked for.
//
// It is not linked: OpenBLAS starts a thread per core as soon as it is loaded, which would disturb
// every other workload and take signals that the failure guard waits for; and thousands of ranks
// would load it for nothing. The library's name is fixed when Weir is built.
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

// The functions of BLACS, PBLAS and ScaLAPACK that are called, with their own names.
struct ScalapackFunctions;

// Whether Weir was built with ScaLAPACK, and its 32-bit integers can count a rank's share of the
// matrices of this size. Local; needs no MPI.
[[nodiscard]] Status check_scalapack(const Size& size);

// Loads the library; the BLAS below it is told to use one thread per rank, unless the environment
// says otherwise. Local. The functions stay for the life of the process.
[[nodiscard]] Result<const ScalapackFunctions*> load_scalapack();

// A square grid of processes over a communicator, and matrices of doubles distributed over it.
// All operations are collective over the grid; matrices are this rank's shares.
class ProcessGrid {
 public:
  // Collective over `communicator`, which has side × side ranks and stays the caller's.
  static std::unique_ptr<ProcessGrid> create(const ScalapackFunctions& functions,
                                             MPI_Comm communicator, std::int64_t pixels,
                                             std::int64_t block);
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;
  ~ProcessGrid();  // collective: frees the BLACS context
  void abandon();  // gives the context up without freeing it

  [[nodiscard]] const Distribution& distribution() const { return distribution_; }

  // The lower triangle of a positive definite matrix becomes its Cholesky factor. Fails on every
  // rank alike when the matrix is not positive definite.
  Status factor(double* matrix) const;
  // From factor()'s lower triangle to the lower triangle of the inverse.
  Status invert_factored(double* matrix) const;
  void transpose(const double* matrix, double* transposed) const;
  // product = left right, column panel by column panel, with a call of `progress` between them.
  void multiply(const double* left, const double* right, double* product,
                const std::function<void()>& progress) const;
  // pdgemr2d: `matrix` of this grid becomes `gang_matrix` of `gang_grid`, null on ranks outside it.
  // Collective over this grid, which contains the other's ranks.
  void redistribute(const double* matrix, const ProcessGrid* gang_grid, double* gang_matrix) const;

 private:
  ProcessGrid(const ScalapackFunctions& functions, const Distribution& distribution);
  using Descriptor = std::array<int, 9>;
  // As of the library's array descriptors; `context` -1: a rank outside the grid.
  [[nodiscard]] Descriptor descriptor() const;

  const ScalapackFunctions& functions_;
  Distribution distribution_;
  int handle_ = -1;
  int context_ = -1;
};

}  // namespace weir::bench::madbench
