// JSON of other programs, in which NaN, Infinity and -Infinity are numbers: so Python's json writes
// them, and with it zarr-python.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/json.hpp"

namespace weir::storage {

// As parse_json(), and takes these words for numbers.
[[nodiscard]] std::optional<Json> parse_json_of_others(std::string_view text);
// The text of a document, with the words for such numbers, which JSON itself does not have.
[[nodiscard]] std::string json_text_for_others(const Json& document);

}  // namespace weir::storage
