// What a call of the C interface returns: a code and, for failures, the line for the user.
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
// `what` (a call, an argument) comes first in the text; none when empty.
[[nodiscard]] Outcome outcome_of(const Status& status, const std::string& what = {});
[[nodiscard]] Outcome outcome_of(const Error& error, const std::string& what = {});

// Keeps the text of a failure for weir_last_error() on this thread, and gives the code.
int report(const Outcome& outcome);
// What report() kept last on this thread.
[[nodiscard]] const char* last_text();

// Runs `call`, which gives an Outcome, and reports it. No exception reaches a C program: all that
// can be thrown here is that there is no memory.
template <typename Call>
int report_outcome_of(Call&& call);

// Runs what a rank prepares before it meets the others, and gives an Outcome to meet them with,
// whatever is thrown.
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
