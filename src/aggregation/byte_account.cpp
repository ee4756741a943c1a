#include "aggregation/byte_account.hpp"

#include <fmt/format.h>

namespace weir::aggregation {

Status ByteAccount::check() const {
  if (handed == asked && moved + filled == due) return {};
  return Error(
      ErrorCode::short_transfer,
      fmt::format("internal error, the library lost bytes: {} requested, {} passed on; {} "
                  "expected, {} moved and {} filled. The request failed; please report this line",
                  asked, handed, due, moved, filled));
}

Status check_all_stored(std::int64_t unstored) {
  if (unstored == 0) return {};
  return Error(
      ErrorCode::short_transfer,
      fmt::format("internal error, the library lost bytes: all ranks together stored {} bytes {} "
                  "than they were to write. Nothing of it is committed; please report this line",
                  unstored > 0 ? unstored : -unstored, unstored > 0 ? "fewer" : "more"));
}

}  // namespace weir::aggregation
