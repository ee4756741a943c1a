// An Error in the form that it has in a message or in memory shared between processes: its size is
// fixed, and texts are truncated to fit.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.hpp"

namespace weir::ranks {

struct ErrorMessage {
  std::int64_t offset = -1;
  std::int32_t code = 0;
  std::int32_t system_error = 0;
  std::int32_t rank = -1;
  std::int32_t unused = 0;
  std::array<char, 64> operation{};
  std::array<char, 1024> file{};
  std::array<char, 2000> text{};

  [[nodiscard]] static ErrorMessage of(const Error& error);
  [[nodiscard]] Error error() const;

  // Convert to and from a part of a text that is sent to other ranks.
  [[nodiscard]] std::string bytes() const;
  [[nodiscard]] static ErrorMessage of_bytes(std::string_view bytes);
};

}  // namespace weir::ranks
