// A hash of the arguments of a collective call, as a few numbers that differ if the calls differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "array/fingerprint.hpp"
#include "array/section.hpp"
#include "plan/request.hpp"
#include "stored/file_description.hpp"

namespace weir::aggregation {

// There is one number per kind of argument, so that an error can name the kind.
enum class Argument : std::uint8_t { call, settings, files, distributions, sections };
inline constexpr std::size_t argument_kinds = 5;
[[nodiscard]] const char* name_of(Argument argument);

class CallFingerprint {
 public:
  void add(Argument argument, std::uint64_t number) {
    of_kind_.at(static_cast<std::size_t>(argument)).add(static_cast<std::int64_t>(number));
  }
  void add(Argument argument, std::string_view text);
  void add(const plan::SharedDistribution& distribution) {
    add(Argument::distributions, distribution.fingerprint());
  }
  void add(const array::Section& section);
  // Adds the description of a file, as arguments of kind `files`.
  void add(const storage::FileDescription& file);
  [[nodiscard]] std::int64_t of(std::size_t kind) const {
    return static_cast<std::int64_t>(of_kind_.at(kind).value());
  }

 private:
  void add(const std::vector<storage::Attribute>& attributes);

  std::array<array::Fingerprint, argument_kinds> of_kind_;
};

}  // namespace weir::aggregation
