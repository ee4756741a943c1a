// Adds arrays and attributes to a file that readers already see.
#pragma once

#include <string>

#include "formats/additions.hpp"
#include "formats/header_update.hpp"

namespace weir::storage {

// Implements Format::add(). Groups that get arrays or attributes are made anew behind the file's
// end, with links to all that is in them, up to a new root group. The superblock, one small write,
// then names that root and the new end, so readers see all of it or nothing. Attributes of existing
// arrays are entered in the arrays' headers after that, each header in place. Fails if the library
// would keep these attributes in an index of their own.
//
// Scales of existing dimensions do not list the arrays that were added to them (REFERENCE_LIST).
// The arrays name their scales, which is what readers use.
[[nodiscard]] Result<HeaderUpdate> add_to_hdf5(const std::string& path, const Additions& added);

}  // namespace weir::storage
