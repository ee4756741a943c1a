// NetCDF's classic formats, by header code of Weir's own. PnetCDF and the NetCDF library write the
// same headers, but PnetCDF only under MPI, which storage has nothing to do with, and neither is
// made for files that mean harm; the header is one page of specification. Both serve to test this
// code.
#pragma once

#include "storage/formats/format.hpp"

namespace weir::storage {

// `version` 1, 2 or 5: what lay_out() writes. Each opens all three.
[[nodiscard]] const Format* cdf_format(int version);

}  // namespace weir::storage
