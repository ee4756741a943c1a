#include "measurement/phase_record.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weir::bench {

using nlohmann::ordered_json;

ordered_json payload_errors(const std::vector<PayloadFault>& faults, int rank) {
  ordered_json errors = ordered_json::array();
  for (const PayloadFault& fault : faults) {
    errors.push_back({{"kind", name_of(fault.mismatch.kind)},
                      {"file", fault.file},
                      {"offset_bytes", fault.mismatch.first_byte},
                      {"rank", rank},
                      {"repetition", fault.repetition},
                      {"function", fault.function},
                      {"bytes_wrong", fault.mismatch.bytes_wrong},
                      {"text", fault.mismatch.text}});
  }
  return errors;
}

Error wrong_data_error(const PayloadFault& fault, int rank) {
  const PayloadMismatch& mismatch = fault.mismatch;
  Error error;
  error.code = ErrorCode::corrupt;
  error.operation = "verify";
  error.rank = rank;
  error.file = fault.file;
  error.offset = static_cast<std::int64_t>(mismatch.first_byte);
  error.message = fmt::format("read wrong data after phase {}, repetition {}: {} ({}), {} bytes",
                              fault.function, fault.repetition, name_of(mismatch.kind),
                              mismatch.text, mismatch.bytes_wrong);
  return error;
}

}  // namespace weir::bench
