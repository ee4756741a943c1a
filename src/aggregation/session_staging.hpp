// Staging of a session: the way of its ranks to stagers on their nodes or on others
// (transport/stager_client.hpp).
//
// clang-format off
//     write    ranks copy their elements into the stager's memory, and own their buffers again
//     end      the ranks vote; rank 0 hands over the step's commit, which is carried out later
//     begin    rank 0 waits until earlier steps of the file are stored, because it reads the header
// clang-format on
//
// Where the ranks have several stagers, the first rank of each tells it at the end of a step that
// its share is complete (seal()), and the stager of rank 0, which publishes the step, waits for the
// others. Stagers do not order what they write among each other. Therefore the ranks settle()
// before they read what others may have handed over, and before they overwrite it.
//
// If a stager is lost, so are the steps that it had accepted and not stored. With
// StagingLost::direct the ranks then leave all stagers (leave_lost_stagers()), and write the next
// steps themselves.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "engines/open_files.hpp"
#include "system/step_durability.hpp"
#include "transport/staged_engine.hpp"
#include "transport/stager_client.hpp"

namespace weir::aggregation {

struct CollectiveState;

class SessionStaging {
 public:
  // Collective. Starts a stager on each node where none runs, unless ranks have stagers
  // (stager_ranks.hpp) or a service is named, and connects all ranks to theirs. All ranks get the
  // error of a rank that fails.
  static Result<std::unique_ptr<SessionStaging>> open(CollectiveState& state);

  [[nodiscard]] transport::StagerClient& stager() { return *stager_; }
  // Returns whether the ranks have several stagers; equal on all ranks.
  [[nodiscard]] bool has_several() const { return has_several_; }
  // Return the number of the ranks' stagers, and that of this rank's stager among them.
  [[nodiscard]] std::int64_t stagers() const { return stagers_; }
  [[nodiscard]] std::int64_t own_stager() const { return own_stager_; }
  // Fails if what the ranks hand over is in no journal; alike on all ranks.
  [[nodiscard]] Status can_journal() const;
  // Returns whether a stager may see what ranks have written, or ranks what it has, later than
  // processes of one node do.
  [[nodiscard]] bool is_on_other_nodes() const { return has_several_ || stager_->is_remote(); }
  // Called on all ranks at the end of a step, which get the same number for it.
  std::uint64_t next_seal() { return has_several_ ? ++seal_ : 0; }
  // Lets the stagers that joined tell when they have stored everything before this seal, and which
  // chunks of this step they have encoded (transport::ChunkPlaces::step; 0: none). Called on all
  // ranks; some have nothing to do.
  Status seal(std::uint64_t number, storage::StepDurability durability,
              std::uint64_t chunk_step = 0);
  // Collective, if the ranks have several stagers: everything that any rank handed over is in
  // the files when this returns.
  Status settle(CollectiveState& state);
  // Does what settle() does, after the step with this seal has been stored; if no rank has written
  // since the seal, nothing is left to do.
  Status settle_after(CollectiveState& state, std::uint64_t seal);
  // Called on all ranks when they begin to write.
  void note_write() { last_write_ = seal_; }
  // Returns how often the ranks have settled; called after each time that the ranks agreed on a
  // drain().
  [[nodiscard]] std::int64_t settlements() const { return settlements_; }
  void note_settled() { ++settlements_; }

  // Returns the files that are written through the stager.
  [[nodiscard]] const std::shared_ptr<storage::OpenFiles>& files() const { return files_; }
  // Returns files that the stager handles in this way.
  [[nodiscard]] std::shared_ptr<storage::OpenFiles> files_for(
      transport::StagedHandling handling) const {
    return std::make_shared<storage::OpenFiles>(
        transport::make_staged_engine(stager_, std::move(handling)));
  }

  // Called by rank 0: remember the last ticket of a path, and wait until everything that was asked
  // for the path is done. Waiting fails if a step of the path could not be stored.
  // `steps`: how many steps the file has then, 0 if that was told before.
  void note(const std::string& path, std::uint64_t ticket, std::int64_t steps = 0);
  Status wait_for(const std::string& path);
  // An array by itself has no steps, and its stagers write it without being told. Collective:
  // returns when what was handed over of it is stored, as durable as that is said to be. Fails with
  // ErrorCode::deadline if the stager says for so many seconds why it cannot store it.
  Status sync_array(CollectiveState& state, const std::string& path,
                    storage::StepDurability durability = storage::StepDurability::step,
                    double seconds = std::numeric_limits<double>::infinity());
  // Called on all ranks when they have handed over the last of it: lets the stagers close it.
  Status close_array(const CollectiveState& state, const std::string& path);
  // Collective, after close_array(): waits as sync_array() does until the array is stored.
  Status wait_for_array(CollectiveState& state, const std::string& path, double seconds);
  // Called by rank 0: every step of the path that the stager has accepted is stored.
  void note_stored(const std::string& path);
  // Called by rank 0 when no stager writes any more: returns a line for people about the last step
  // of each file that is not known to be stored.
  [[nodiscard]] std::vector<std::string> fates() const;

 private:
  explicit SessionStaging(std::shared_ptr<transport::StagerClient> stager);
  // Called by rank 0: waits for a ticket, without limit as long as the stager gives no reason why
  // it takes long.
  Status wait_unless_stuck(std::uint64_t ticket, double seconds);
  // Called by rank 0: hands over a commit that changes no header, and returns its ticket.
  Result<std::uint64_t> order(const std::string& path, std::uint64_t seal,
                              storage::StepDurability durability);

  std::shared_ptr<transport::StagerClient> stager_;
  std::shared_ptr<storage::OpenFiles> files_;
  bool has_several_ = false;
  std::int64_t stagers_ = 1;
  std::int64_t own_stager_ = 0;
  std::string without_journal_;  // the first rank whose stager has none; "": all have one
  bool has_joined_ = false;      // this rank seals the steps of its stager
  std::uint64_t seal_ = 0;       // the last one
  std::optional<std::uint64_t> last_write_;  // the seal before it; 0: no step had ended
  std::int64_t settlements_ = 0;
  struct HandedOver {
    std::uint64_t ticket = 0;
    std::int64_t steps = 0;  // of the file when that is done; 0: they are stored
  };
  std::map<std::string, HandedOver> tickets_;  // by absolute path, as it was spelled
};

// Fails if the durability "journal" is impossible in this session; alike on all ranks.
[[nodiscard]] Status can_journal(const CollectiveState& state);

// Returns how many steps of a file readers see, 1 if none of its arrays grows; nothing if it has
// not got its name yet.
[[nodiscard]] Result<std::optional<std::int64_t>> steps_on_storage(const std::string& path);

// The error for an array by itself of which a lost stager had a part.
[[nodiscard]] Error array_is_lost(const std::string& path);

// Collective. If a stager of the ranks is lost, and the session may go on without it, they leave
// all stagers: state.staging is null then. Fails if a stager that does not answer may still write.
[[nodiscard]] Status leave_lost_stagers(CollectiveState& state);

}  // namespace weir::aggregation
