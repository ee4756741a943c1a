// The number of pixels that fills the memory of a job (Borrill et al., section 3). Pure.
//
// The paper chooses NPIX such that 5 × NPIX² × 8 bytes are about 3/4 of the memory of all
// processors, M × P. A file system's cache then cannot hold what a function reads back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "workloads/madbench/parameters.hpp"

namespace weir::bench::madbench {

inline constexpr double share_of_the_paper = 0.75;
inline constexpr double least_share = 0.01;
// The rest of the memory is for the system, the MPI library and the buffers of the check.
inline constexpr double largest_share = 0.95;

// Returns the share of the memory that NO_PIX asks for, in the form `fill` or `fill=0.75`; nothing
// if it is not of this form or the share is not from `least_share` to `largest_share`.
[[nodiscard]] std::optional<double> share_to_fill(const std::string& pixels);

// Returns the largest NPIX with which the five matrices of a rank take at most that share of
// `bytes_per_rank`. All members of `size` but `no_pix` must satisfy the rules of validate(). NPIX
// is a multiple of SBLOCKSIZE × √P, so that all ranks have equal shares of a matrix. With gangs,
// each of which holds whole matrices, the memory is that of NO_GANG times as many matrices. Fails
// if the share holds no such matrices.
[[nodiscard]] Result<std::int64_t> pixels_that_fill(const Size& size, double share,
                                                    std::int64_t bytes_per_rank);

}  // namespace weir::bench::madbench
