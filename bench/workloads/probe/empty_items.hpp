// The operations of a probe on many empty files, and on as many directories, in one directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/failure.hpp"
#include "measurement/meeting.hpp"

namespace weir::bench::probe {

class EmptyItems {
 public:
  // `folder` contains the items; `rank` distinguishes their names from those of other ranks there.
  EmptyItems(FailureGuard& guard, std::string folder, int rank, std::int64_t count);

  Status make_folder();
  Status remove_folder();

  Status create(Times* times);
  Status stat(Times* times);
  Status open_and_close(Times* times);
  Status set_times(Times* times);
  // Lists the whole folder, which must hold `entries`. list_attributes() also reads their
  // attributes.
  Status list(Times* times, std::int64_t entries);
  Status list_attributes(Times* times, std::int64_t entries);
  // Renames the items within the folder; all later calls use the new names.
  Status rename(Times* times);
  Status remove(Times* times);
  Status make_directories(Times* times);
  Status remove_directories(Times* times);

 private:
  template <typename Call>
  Status each(const char* operation, Times* times, const Call& call);
  Status listed(Times* times, std::int64_t entries, bool attributes);

  FailureGuard& guard_;
  std::string folder_;
  std::vector<std::string> paths_;
};

// A step of a trial: its name in samples, and its function.
struct ItemStep {
  const char* name = "";
  Status (EmptyItems::*each)(Times* times) = nullptr;
  // Replaces the function above: it acts on a rank's whole folder, and not on a folder that ranks
  // share.
  Status (EmptyItems::*folder)(Times* times, std::int64_t entries) = nullptr;
};
// Returns the steps in an order in which they are possible, for a folder of each rank or for one of
// all ranks.
[[nodiscard]] std::vector<ItemStep> item_steps(bool shared_folder);

}  // namespace weir::bench::probe
