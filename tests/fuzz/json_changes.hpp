// Changes of JSON documents by their tokens: for the fuzzer, whose changes of single bytes hardly
// ever leave JSON that is nested deeply or has many members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::fuzz {

// Returns the document after one to four random changes: a value is nested in many lists or
// objects, repeated many times with the same or with other names, replaced, exchanged with another
// one, lengthened or removed, or a member gets the name of another one. The text need not be JSON,
// and most results for JSON are JSON again. No result is longer than `most_bytes`, unless the text
// itself is.
[[nodiscard]] std::string change_json(std::string text, std::uint32_t seed, std::size_t most_bytes);

}  // namespace weir::fuzz
