#include "workloads/madbench/full/madcap_settings.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "workloads/madbench/full/full_work.hpp"

namespace weir::bench::madbench {
namespace {

constexpr std::int64_t most_iterations = 1000;

double middle_multipole(std::int64_t bin) {
  return static_cast<double>(bin * multipoles_per_bin) +
         (static_cast<double>(multipoles_per_bin) + 1) / 2;
}

// Converts a power per logarithm of l to C.
double spectrum_of(double power, double multipole) {
  return 2 * std::numbers::pi * power / (multipole * (multipole + 1));
}

Status require(bool holds, const char* rule, double given) {
  if (holds) return {};
  return invalid_argument(fmt::format("madcap: {}; given: {}", rule, given));
}

}  // namespace

std::vector<Setting> madcap_declarations() {
  using Kind = SettingKind;
  return {
      {.name = "noise",
       .kind = Kind::real,
       .default_value = "0.1",
       .metavar = "SIGMA",
       .help = "standard deviation of each pixel's noise; that of the signal is about 2"},
      {.name = "beam",
       .kind = Kind::real,
       .default_value = "2",
       .metavar = "DEGREES",
       .help = "full width at half maximum of the Gaussian beam; 0: none"},
      {.name = "map-seed",
       .kind = Kind::integer,
       .default_value = "1",
       .metavar = "N",
       .help = "seed of the simulated map, 0 to 4294967295"},
      {.name = "iterations",
       .kind = Kind::integer,
       .default_value = "25",
       .metavar = "N",
       .help = "largest number of Newton-Raphson steps"},
      {.name = "tolerance",
       .kind = Kind::real,
       .default_value = "1e-6",
       .metavar = "FRACTION",
       .help = "stop when no correction exceeds this fraction of its standard error"},
  };
}

Result<MadcapSettings> madcap_settings_of(const Settings& settings) {
  MadcapSettings madcap;
  madcap.noise = settings.real("noise");
  madcap.beam_degrees = settings.real("beam");
  madcap.iterations = settings.integer("iterations");
  madcap.tolerance = settings.real("tolerance");
  const std::int64_t seed = settings.integer("map-seed");
  constexpr std::int64_t most_seed = std::numeric_limits<std::uint32_t>::max();
  for (Status status :
       {require(madcap.noise > 0, "--noise must be above 0: without noise the matrix D is singular",
                madcap.noise),
        require(madcap.beam_degrees >= 0 && madcap.beam_degrees <= 180,
                "--beam must be between 0 and 180 degrees", madcap.beam_degrees),
        require(madcap.iterations >= 2 && madcap.iterations <= most_iterations,
                "--iterations must be between 2 and 1000", static_cast<double>(madcap.iterations)),
        require(madcap.tolerance > 0, "--tolerance must be above 0", madcap.tolerance),
        require(seed >= 0 && seed <= most_seed, "--map-seed must be between 0 and 4294967295",
                static_cast<double>(seed))}) {
    if (!status) return status.error();
  }
  madcap.map_seed = static_cast<std::uint32_t>(seed);
  return madcap;
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
