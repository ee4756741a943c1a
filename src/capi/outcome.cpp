#include "capi/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::capi {
namespace {

constexpr std::array<std::pair<ErrorCode, int>, 9> codes = {{
    {ErrorCode::invalid_argument, WEIR_E_ARGUMENT},
    {ErrorCode::mismatch, WEIR_E_MISMATCH},
    {ErrorCode::io, WEIR_E_IO},
    {ErrorCode::corrupt, WEIR_E_CORRUPT},
    {ErrorCode::insufficient, WEIR_E_MEMORY},
    {ErrorCode::unsupported, WEIR_E_UNSUPPORTED},
    {ErrorCode::deadline, WEIR_E_DEADLINE},
    {ErrorCode::communication, WEIR_E_BROKEN},
    {ErrorCode::given_up, WEIR_E_ABORTED},
}};

// All other errors are those of moving data.
int code_of(ErrorCode code) {
  for (const auto& [below, number] : codes) {
    if (below == code) return number;
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

Status status_of(const Outcome& outcome) {
  if (outcome.ok()) return {};
  const auto* const found =
      std::ranges::find(codes, outcome.code, &std::pair<ErrorCode, int>::second);
  return Error(found != codes.end() ? found->first : ErrorCode::io, outcome.text);
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
