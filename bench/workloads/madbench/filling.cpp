#include "workloads/madbench/filling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "common/checked.hpp"
#include "workloads/madbench/layout.hpp"

namespace weir::bench::madbench {

std::optional<double> share_to_fill(const std::string& pixels) {
  constexpr std::string_view word = "fill";
  std::string_view rest = pixels;
  if (!rest.starts_with(word)) return std::nullopt;
  rest.remove_prefix(word.size());
  if (rest.empty()) return share_of_the_paper;
  if (!rest.starts_with('=')) return std::nullopt;
  rest.remove_prefix(1);
  const std::string number(rest);
  double share = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, share);
  if (error != std::errc{} || stop != end) return std::nullopt;
  if (!(share >= least_share && share <= largest_share)) return std::nullopt;
  return share;
}

Result<std::int64_t> pixels_that_fill(const Size& size, double share, std::int64_t bytes_per_rank) {
  const std::int64_t side = exact_square_root(size.no_pe).value_or(1);
  const std::int64_t gang_side = exact_square_root(size.no_pe / size.no_gang).value_or(1);
  const auto step = checked_multiply(size.sblocksize, side);
  constexpr double bytes_per_number = 8;
  const double numbers = share * static_cast<double>(bytes_per_rank) /
                         (bytes_per_number * static_cast<double>(matrices_in_memory));
  // A rank of a gang has a square part of each matrix, whose edge is the gang's share of NPIX.
  const double most = std::sqrt(std::max(numbers, 0.0)) * static_cast<double>(gang_side);
  const double allowed = std::min(most, static_cast<double>(most_pixels));
  const std::int64_t pixels =
      step ? static_cast<std::int64_t>(allowed) / *step * *step : std::int64_t{0};
  if (pixels > 0) return pixels;
  return invalid_argument(
      fmt::format("madbench: NO_PIX fill: {:g} of the {} bytes that are available to a rank hold "
                  "no five matrices of SBLOCKSIZE {} on {} ranks: use a smaller SBLOCKSIZE or a "
                  "larger share",
                  share, bytes_per_rank, size.sblocksize, size.no_pe));
}

}  // namespace weir::bench::madbench
