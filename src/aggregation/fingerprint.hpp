// What a rank passes to a collective call, as a few numbers that differ when the calls differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "array/distribution.hpp"
#include "array/region.hpp"

namespace weir::aggregation {

// One number per kind of argument, so that an error can name the kind.
enum class Argument : std::uint8_t { call, settings, files, distributions, sections };
inline constexpr std::size_t argument_kinds = 5;
[[nodiscard]] const char* name_of(Argument argument);

class Fingerprint {
 public:
  Fingerprint() { hashes_.fill(initial); }
  void add(Argument argument, std::uint64_t number);
  void add(Argument argument, std::string_view text);
  void add(const array::Distribution& distribution);
  void add(const array::Region& section);
  // In 62 bits, so that it may be negated.
  [[nodiscard]] std::int64_t of(std::size_t kind) const {
    return static_cast<std::int64_t>(hashes_.at(kind) >> 2);
  }

 private:
  static constexpr std::uint64_t initial = 0xcbf29ce484222325;  // FNV-1a, over words

  std::array<std::uint64_t, argument_kinds> hashes_{};
};

}  // namespace weir::aggregation
