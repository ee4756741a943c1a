// Texts of variable length in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage {

// Text i is bytes[offsets[i]] to bytes[offsets[i + 1] - 2]. A zero byte follows each text.
struct Texts {
  std::vector<std::int64_t> offsets = {0};
  std::string bytes;

  void append(std::string_view text);
  [[nodiscard]] std::int64_t count() const { return std::ssize(offsets) - 1; }
  [[nodiscard]] std::string_view at(std::int64_t number) const;
};

// A list of texts that are set in any order.
class TextList {
 public:
  // All texts are initially "".
  explicit TextList(std::int64_t count) : places_(static_cast<std::size_t>(count)) {}

  void put(std::int64_t number, std::string_view text);
  // Returns room for a text of `bytes` bytes, which must be filled before the next call.
  [[nodiscard]] std::span<std::byte> room_for(std::int64_t number, std::int64_t bytes);

  enum class Zeros : std::uint8_t { end_texts, are_text };
  // Returns the texts in the order of their numbers.
  [[nodiscard]] Texts in_order(Zeros zeros) const;

 private:
  struct Place {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  std::vector<Place> places_;
  std::string bytes_;
};

}  // namespace weir::storage
