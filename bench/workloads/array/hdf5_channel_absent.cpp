// Where Weir is built without the library.
#include "workloads/array/channel.hpp"

namespace weir::bench::array_io {

Result<std::unique_ptr<Channel>> open_hdf5_channel(const ChannelRequest& /*request*/) {
  return check_available(Api::hdf5).error();
}

}  // namespace weir::bench::array_io
