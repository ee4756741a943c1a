// Creating, asking for and removing many empty files in a rank's folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/failure.hpp"
#include "measurement/meeting.hpp"

namespace weir::bench::probe {

class EmptyFiles {
 public:
  EmptyFiles(FailureGuard& guard, const std::string& folder, std::int64_t count);

  Status create(Times* times);
  Status stat(Times* times);
  Status remove(Times* times);

 private:
  template <typename Call>
  Status each(const char* operation, Times* times, const Call& call);

  FailureGuard& guard_;
  std::vector<std::string> paths_;
};

}  // namespace weir::bench::probe
