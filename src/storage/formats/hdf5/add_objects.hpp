// Arrays and attributes for a file that readers see already.
#pragma once

#include <string>

#include "storage/formats/additions.hpp"
#include "storage/formats/header_update.hpp"

namespace weir::storage {

// Format::add(): groups that get arrays or attributes are made anew behind the file's end, with
// links to all that is in them, up to a root group; the superblock, which is one small write, names
// that one and the new end. So readers see all of it or nothing. Attributes of arrays that are
// there are entered in the arrays' headers behind that, each header in place. Fails where the
// library would keep these in an index of their own.
//
// The scales of dimensions that were there before do not list the arrays that have them since
// (REFERENCE_LIST); these arrays name their scales, by which readers go.
[[nodiscard]] Result<HeaderUpdate> add_to_hdf5(const std::string& path, const Additions& added);

}  // namespace weir::storage
