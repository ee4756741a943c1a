#include "formats/json.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace weir::storage {
namespace {

std::uint64_t mixed(std::uint64_t number) {
  // The finalizer of SplitMix64.
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

// Returns whether the text has no more opening brackets than may be nested. This is fast, and true
// for most documents.
bool has_few_brackets(std::string_view text) {
  int brackets = 0;
  for (const char opening : {'[', '{'}) {
    for (auto at = text.find(opening); at != std::string_view::npos;
         at = text.find(opening, at + 1)) {
      if (++brackets > most_json_levels) return false;
    }
  }
  return true;
}

// Returns whether brackets outside strings are nested deeper than a document may have them. The
// result is arbitrary for a text that is not JSON, because the parser rejects it.
bool is_too_deep(std::string_view text) {
  if (has_few_brackets(text)) return false;
  int depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char now = text[at];
    if (in_text) {
      if (now == '\\') ++at;
      in_text = now != '"';
    } else if (now == '"') {
      in_text = true;
    } else if (now == '[' || now == '{') {
      if (++depth > most_json_levels) return true;
    } else if (now == ']' || now == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::uint64_t secret_hash(std::string_view name) {
  static const std::uint64_t secret = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32U) | device();
  }();
  std::uint64_t hash = mixed(secret + name.size());
  while (!name.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(name.size(), sizeof word);
    std::memcpy(&word, name.data(), bytes);
    hash = mixed((hash ^ word) + secret);
    name.remove_prefix(bytes);
  }
  return hash;
}

std::optional<Json> parse_json(std::string_view text) {
  if (is_too_deep(text)) return std::nullopt;
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

const Json* json_member(const Json* from, std::string_view name) {
  if (from == nullptr || !from->is_object()) return nullptr;
  const auto found = from->find(name);
  return found == from->end() ? nullptr : &*found;
}

std::string json_text(const Json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

}  // namespace weir::storage
