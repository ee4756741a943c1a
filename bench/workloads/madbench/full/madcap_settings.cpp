#include "workloads/madbench/full/madcap_settings.hpp"

#include <cmath>
#include <numbers>

#include "workloads/madbench/full/full_work.hpp"

namespace weir::bench::madbench {
namespace {

double middle_multipole(std::int64_t bin) {
  return static_cast<double>(bin * multipoles_per_bin) +
         (static_cast<double>(multipoles_per_bin) + 1) / 2;
}

// Converts a power per logarithm of l to C.
double spectrum_of(double power, double multipole) {
  return 2 * std::numbers::pi * power / (multipole * (multipole + 1));
}

}  // namespace

FieldSettings<MadcapSettings> madcap_table() {
  return {
      {&MadcapSettings::noise,
       "noise",
       "standard deviation of each pixel's noise; that of the signal is about 2",
       {.default_value = "0.1", .metavar = "SIGMA", .range = {.above_least = true}}},
      {&MadcapSettings::beam_degrees,
       "beam",
       "full width at half maximum of the Gaussian beam; 0: none",
       {.default_value = "2", .metavar = "DEGREES", .range = {0, 180}}},
      {&MadcapSettings::map_seed,
       "map-seed",
       "seed of the simulated map, 0 to 4294967295",
       {.default_value = "1", .metavar = "N"}},
      {&MadcapSettings::iterations,
       "iterations",
       "largest number of Newton-Raphson steps",
       {.default_value = "25", .metavar = "N", .range = {2, 1000}}},
      {&MadcapSettings::tolerance,
       "tolerance",
       "stop when no correction exceeds this fraction of its standard error",
       {.default_value = "1e-6", .metavar = "FRACTION", .range = {.above_least = true}}},
  };
}

std::vector<double> beam_weights(double beam_degrees, std::int64_t multipoles) {
  const double width = beam_degrees * std::numbers::pi / 180 / std::sqrt(8 * std::numbers::ln2);
  std::vector<double> weights;
  for (std::int64_t multipole = 1; multipole <= multipoles; ++multipole) {
    const auto l = static_cast<double>(multipole);
    weights.push_back(std::exp(-l * (l + 1) * width * width));
  }
  return weights;
}

std::vector<double> true_spectrum(std::int64_t bins) {
  std::vector<double> spectrum;
  const double range = static_cast<double>(bins * multipoles_per_bin);
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const double multipole = middle_multipole(bin);
    const double place = (multipole - range / 3) / (range / 5);
    spectrum.push_back(spectrum_of(1 + 2 * std::exp(-place * place), multipole));
  }
  return spectrum;
}

std::vector<double> first_guess(std::int64_t bins) {
  std::vector<double> spectrum;
  spectrum.reserve(static_cast<std::size_t>(bins));
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    spectrum.push_back(spectrum_of(1.5, middle_multipole(bin)));
  }
  return spectrum;
}

}  // namespace weir::bench::madbench
