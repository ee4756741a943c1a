#include "aggregation/byte_account.hpp"

#include <fmt/format.h>

namespace weir::aggregation {

Status ByteAccount::check() const {
  if (handed == asked && moved + filled == due) return {};
  Error error;
  error.code = ErrorCode::short_transfer;
  error.message = fmt::format(
      "bytes went astray inside the library: {} asked for, {} handed over; {} due, {} moved and {} "
      "filled. The request failed; please report this line",
      asked, handed, due, moved, filled);
  return error;
}

}  // namespace weir::aggregation
