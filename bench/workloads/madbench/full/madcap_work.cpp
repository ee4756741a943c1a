#include "workloads/madbench/full/madcap_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>

#include "workloads/madbench/full/random48.hpp"
#include "workloads/madbench/full/small_matrix.hpp"

namespace weir::bench::madbench {
namespace {

constexpr double newton_from = 1;  // standard errors; smaller steps are Newton's
constexpr double least_remaining =
    0.2;  // smallest fraction of an estimate that remains after one step far from the peak

// Returns unit Gaussians by the method of Box and Muller.
std::vector<double> unit_gaussians(std::size_t count, std::uint32_t seed) {
  Random48 random(seed);
  std::vector<double> values;
  while (values.size() < count) {
    const double radius = std::sqrt(-2 * std::log(1 - random.next()));
    const double angle = 2 * std::numbers::pi * random.next();
    values.push_back(radius * std::cos(angle));
    values.push_back(radius * std::sin(angle));
  }
  values.resize(count);
  return values;
}

Analysis analysis_of(const Size& size, const MadcapSettings& settings) {
  return {.weights = beam_weights(settings.beam_degrees, size.no_bin * multipoles_per_bin),
          .spectrum = true_spectrum(size.no_bin),
          .noise_variance = settings.noise * settings.noise,
          .data = {},
          .with_curvature = true};
}

}  // namespace

MadcapWork::MadcapWork(const FullInputs& inputs, const MadcapSettings& settings)
    : FullWork(inputs, analysis_of(inputs.size, settings)),
      settings_(settings),
      truth_(true_spectrum(inputs.size.no_bin)) {}

Status MadcapWork::simulate() {
  const Size& size = inputs().size;
  begin_signal();
  for (std::int64_t bin = 0; bin < size.no_bin; ++bin) add_bin(bin, matrix(2), {});
  add_noise();
  if (Status status = factor_covariance(); !status) return status;
  const std::vector<double> gaussians =
      unit_gaussians(static_cast<std::size_t>(size.no_pix), settings_.map_seed);
  analysis_.data.assign(static_cast<std::size_t>(size.no_pix), 0);
  const Distribution& own = distribution();
  for (std::int64_t column = 0; column < own.columns(); ++column) {
    const std::int64_t from = own.global_column(column);
    for (std::int64_t row = 0; row < own.rows(); ++row) {
      const std::int64_t to = own.global_row(row);
      if (to < from) continue;  // the factor is the lower triangle
      analysis_.data[static_cast<std::size_t>(to)] +=
          matrix(4)[column * own.rows() + row] * gaussians[static_cast<std::size_t>(from)];
    }
  }
  sum(inputs().job.world, analysis_.data);
  // All ranks get the same map, to the last bit.
  MPI_Bcast(analysis_.data.data(), static_cast<int>(size.no_pix), MPI_DOUBLE, 0,
            inputs().job.world);
  analysis_.spectrum = first_guess(size.no_bin);
  return {};
}

Status MadcapWork::solve() {
  if (Status status = FullWork::solve(); !status) return status;
  const Derivatives& found = derivatives();
  std::vector<double>& estimate = analysis_.spectrum;
  const std::size_t bins = estimate.size();
  const auto expected = SmallFactor::create(found.fisher, bins);
  errors_ = expected->inverse_diagonal();
  for (double& error : errors_) error = std::sqrt(error);

  const auto largest = [&] {
    double most = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      most = std::max(most, std::abs(corrections_[b]) / errors_[b]);
    }
    return most;
  };
  Iteration iteration{.log_likelihood = found.log_likelihood};
  if (largest() < newton_from) {
    std::vector<double> curvature = found.curvature;
    for (std::size_t i = 0; i < bins; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        curvature[i * bins + j] = (curvature[i * bins + j] + curvature[j * bins + i]) / 2;
      }
    }
    if (const auto observed = SmallFactor::create(curvature, bins); observed) {
      corrections_ = observed->solve(found.slope);
      iteration.by_curvature = true;
    }
  }
  iteration.largest_correction = largest();
  iterations_.push_back(iteration);
  for (std::size_t b = 0; b < bins; ++b) {
    const double next = estimate[b] + corrections_[b];
    // A step from far away may overshoot to where D is not positive definite.
    const bool overshoots = !iteration.by_curvature && next < least_remaining * estimate[b];
    estimate[b] = overshoots && estimate[b] > 0 ? least_remaining * estimate[b] : next;
  }
  chi_square_ = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    for (std::size_t j = 0; j < bins; ++j) {
      chi_square_ +=
          (estimate[i] - truth_[i]) * found.fisher[i * bins + j] * (estimate[j] - truth_[j]);
    }
  }
  return {};
}

bool MadcapWork::converged() const {
  return !iterations_.empty() && iterations_.back().largest_correction <= settings_.tolerance;
}

std::optional<bool> MadcapWork::wants_more() const {
  const auto done = static_cast<std::int64_t>(iterations_.size());
  return done < settings_.iterations && !converged();
}

nlohmann::ordered_json MadcapWork::spectrum() const {
  nlohmann::ordered_json record = FullWork::spectrum();
  for (std::size_t b = 0; b < truth_.size(); ++b) {
    nlohmann::ordered_json& bin = record["bins"][b];
    bin["estimate"] = analysis_.spectrum[b];
    bin["error"] = errors_[b];
    bin["truth"] = truth_[b];
  }
  record["iterations"] = nlohmann::ordered_json::array();
  for (const Iteration& iteration : iterations_) {
    record["iterations"].push_back({{"log_likelihood", iteration.log_likelihood},
                                    {"largest_correction", iteration.largest_correction},
                                    {"by_curvature", iteration.by_curvature}});
  }
  record["converged"] = converged();
  record["chi_square"] = chi_square_;
  return record;
}

std::string MadcapWork::warning() const {
  if (converged()) return "";
  return fmt::format(
      "the spectrum did not converge in {} iterations: the last correction was {:.3g} standard "
      "errors, --tolerance is {:.3g}",
      iterations_.size(), iterations_.empty() ? 0 : iterations_.back().largest_correction,
      settings_.tolerance);
}

std::string MadcapWork::report() const {
  std::string text = "\niteration  ln likelihood  largest correction / error  step\n";
  for (std::size_t i = 0; i < iterations_.size(); ++i) {
    const Iteration& iteration = iterations_[i];
    text += fmt::format("{:9}  {:13.6f}  {:26.3e}  {}\n", i + 1, iteration.log_likelihood,
                        iteration.largest_correction,
                        iteration.by_curvature ? "Newton-Raphson" : "expected curvature");
  }
  text += "\nmultipoles       true C     estimate        error  deviation / error\n";
  for (std::size_t b = 0; b < truth_.size(); ++b) {
    const auto first = static_cast<std::int64_t>(b) * multipoles_per_bin + 1;
    text += fmt::format("{:4} to {:4}  {:.4e}  {:11.4e}  {:.4e}  {:17.2f}\n", first,
                        first + multipoles_per_bin - 1, truth_[b], analysis_.spectrum[b],
                        errors_[b], (analysis_.spectrum[b] - truth_[b]) / errors_[b]);
  }
  text += fmt::format("\n{} after {} iterations; chi-square {:.2f} for {} bins\n",
                      converged() ? "converged" : "NOT converged", iterations_.size(), chi_square_,
                      truth_.size());
  return text;
}

}  // namespace weir::bench::madbench
