// Where Weir is built without the library.
#include "workloads/array/channel.hpp"

namespace weir::bench::array_io {

Result<std::unique_ptr<Channel>> open_pnetcdf_channel(const ChannelRequest& /*request*/) {
  return check_available(Api::pnetcdf).error();
}

}  // namespace weir::bench::array_io
