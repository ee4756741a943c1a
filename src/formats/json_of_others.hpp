// JSON of other programs in which NaN, Infinity and -Infinity are numbers. Python's json module,
// and therefore zarr-python, writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "formats/json.hpp"

namespace weir::storage {

// Parses like parse_json() and also accepts these words as numbers.
[[nodiscard]] std::optional<Json> parse_json_of_others(std::string_view text);
// Returns the text of a document, with these words for numbers that JSON itself cannot represent.
[[nodiscard]] std::string json_text_for_others(const Json& document);

}  // namespace weir::storage
