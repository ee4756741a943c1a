// A write or read from its arguments to its result, as a state machine:
//
//   agreeing on the arguments → moving → agreeing on the outcome → ended
//
// Invalid arguments on any rank end it after the first state on every rank.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/move.hpp"
#include "aggregation/requested_part.hpp"

namespace weir::aggregation {

class CollectiveRequest final : public Request {
 public:
  CollectiveRequest(CollectiveState& state, std::span<const ArrayPart> parts, Direction direction);
  CollectiveRequest(const CollectiveRequest&) = delete;
  CollectiveRequest& operator=(const CollectiveRequest&) = delete;
  ~CollectiveRequest() override;

  [[nodiscard]] bool test() override;
  Status wait() override;
  [[nodiscard]] const CollectiveFigures& figures() const override { return figures_; }

 private:
  enum class Step : std::uint8_t { agreeing, moving, ending, ended };

  // Continues until it has to wait for something. Returns whether anything happened.
  bool advance();
  void start_moving();
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
  [[nodiscard]] Status check_memory(const ArrayPart& part) const;
  [[nodiscard]] CallFingerprint make_fingerprint() const;

  CollectiveState& state_;
  std::vector<ArrayPart> parts_;
  Direction direction_;
  std::int64_t number_ = 0;
  Step step_ = Step::agreeing;
  CallFingerprint fingerprint_;
  std::vector<RequestedPart> checked_;
  bool watched_ = false;  // whether one of checked_ is watched
  std::unique_ptr<Agreement> agreement_;
  std::unique_ptr<Move> move_;
  Status outcome_;
  CollectiveFigures figures_;
  std::int64_t moving_since_ns_ = 0;
};

}  // namespace weir::aggregation
