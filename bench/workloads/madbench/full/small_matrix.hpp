// Solves the small dense systems of the bins: one row and column per bin, on one rank. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace weir::bench::madbench {

// A symmetric positive definite matrix, factored by Cholesky's method.
class SmallFactor {
 public:
  // `matrix` has size × size elements, row by row; its lower triangle is read. Returns nothing if
  // the matrix is not positive definite.
  static std::optional<SmallFactor> create(std::span<const double> matrix, std::size_t size);

  // Returns the solution x of A x = right.
  [[nodiscard]] std::vector<double> solve(std::span<const double> right) const;
  // Returns the diagonal of A^-1.
  [[nodiscard]] std::vector<double> inverse_diagonal() const;

 private:
  std::vector<double> lower_;
  std::size_t size_ = 0;
};

}  // namespace weir::bench::madbench
