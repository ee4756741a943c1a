// What a probe does to many empty files, and to as many directories, that lie in one directory.
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
  // `folder`: where they lie; `rank` tells its names from those of others there.
  EmptyItems(FailureGuard& guard, std::string folder, int rank, std::int64_t count);

  Status make_folder();
  Status remove_folder();

  Status create(Times* times);
  Status stat(Times* times);
  Status open_and_close(Times* times);
  Status set_times(Times* times);
  // The whole folder, which must hold `entries`; with their attributes.
  Status list(Times* times, std::int64_t entries);
  Status list_attributes(Times* times, std::int64_t entries);
  // Within the folder; all that follows finds them under their new names.
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

// A step of a trial: what it is called in samples, and what it does.
struct ItemStep {
  const char* name = "";
  Status (EmptyItems::*each)(Times* times) = nullptr;
  // Instead of that: of a rank's whole folder, in none that ranks share.
  Status (EmptyItems::*folder)(Times* times, std::int64_t entries) = nullptr;
};
// In the order in which they can be done; those in a folder of each rank, or in one of all.
[[nodiscard]] std::vector<ItemStep> item_steps(bool shared_folder);

}  // namespace weir::bench::probe
