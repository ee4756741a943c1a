// A build without that library: check_available() refuses it before anything is made.
#include "workloads/open/shared_file.hpp"

namespace weir::bench::opening {

std::unique_ptr<SharedFile> make_hdf5_file(const FileRequest& /*request*/) { return nullptr; }

}  // namespace weir::bench::opening
