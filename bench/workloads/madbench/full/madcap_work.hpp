// MADCAP: finds the spectrum of a simulated map by Newton-Raphson iteration on its likelihood
// (Borrill et al., section 2.1). Every iteration is one repetition of full mode with the current
// estimate as C_b; it writes, reads and overwrites all matrices again.
//
// The step is H^-1 dL/dC with H the negative second derivative of L (the paper's formula). Far from
// the peak H need not be positive definite. Until a step is smaller than one standard error, and
// wherever H is not positive definite, its expectation F replaces it, as in MADbench2.
#pragma once

#include "workloads/madbench/full/full_work.hpp"
#include "workloads/madbench/full/madcap_settings.hpp"

namespace weir::bench::madbench {

class MadcapWork : public FullWork {
 public:
  // Collective over the job.
  MadcapWork(const FullInputs& inputs, const MadcapSettings& settings);

  // Simulates the map: the Cholesky factor of its true covariance times unit Gaussians. Collective;
  // call it before the first repetition.
  Status simulate();

  [[nodiscard]] std::optional<bool> wants_more() const override;
  [[nodiscard]] nlohmann::ordered_json spectrum() const override;
  [[nodiscard]] std::string warning() const override;
  [[nodiscard]] std::string report() const override;

 protected:
  Status solve() override;

 private:
  struct Iteration {
    double log_likelihood = 0;      // at the estimate from which the step starts
    double largest_correction = 0;  // in standard errors
    bool by_curvature = false;      // Newton's step; otherwise a step by the expected curvature
  };
  [[nodiscard]] bool converged() const;

  MadcapSettings settings_;
  std::vector<double> truth_;
  std::vector<double> errors_;  // sqrt of the diagonal of F^-1 at the last estimate
  double chi_square_ = 0;       // of the estimate's deviation from the truth, with F
  std::vector<Iteration> iterations_;
};

}  // namespace weir::bench::madbench
