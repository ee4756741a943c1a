// Reads the members of a raw file's document.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "array/per_dimension.hpp"
#include "common/status.hpp"
#include "formats/json.hpp"

namespace weir::storage {

// Reads one object. The first problem that is found becomes the error, which names `source`.
class DocumentReader {
 public:
  DocumentReader(const Json& document, const std::string& source)
      : document_(document), source_(source) {}

  [[nodiscard]] Error error(const std::string& what) const {
    Error error = invalid_argument(what);
    error.code = ErrorCode::corrupt;
    error.file = source_;
    return error;
  }
  void refuse(const std::string& what) {
    if (status_.ok()) status_ = error(what);
  }
  [[nodiscard]] const Status& status() const { return status_; }

  std::string text(const char* name) {
    const Json* const value = member(name);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      refuse(fmt::format("\"{}\" is no text", name));
      return {};
    }
    return value->get<std::string>();
  }
  std::int64_t whole(const char* name) {
    const Json* const value = member(name);
    return value == nullptr ? 0 : whole_of(*value, name);
  }
  array::Indices list(const Json& value, const char* name) {
    array::Indices numbers;
    if (!value.is_array()) {
      refuse(fmt::format("\"{}\" is no list of numbers", name));
    } else if (value.size() > array::max_dimensions) {
      refuse(fmt::format("\"{}\" has {} numbers; arrays have at most {} dimensions", name,
                         value.size(), array::max_dimensions));
    } else {
      for (const Json& one : value) numbers.push_back(whole_of(one, name));
    }
    return numbers;
  }
  // Reads a number of sixteen digits. As text it keeps all digits in every program.
  std::uint64_t hexadecimal(const char* name) {
    const std::string digits = text(name);
    std::uint64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [rest, problem] = std::from_chars(digits.data(), end, number, 16);
    if (problem != std::errc() || rest != end || digits.size() != 16) {
      refuse(fmt::format("\"{}\" is no number of 16 hexadecimal digits", name));
    }
    return number;
  }
  std::vector<std::string> texts(const Json& value, const char* name, std::int64_t most) {
    std::vector<std::string> texts;
    if (!value.is_array() || value.empty() || std::cmp_greater(value.size(), most)) {
      refuse(fmt::format("\"{}\" is no list of 1 to {} texts", name, most));
      return texts;
    }
    for (const Json& one : value) {
      if (one.is_string()) {
        texts.push_back(one.get<std::string>());
      } else {
        refuse(fmt::format("\"{}\" holds what is no text", name));
      }
    }
    return texts;
  }
  const Json* member(const char* name) {
    const auto found = document_.find(name);
    if (found != document_.end()) return &*found;
    refuse(fmt::format("\"{}\" is missing", name));
    return nullptr;
  }

 private:
  std::int64_t whole_of(const Json& value, const char* name) {
    const bool fits =
        value.is_number_integer() &&
        (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX}) &&
        value.get<std::int64_t>() >= 0;
    if (!fits) {
      refuse(fmt::format("\"{}\" holds what is no whole number from 0 to 2^63 - 1", name));
      return 0;
    }
    return value.get<std::int64_t>();
  }

  const Json& document_;
  const std::string& source_;
  Status status_;
};

}  // namespace weir::storage
