// Determines, when a step ends, the arrays of a file that no rank wrote in it.
//
// All ranks know of a write that all ranks make. A rank reports what it wrote without the others
// (own_region.hpp) to rank 0, which tells all ranks at the commit. If every array was written by
// all ranks, no rank sends anything.
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
  // Called before the step is left. `is_first`: arrays that do not grow are written in it, too. An
  // array without elements counts as written.
  UnwrittenArrays(OpenArrays arrays, bool is_first);

  // Collective. Gathers on rank 0 what other ranks wrote alone.
  Status gather(CollectiveState& state);
  // Called on rank 0 after gather(): returns an error that names the first unwritten array, if any.
  [[nodiscard]] Status check(OpenArrays arrays, std::int64_t step) const;
  // Make the message that rank 0 sends to all ranks, and apply it.
  [[nodiscard]] std::string message() const;
  void take(const std::string& message);
  // The numbers in order: on rank 0 after gather(), on all ranks after take().
  [[nodiscard]] const std::vector<std::int64_t>& numbers() const { return numbers_; }

 private:
  void remove(const std::vector<std::int64_t>& written);

  std::vector<std::int64_t> numbers_;
  std::vector<std::int64_t> written_alone_;  // by this rank; on rank 0, after gather(), by any rank
};

}  // namespace weir::aggregation
