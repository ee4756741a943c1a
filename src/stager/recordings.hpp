// Recordings are what is on its way into the journal: filled blocks and the ends of steps, each by
// a job of its own. An item may leave its queue before the job has ended; the job then keeps only
// what has to be done at its end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/status.hpp"
#include "stager/events.hpp"
#include "stager/session_queue.hpp"

namespace weir::stager {

struct Recording {
  SessionId session = 0;
  BlockItem* filled = nullptr;   // null: it was dropped, or this is a commit
  CommitItem* commit = nullptr;  // null: it was dropped, or this is a filled block
  std::int64_t block = -1;       // of the filled block; freed at the end if that was dropped
  ClientId client = 0;           // that gets an Accepted
  std::uint64_t ticket = 0;      // 0: this is a filled block
  bool is_share = false;         // `ticket` is that of the stager that publishes the step
  Status outcome = {};           // NOLINT(readability-redundant-member-init): set at the end
};

class Recordings {
 public:
  // Returns the action that records an item of a queue.
  [[nodiscard]] Record begin(JobId job, SessionId session, BlockItem* filled);
  [[nodiscard]] RecordStep begin(JobId job, SessionId session, CommitItem* commit, ClientId client);
  // Returns the action that records the end of a step that another stager publishes.
  [[nodiscard]] RecordStep begin(JobId job, SessionId session,
                                 const transport::RecordShare& message);
  // The item leaves its queue.
  void forget(const Item& item);
  // Ends a job, and what its item waits for. Nothing: the job is another one.
  [[nodiscard]] std::optional<Recording> end(JobId job, const Status& status);
  // Returns why the last step that was accepted is not in the journal; "": it is.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  std::map<JobId, Recording> under_way_;
  std::string failure_;
};

}  // namespace weir::stager
