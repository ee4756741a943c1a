#include "workloads/madbench/full/small_matrix.hpp"

#include <cmath>

namespace weir::bench::madbench {

std::optional<SmallFactor> SmallFactor::create(std::span<const double> matrix, std::size_t size) {
  SmallFactor factor;
  factor.size_ = size;
  factor.lower_.assign(matrix.begin(), matrix.end());
  std::vector<double>& a = factor.lower_;
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t i = j; i < size; ++i) {
      double rest = a[i * size + j];
      for (std::size_t k = 0; k < j; ++k) rest -= a[i * size + k] * a[j * size + k];
      if (i > j) {
        a[i * size + j] = rest / a[j * size + j];
      } else if (rest > 0 && std::isfinite(rest)) {
        a[j * size + j] = std::sqrt(rest);
      } else {
        return std::nullopt;
      }
    }
  }
  return factor;
}

std::vector<double> SmallFactor::solve(std::span<const double> right) const {
  std::vector<double> x(right.begin(), right.end());
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= lower_[i * size_ + k] * x[k];
    x[i] /= lower_[i * size_ + i];
  }
  for (std::size_t i = size_; i-- > 0;) {
    for (std::size_t k = i + 1; k < size_; ++k) x[i] -= lower_[k * size_ + i] * x[k];
    x[i] /= lower_[i * size_ + i];
  }
  return x;
}

std::vector<double> SmallFactor::inverse_diagonal() const {
  std::vector<double> diagonal(size_);
  std::vector<double> unit(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    unit.assign(size_, 0.0);
    unit[i] = 1;
    diagonal[i] = solve(unit)[i];
  }
  return diagonal;
}

}  // namespace weir::bench::madbench
