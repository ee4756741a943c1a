// What a simulated map of the workload `madcap` is made of, and when its analysis ends.
#pragma once

#include <cstdint>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"

namespace weir::bench::madbench {

struct MadcapSettings {
  double noise = 0;             // standard deviation of each pixel's noise
  double beam_degrees = 0;      // full width at half maximum of a Gaussian beam; 0: none
  std::uint32_t map_seed = 0;   // of the simulated map
  std::int64_t iterations = 0;  // at most
  double tolerance = 0;         // the largest last correction, in standard errors
};

[[nodiscard]] std::vector<Setting> madcap_declarations();
[[nodiscard]] Result<MadcapSettings> madcap_settings_of(const Settings& settings);

// B_l^2 = exp(-l (l+1) sigma^2) for l = 1 … multipoles, with sigma = beam / sqrt(8 ln 2).
[[nodiscard]] std::vector<double> beam_weights(double beam_degrees, std::int64_t multipoles);

// The spectrum C_b that the map is made with. Its power per logarithm of l, l(l+1) C/(2 pi) at the
// bin's middle, is 1 with a bump of 2 at a third of the range: enough like the sky to be a test of
// finding it again.
[[nodiscard]] std::vector<double> true_spectrum(std::int64_t bins);
// Where the analysis begins: the same power, 1.5, in all bins.
[[nodiscard]] std::vector<double> first_guess(std::int64_t bins);

}  // namespace weir::bench::madbench
