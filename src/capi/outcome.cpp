#include "capi/outcome.hpp"

#include <fmt/format.h>

#include <utility>

namespace weir::capi {
namespace {

int code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return WEIR_E_ARGUMENT;
    case ErrorCode::corrupt:
      return WEIR_E_CORRUPT;
    case ErrorCode::insufficient:
      return WEIR_E_MEMORY;
    case ErrorCode::unsupported:
      return WEIR_E_UNSUPPORTED;
    case ErrorCode::deadline:
      return WEIR_E_DEADLINE;
    case ErrorCode::communication:
      return WEIR_E_BROKEN;
    case ErrorCode::io:
    case ErrorCode::short_transfer:
    case ErrorCode::peer:
    case ErrorCode::interrupted:
      break;
  }
  return WEIR_E_IO;
}

std::string& kept_text() {
  thread_local std::string text;
  return text;
}

}  // namespace

Outcome failure(int code, std::string text) { return {code, std::move(text)}; }

Outcome bad_argument(std::string text) { return failure(WEIR_E_ARGUMENT, std::move(text)); }

Outcome outcome_of(const Error& error, const std::string& what) {
  return failure(code_of(error.code), what.empty() ? error.text() : what + ": " + error.text());
}

Outcome outcome_of(const Status& status, const std::string& what) {
  return status.ok() ? Outcome{} : outcome_of(status.error(), what);
}

Outcome out_of_memory(const char* what) {
  return failure(WEIR_E_MEMORY, fmt::format("not enough memory for this call ({})", what));
}

int report(const Outcome& outcome) {
  if (!outcome.ok()) kept_text() = outcome.text;
  return outcome.code;
}

const char* last_text() { return kept_text().c_str(); }

}  // namespace weir::capi
