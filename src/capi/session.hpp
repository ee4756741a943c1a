// What the handles of the C interface stand for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aggregation/collective.hpp"
#include "capi/operation.hpp"
#include "capi/outcome.hpp"
#include "capi/ranks.hpp"
#include "plan/platform_description.hpp"
#include "plan/request.hpp"
#include "weir/weir.h"

// The names are C's; each is known by its address only.
// NOLINTBEGIN(readability-identifier-naming)

struct weir_distribution {
  weir_session* session = nullptr;
  // Shared with the requests under way, and with the plans that are kept.
  weir::plan::SharedDistribution shared;
  std::string text;  // "distribution 4 (BLOCK, * over 4 x 1, row-major)"

  [[nodiscard]] const weir::array::Distribution& held() const { return *shared; }
};

struct weir_array {
  weir_session* session = nullptr;
  std::unique_ptr<weir::aggregation::ArrayFile> file;
  std::string type_name;
  std::string text;  // "array 3 'temperature' (10 x 20 float64)"
};

struct weir_request {
  weir_session* session = nullptr;
  std::shared_ptr<weir::capi::Operation> operation;
};

struct weir_session {
  weir::capi::Ranks ranks;
  weir::capi::OperationQueue queue{ranks};
  std::unique_ptr<weir::aggregation::Collective> collective;
  std::vector<std::unique_ptr<weir_array>> arrays;
  std::vector<std::unique_ptr<weir_distribution>> distributions;
  std::vector<std::unique_ptr<weir_request>> requests;
  weir::plan::PlatformDescription platform;
  std::int64_t handles_made = 0;  // numbers arrays and distributions, alike on all ranks
  bool has_figures = false;
  std::string explanation;  // the last, that weir_session_explain() gave

  // A collective call that waits: submits it and sees it through.
  weir::capi::Outcome call(std::string text, weir::capi::Outcome prepared,
                           std::function<weir::capi::Outcome()> run);
  [[nodiscard]] bool holds(const weir_array* array) const;
  [[nodiscard]] bool holds(const weir_distribution* distribution) const;
  void remove(const weir_array* array);
  void remove(const weir_distribution* distribution);
  void remove(const weir_request* request);
};

// NOLINTEND(readability-identifier-naming)

namespace weir::capi {

// The refusal of a null handle.
[[nodiscard]] Outcome null_argument(const char* call, const char* argument);
// Fails when a reserved field is not 0: the struct was not initialised, or made for a later Weir.
[[nodiscard]] Outcome check_reserved(const char* options, const std::uint64_t* reserved,
                                     std::size_t count, std::int32_t flags = 0);

}  // namespace weir::capi
