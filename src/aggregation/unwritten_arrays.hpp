// Finds, when a step ends, the arrays of a file that no rank wrote in it.
//
// A write that all ranks make is known to all of them. What a rank wrote without the others
// (own_region.hpp) it tells rank 0, which tells all with the commit. Where every array was written
// by all ranks, no rank sends anything.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective_state.hpp"
#include "common/status.hpp"

namespace weir::aggregation {

class UnwrittenArrays {
 public:
  // Before the step is left. `is_first`: arrays that do not grow are written in it, too. An array
  // without elements counts as written.
  UnwrittenArrays(std::span<const std::unique_ptr<OpenArray>> arrays, bool is_first);

  // Collective. Rank 0 learns what other ranks wrote alone.
  Status gather(CollectiveState& state);
  // On rank 0, after gather(): an error that names the first of them, unless there is none.
  [[nodiscard]] Status check(std::span<const std::unique_ptr<OpenArray>> arrays,
                             std::int64_t step) const;
  // What rank 0 tells all ranks, and what each makes of it.
  [[nodiscard]] std::string message() const;
  void take(const std::string& message);
  // In their order: on rank 0 after gather(), on all ranks after take().
  [[nodiscard]] const std::vector<std::int64_t>& numbers() const { return numbers_; }

 private:
  void remove(const std::vector<std::int64_t>& written);

  std::vector<std::int64_t> numbers_;
  std::vector<std::int64_t> written_alone_;  // by this rank; on rank 0, after gather(), by any
};

}  // namespace weir::aggregation
