// Chooses chunks for arrays that the program defined without chunks, in formats and with codecs
// that need chunks.
#pragma once

#include <string>
#include <vector>

#include "capi/session.hpp"
#include "stored/file_description.hpp"

namespace weir::capi {

// Chooses chunks for those of the arrays that need them. `shapes` are the arrays' shapes within one
// step. Chunks are chosen so that a rank's block is a whole number of them, from the first
// distribution of the session that has the array's shape. Called by rank 0, which lays the file
// out: distributions are freed at different times on different ranks.
void choose_chunks(const weir_session& session, const std::string& format,
                   const std::vector<array::Shape>& shapes,
                   std::vector<storage::ArrayDescription>& arrays);

// Returns the description of the file to lay out, with chunks chosen where they are needed.
[[nodiscard]] storage::FileDescription with_chosen_chunks(const weir_file& file);

// Returns a line for people about the chunks that were chosen for an array, and how they fit the
// blocks of a distribution; "" if no chunks were chosen. The line is the same on all ranks.
[[nodiscard]] std::string about_chosen_chunks(const weir_array& array,
                                              const weir_distribution& distribution);

}  // namespace weir::capi
