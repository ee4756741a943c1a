#include "common/status.hpp"

#include <fmt/format.h>

#include <system_error>

namespace weir {

std::string Error::text() const {
  std::string line;
  if (rank >= 0) line += fmt::format("rank {}: ", rank);
  line += message;
  if (!file.empty()) {
    line += fmt::format(" (file {}", file);
    if (offset >= 0) line += fmt::format(", offset {}", offset);
    line += ')';
  }
  return line;
}

Error system_failure(std::string_view operation, std::string_view file, std::int64_t offset,
                     int system_error) {
  Error error;
  error.code = ErrorCode::io;
  error.operation = operation;
  error.file = file;
  error.offset = offset;
  error.system_error = system_error;
  error.message =
      fmt::format("{} failed: {}", operation, std::generic_category().message(system_error));
  return error;
}

Error invalid_argument(std::string message, std::string file) {
  return {ErrorCode::invalid_argument, std::move(message), std::move(file)};
}

Error with_file(Error error, const std::string& file) {
  if (error.file.empty()) error.file = file;
  return error;
}

}  // namespace weir
