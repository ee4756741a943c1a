// The result of a call of the C interface: a code and, for failures, a line for the user.
#pragma once

#include <string>

#include "common/status.hpp"
#include "weir/weir.h"

namespace weir::capi {

struct [[nodiscard]] Outcome {
  int code = WEIR_OK;
  std::string text;  // one line; empty when ok()

  [[nodiscard]] bool ok() const { return code == WEIR_OK; }
};

[[nodiscard]] Outcome failure(int code, std::string text);
[[nodiscard]] Outcome bad_argument(std::string text);
// Converts an error. `what` (a call, an argument) is put before the text unless it is empty.
[[nodiscard]] Outcome outcome_of(const Status& status, const std::string& what = {});
[[nodiscard]] Outcome outcome_of(const Error& error, const std::string& what = {});
// Converts an outcome, so that all ranks can agree on it.
[[nodiscard]] Status status_of(const Outcome& outcome);

// Keeps a failure's text for weir_last_error() on this thread, and returns the code.
int report(const Outcome& outcome);
// Returns the text that report() kept last on this thread.
[[nodiscard]] const char* last_text();

// Runs `call`, which returns an Outcome, and reports it. No exception reaches a C program; the only
// possible cause of one is a lack of memory.
template <typename Call>
int report_outcome_of(Call&& call);

// Runs what a rank prepares by itself before it meets the others, and turns an exception into an
// Outcome, so that the rank always meets them.
template <typename Call>
Outcome outcome_without_throwing(Call&& call);

[[nodiscard]] Outcome out_of_memory(const char* what);

template <typename Call>
Outcome outcome_without_throwing(Call&& call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return out_of_memory(thrown.what());
  }
}

template <typename Call>
int report_outcome_of(Call&& call) {
  return report(outcome_without_throwing(call));
}

}  // namespace weir::capi
