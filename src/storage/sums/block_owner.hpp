// Which array, and which of its steps, has bytes of a file: for what is said of damaged blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/sums/sum_book.hpp"

namespace weir::storage {

// What a data file of `path` is called in a SumBook; nothing when it lies elsewhere.
[[nodiscard]] std::optional<std::string> name_below(const std::string& path,
                                                    const std::string& data_file);

// The error for a block that has another sum than the book has. `name` is the data file's below
// `path`. Looks at every array's places: for failures alone.
[[nodiscard]] Error differing_block(const FileMap& map, const std::string& path,
                                    const std::string& name, const SumBook::Block& block,
                                    std::uint32_t sum);

}  // namespace weir::storage
