#include <weir/weir.h>

#include "interfaces/library.hpp"

namespace weir::bench {

Status weir_outcome(const char* operation, const std::string& path, int code) {
  if (code >= 0) return {};
  Error error(code == WEIR_E_DEADLINE || code == WEIR_E_BROKEN ? ErrorCode::deadline
              : code == WEIR_E_ARGUMENT                        ? ErrorCode::invalid_argument
              : code == WEIR_E_MEMORY                          ? ErrorCode::insufficient
                                                               : ErrorCode::io,
              weir_last_error(), path);
  error.operation = operation;
  return error;
}

}  // namespace weir::bench
