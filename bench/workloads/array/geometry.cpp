#include "workloads/array/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "common/settings.hpp"
#include "workloads/array/refusal.hpp"

namespace weir::bench::array_io {
namespace {

// Returns the parts of `text` between separators that are outside parentheses.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] != separator || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::int64_t> prime_factors(std::int64_t number) {
  std::vector<std::int64_t> factors;
  for (std::int64_t p = 2; p * p <= number; ++p) {
    for (; number % p == 0; number /= p) factors.push_back(p);
  }
  if (number > 1) factors.push_back(number);
  return factors;
}

}  // namespace

Result<array::Indices> parse_extents(std::string_view setting, std::string_view text) {
  array::Indices extents;
  const auto parts = split(text, 'x');
  if (parts.size() > static_cast<std::size_t>(array::max_dimensions)) {
    return refuse(fmt::format("--{} {}: an array has at most {} dimensions", setting, text,
                              array::max_dimensions));
  }
  for (const std::string_view part : parts) {
    const auto extent = parse_bytes(part);
    if (!extent) {
      return refuse(
          fmt::format("--{}: '{}' is not a list of extents such as 512x512x64", setting, text));
    }
    extents.push_back(*extent);
  }
  return extents;
}

Result<std::vector<array::DistributionFormat>> parse_formats(std::string_view setting,
                                                             std::string_view text,
                                                             int dimensions) {
  std::vector<array::DistributionFormat> formats;
  for (const std::string_view part : split(text, ',')) {
    const auto format = array::DistributionFormat::parse(trimmed(part));
    if (!format) return refuse(fmt::format("--{} {}: {}", setting, text, format.error().message));
    formats.push_back(format.value());
  }
  const auto wanted = static_cast<std::size_t>(dimensions);
  if (formats.size() == 1) formats.resize(wanted, formats.front());
  if (formats.size() == wanted) return formats;
  return refuse(fmt::format("--{} {}: {} formats for {} dimensions; give one each, or one for all",
                            setting, text, formats.size(), dimensions));
}

Result<array::Section> parse_section(std::string_view text, const array::Shape& shape) {
  const auto wrong = [&] {
    return refuse(
        fmt::format("--section {}: give FIRST:END or FIRST:END:STRIDE, between 0 and the extent, "
                    "for each dimension of {}, separated by commas",
                    text, shape.text()));
  };
  array::Section section;
  const auto parts = split(text, ',');
  if (parts.size() != static_cast<std::size_t>(shape.dimensions())) return wrong();
  for (int d = 0; d < shape.dimensions(); ++d) {
    const auto numbers = split(parts[static_cast<std::size_t>(d)], ':');
    if (numbers.size() < 2 || numbers.size() > 3) return wrong();
    const auto first = parse_bytes(numbers[0]);
    const auto end = parse_bytes(numbers[1]);
    const auto stride = numbers.size() == 3 ? parse_bytes(numbers[2]) : std::optional(1L);
    if (!first || !end || *first >= *end || *end > shape.extent(d)) return wrong();
    if (!stride || *stride < 1) return wrong();
    const std::int64_t count = (*end - *first - 1) / *stride + 1;
    section.start.push_back(*first);
    section.count.push_back(count);
    section.stride.push_back(count == 1 ? 1 : *stride);
  }
  return section;
}

array::Box half_section(const array::Shape& shape) {
  array::Box box;
  const double share = std::pow(0.5, 1.0 / shape.dimensions());
  for (int d = 0; d < shape.dimensions(); ++d) {
    const std::int64_t extent = shape.extent(d);
    const auto wanted = static_cast<std::int64_t>(std::lround(static_cast<double>(extent) * share));
    const std::int64_t count = std::clamp<std::int64_t>(wanted, std::min<std::int64_t>(extent, 1),
                                                        std::max<std::int64_t>(extent - 1, 1));
    const std::int64_t centred = (extent - count) / 2;
    const std::int64_t odd = centred | 1;
    box.lower.push_back(odd + count <= extent ? odd : centred);
    box.extent.push_back(std::min(count, extent));
  }
  return box;
}

Result<array::Indices> process_grid(std::string_view setting, std::int64_t ranks,
                                    const std::vector<array::DistributionFormat>& formats,
                                    array::Indices given) {
  const int dimensions = static_cast<int>(formats.size());
  if (given.empty()) given = array::Indices(dimensions, 0);
  if (given.size() != dimensions) {
    return refuse(fmt::format("--{}: {} extents are given for {} dimensions", setting, given.size(),
                              dimensions));
  }
  std::int64_t taken = 1;
  std::vector<int> free;
  for (int d = 0; d < dimensions; ++d) {
    const bool whole =
        formats[static_cast<std::size_t>(d)].kind == array::DistributionFormat::Kind::whole;
    if (given[d] == 0 && whole) given[d] = 1;
    if (given[d] == 0) {
      free.push_back(d);
      continue;
    }
    taken = given[d] > ranks ? ranks + 1 : taken * given[d];
    if (taken > ranks) {
      return refuse(fmt::format("--{} {}: more processes than the {} ranks", setting,
                                array::extents_text(given), ranks));
    }
  }
  if (free.empty()) return given;
  if (ranks % taken != 0) {
    return refuse(fmt::format("--{} {}: {} ranks cannot be divided over the other dimensions",
                              setting, array::extents_text(given), ranks));
  }
  // Assigns the largest factors first, each to the dimension with the fewest processes, and then
  // sorts the shares in descending order.
  std::vector<std::int64_t> shares(free.size(), 1);
  std::vector<std::int64_t> factors = prime_factors(ranks / taken);
  std::sort(factors.begin(), factors.end(), std::greater<>());
  for (const std::int64_t factor : factors)
    *std::min_element(shares.begin(), shares.end()) *= factor;
  std::sort(shares.begin(), shares.end(), std::greater<>());
  for (std::size_t i = 0; i < free.size(); ++i) given[free[i]] = shares[i];
  return given;
}

Result<array::RegularDistribution> distribution_of(const DistributionWords& words,
                                                   const array::Shape& shape, std::int64_t ranks) {
  const auto formats = parse_formats(words.formats_option, words.formats, shape.dimensions());
  if (!formats) return formats.error();
  array::Indices given;
  if (!words.grid.empty()) {
    const auto extents = parse_extents(words.grid_option, words.grid);
    if (!extents) return extents.error();
    given = extents.value();
  }
  const auto grid = process_grid(words.grid_option, ranks, formats.value(), given);
  if (!grid) return grid.error();
  auto made = array::RegularDistribution::create(shape, formats.value(), {.extents = grid.value()});
  if (made) return made;
  return refuse(fmt::format("--{} {} over {} ranks: {}", words.formats_option, words.formats, ranks,
                            made.error().message));
}

}  // namespace weir::bench::array_io
