// Where Weir is built without the library.
#include "workloads/stream/channel.hpp"

namespace weir::bench::stream {

Result<std::unique_ptr<Channel>> open_pnetcdf_channel(const ChannelRequest& /*request*/) {
  return check_available(Api::pnetcdf).error();
}

}  // namespace weir::bench::stream
