// NetCDF's classic formats, by Weir's own code for headers. PnetCDF and the NetCDF library write
// the same headers. But PnetCDF needs MPI, which the storage layer does not use, neither library is
// made for malicious files, and the header's specification is only a page long. Both libraries are
// used to test this code.
#pragma once

#include "formats/format.hpp"

namespace weir::storage {

// Returns the format of `version` 1, 2 or 5, which lay_out() writes. open() reads all three
// versions.
[[nodiscard]] const Format* cdf_format(int version);

}  // namespace weir::storage
