// A write or read after all ranks have agreed on it, as a state machine:
//
//   moving → agreeing on the outcome → ended
//
// Before that, each rank checks its parts, and the vote that opens the call compares their
// fingerprints and reports errors (call_queue.hpp).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/call_queue.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/move.hpp"
#include "aggregation/requested_part.hpp"

namespace weir::aggregation {

// Returns why an array cannot be moved in its present state, equal on all ranks.
[[nodiscard]] Status check_array(const OpenArray& file, Direction direction);

class CollectiveRequest final : public RequestWork {
 public:
  CollectiveRequest(CollectiveState& state, Direction direction);

  // Called before begin(): checks the parts and takes them.
  [[nodiscard]] Status take(std::span<const ArrayPart> parts);
  // Returns a hash of `call` and of what has been taken, except for this rank's memory.
  [[nodiscard]] std::uint64_t fingerprint(std::uint64_t call) const;

  void begin(bool all_remember_the_same) override;
  void refuse(const Status& outcome) override;
  [[nodiscard]] bool test() override;
  [[nodiscard]] Status wait() override;
  [[nodiscard]] const CollectiveFigures& figures() const override { return figures_; }

 private:
  enum class Step : std::uint8_t { draining, moving, ending, ended };

  // Continues until it has to wait for something. Returns whether anything happened.
  bool advance();
  [[nodiscard]] bool must_drain();
  // Returns whether chunks that stagers encode may go to others than those of earlier requests of
  // the step; and an error where they would, and must not.
  [[nodiscard]] bool has_other_stagers(const RequestedPart& one,
                                       const plan::Parameters& chosen) const;
  [[nodiscard]] Status keeps_stagers(const plan::Parameters& chosen) const;
  void begin_moving();
  [[nodiscard]] Status moved_durably();
  Result<std::shared_ptr<const plan::Planned>> planned();
  [[nodiscard]] bool writing() const { return direction_ == Direction::write; }
  // Calls tell(account) for the account of each file whose arrays are written.
  template <typename Tell>
  void for_each_account(const Tell& tell);
  void end(const Status& outcome);
  // Called when the ranks can no longer end the request together, for this reason.
  void give_up(const Error& error);
  // Returns whether the session is revoked, in which case the request has been given up.
  bool is_revoked();
  // Checks a part of the request, and adds it to checked_ if it is valid.
  [[nodiscard]] Status check_part(const ArrayPart& part);
  // Returns whether a part requests the same section of an array of the same kind as the previous,
  // valid part, with the same memory layout; the part is then valid, too.
  bool takes_like_before(const ArrayPart& part);
  void take(const ArrayPart& part, OpenArray& file, bool like_before);

  CollectiveState& state_;
  std::vector<ArrayPart> parts_;
  Direction direction_;
  std::int64_t number_ = 0;
  Step step_ = Step::moving;
  std::vector<RequestedPart> checked_;
  bool watched_ = false;  // whether one of checked_ is watched
  std::shared_ptr<const plan::Planned> planned_;
  std::unique_ptr<Agreement> agreement_;
  std::unique_ptr<Move> move_;
  Status outcome_;
  Status drained_;  // of a read: whether what was handed to a stager before is in the files
  CollectiveFigures figures_;
  std::int64_t moving_since_ns_ = 0;
  // The values of waited_for_stager_ns() when the request began, and when it began to move bytes.
  std::int64_t waited_before_ns_ = 0;
  std::int64_t waited_before_moving_ns_ = 0;
};

}  // namespace weir::aggregation
