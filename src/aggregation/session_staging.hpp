// Staging of a session: the way of its ranks to the stager of their node
// (transport/stager_client.hpp).
//
// clang-format off
//     write    ranks copy their elements into the stager's memory, and own their buffers again
//     end      the ranks vote; rank 0 hands over the step's commit, which is carried out later
//     begin    rank 0 waits until earlier steps of the file are stored, because it reads the header
// clang-format on
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/status.hpp"
#include "engines/open_files.hpp"
#include "transport/stager_client.hpp"

namespace weir::aggregation {

struct CollectiveState;

class SessionStaging {
 public:
  // Collective. Starts a stager where none runs, and connects all ranks to it. All ranks get the
  // error of a rank that fails.
  static Result<std::unique_ptr<SessionStaging>> open(CollectiveState& state);

  [[nodiscard]] transport::StagerClient& stager() { return *stager_; }
  // Returns the files that are written through the stager.
  [[nodiscard]] const std::shared_ptr<storage::OpenFiles>& files() const { return files_; }

  // Called by rank 0: remember the last ticket of a path, and wait until everything that was asked
  // for the path is done. Waiting fails if a step of the path could not be stored.
  void note(const std::string& path, std::uint64_t ticket);
  Status wait_for(const std::string& path);

 private:
  explicit SessionStaging(std::shared_ptr<transport::StagerClient> stager);

  std::shared_ptr<transport::StagerClient> stager_;
  std::shared_ptr<storage::OpenFiles> files_;
  std::map<std::string, std::uint64_t> tickets_;  // by absolute path, as it was spelled
};

}  // namespace weir::aggregation
