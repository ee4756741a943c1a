// The parameters of the simulated map of the workload `madcap`, and when its analysis ends.
#pragma once

#include <cstdint>
#include <vector>

#include "common/setting_fields.hpp"

namespace weir::bench::madbench {

struct MadcapSettings {
  double noise = 0;             // standard deviation of each pixel's noise
  double beam_degrees = 0;      // full width at half maximum of a Gaussian beam; 0: none
  std::uint32_t map_seed = 0;   // of the simulated map
  std::int64_t iterations = 0;  // upper limit
  double tolerance = 0;         // limit for the largest last correction, in standard errors
};

[[nodiscard]] FieldSettings<MadcapSettings> madcap_table();

// Returns B_l^2 = exp(-l (l+1) sigma^2) for l = 1 … multipoles, with sigma = beam / sqrt(8 ln 2).
[[nodiscard]] std::vector<double> beam_weights(double beam_degrees, std::int64_t multipoles);

// Returns the spectrum C_b of the simulated map. Its power per logarithm of l, l(l+1) C/(2 pi) at
// the bin's middle, is 1 with a bump of 2 at a third of the range. This is enough like the sky to
// test whether the analysis recovers it.
[[nodiscard]] std::vector<double> true_spectrum(std::int64_t bins);
// Returns the start of the analysis: the same power, 1.5, in all bins.
[[nodiscard]] std::vector<double> first_guess(std::int64_t bins);

}  // namespace weir::bench::madbench
