// The chunks of arrays for which the program gave none, in formats and with codecs that want some.
#pragma once

#include <string>
#include <vector>

#include "capi/session.hpp"
#include "storage/formats/file_description.hpp"

namespace weir::capi {

// Gives arrays of these shapes (of one step), described for a format, chunks where some have to be
// chosen: such that a rank's block is a whole number of them, by the first distribution of the
// session that has the array's shape. By rank 0, which lays the file out: distributions end at
// different times on different ranks.
void choose_chunks(const weir_session& session, const std::string& format,
                   const std::vector<array::Shape>& shapes,
                   std::vector<storage::ArrayDescription>& arrays);

// What the file is to hold, with chunks where some have to be chosen.
[[nodiscard]] storage::FileDescription with_chosen_chunks(const weir_file& file);

// A line for people about the chunks that were chosen for an array, and how they fit the blocks of
// a distribution; "" where none were chosen. The same on all ranks.
[[nodiscard]] std::string about_chosen_chunks(const weir_array& array,
                                              const weir_distribution& distribution);

}  // namespace weir::capi
