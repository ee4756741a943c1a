#include "formats/json_of_others.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weir::storage {
namespace {

// The library rejects the words and prints such numbers as null. While the library reads or prints
// a document, each word is therefore replaced by a string that cannot occur in any document.

struct Word {
  std::string_view word;
  double number;
  std::string stand_in;
};

const std::array<Word, 3>& words() {
  const auto word = [](std::string_view text, double number) {
    return Word{text, number, fmt::format("{}{:014x}", text.front(), secret_hash(text) >> 8U)};
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  static const std::array<Word, 3> all = {word("-Infinity", -infinity), word("Infinity", infinity),
                                          word("NaN", std::numeric_limits<double>::quiet_NaN())};
  return all;
}

const Word& word_of(double number) {
  return *std::find_if(words().begin(), words().end(), [&](const Word& one) {
    return one.number == number || (std::isnan(one.number) && std::isnan(number));
  });
}

bool is_name(std::string_view text, std::size_t end) {
  const std::size_t next = text.find_first_not_of(" \t\r\n", end);
  return next != std::string_view::npos && text[next] == ':';
}

// Returns `text` with each word outside strings replaced by its string, except in names of members.
std::string without_words(std::string_view text) {
  std::string without;
  bool in_text = false;
  for (std::size_t at = 0; at < text.size();) {
    if (!in_text) {
      const auto* const found = std::find_if(words().begin(), words().end(), [&](const Word& one) {
        return text.substr(at).starts_with(one.word);
      });
      if (found != words().end() && !is_name(text, at + found->word.size())) {
        without += fmt::format("\"{}\"", found->stand_in);
        at += found->word.size();
        continue;
      }
    }
    const char now = text[at];
    if (now == '"') in_text = !in_text;
    const std::size_t count = in_text && now == '\\' ? 2 : 1;
    without += text.substr(at, count);
    at += count;
  }
  return without;
}

// Calls change(value) for each value that contains no other value. The recursion is no deeper than
// a document may be.
template <typename Change>
void for_each_leaf(Json& value, const Change& change) {
  if (!value.is_structured()) return change(value);
  for (Json& one : value) for_each_leaf(one, change);
}

bool is_not_finite(const Json& value) {
  return value.is_number_float() && !std::isfinite(value.get<double>());
}

}  // namespace

std::optional<Json> parse_json_of_others(std::string_view text) {
  auto document = parse_json(text);
  if (document) return document;
  document = parse_json(without_words(text));
  if (!document) return document;
  for_each_leaf(*document, [](Json& value) {
    if (!value.is_string()) return;
    const auto& word = value.get_ref<const std::string&>();
    const auto* const found = std::find_if(words().begin(), words().end(),
                                           [&](const Word& one) { return one.stand_in == word; });
    if (found != words().end()) value = found->number;
  });
  return document;
}

std::string json_text_for_others(const Json& document) {
  Json printed = document;
  bool has_words = false;
  for_each_leaf(printed, [&](Json& value) {
    if (!is_not_finite(value)) return;
    value = word_of(value.get<double>()).stand_in;
    has_words = true;
  });
  std::string text = printed.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (!has_words) return text;
  for (const Word& one : words()) {
    const std::string quoted = fmt::format("\"{}\"", one.stand_in);
    std::string with_words;
    std::size_t done = 0;
    for (std::size_t at = 0; (at = text.find(quoted, done)) != std::string::npos;) {
      with_words.append(text, done, at - done).append(one.word);
      done = at + quoted.size();
    }
    text = with_words.append(text, done);
  }
  return text;
}

}  // namespace weir::storage
