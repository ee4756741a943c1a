#include "ranks/error_message.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace weir::ranks {
namespace {

// The last character stays '\0'.
template <std::size_t size>
void put(std::array<char, size>& field, const std::string& text) {
  std::copy_n(text.begin(), std::min(text.size(), size - 1), field.begin());
}

}  // namespace

ErrorMessage ErrorMessage::of(const Error& error) {
  ErrorMessage message;
  message.offset = error.offset;
  message.code = static_cast<std::int32_t>(error.code);
  message.system_error = error.system_error;
  message.rank = error.rank;
  put(message.operation, error.operation);
  put(message.file, error.file);
  put(message.text, error.message);
  return message;
}

Error ErrorMessage::error() const {
  Error error;
  error.code = static_cast<ErrorCode>(code);
  error.message = text.data();
  error.operation = operation.data();
  error.file = file.data();
  error.offset = offset;
  error.system_error = system_error;
  error.rank = rank;
  return error;
}

std::string ErrorMessage::bytes() const {
  return {reinterpret_cast<const char*>(this), sizeof *this};
}

ErrorMessage ErrorMessage::of_bytes(std::string_view bytes) {
  ErrorMessage message;
  std::memcpy(&message, bytes.data(), std::min(bytes.size(), sizeof message));
  return message;
}

}  // namespace weir::ranks
