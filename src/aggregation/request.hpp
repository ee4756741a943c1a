// A write or read from its arguments to its result, as a state machine:
//
//   agreeing on the arguments → moving → agreeing on how it ended → ended
//
// Bad arguments of any rank end it at the first step on every rank.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/move.hpp"
#include "aggregation/node_group.hpp"
#include "aggregation/requested_part.hpp"
#include "aggregation/store_choice.hpp"
#include "plan/planner.hpp"

namespace weir::aggregation {

// What a Collective's requests share.
struct CollectiveState {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  CollectiveSettings settings;
  std::unique_ptr<NodeGroup> group;
  std::unique_ptr<plan::Planner> planner;  // of this rank; keeps the plans of requests
  StoreChoices stores;
  std::int64_t requests = 0;         // agreed on so far, the same on every rank
  bool broken = false;               // a deadline passed: the ranks do not know where they are
  Request* current = nullptr;        // under way
  CollectiveFigures figures;         // of the last that ended
  std::set<std::uint64_t> disjoint;  // fingerprints of explicit distributions without overlaps
};

// For a Collective that is broken.
[[nodiscard]] Error broken_collective();

class CollectiveRequest final : public Request {
 public:
  CollectiveRequest(CollectiveState& state, std::span<const ArrayPart> parts,
                    plan::Direction direction);
  CollectiveRequest(const CollectiveRequest&) = delete;
  CollectiveRequest& operator=(const CollectiveRequest&) = delete;
  ~CollectiveRequest() override;

  [[nodiscard]] bool test() override;
  Status wait() override;
  [[nodiscard]] const CollectiveFigures& figures() const override { return figures_; }

 private:
  enum class Step : std::uint8_t { agreeing, moving, ending, ended };

  // Goes on until something has to be waited for. Returns whether anything happened.
  bool advance();
  void start_moving();
  Result<std::shared_ptr<const plan::Plan>> planned();
  [[nodiscard]] bool writing() const { return direction_ == plan::Direction::write; }
  void end(const Status& outcome);
  [[nodiscard]] Status check_part(std::size_t number);
  [[nodiscard]] Status check_memory(const ArrayPart& part) const;
  [[nodiscard]] CallFingerprint fingerprint() const;

  CollectiveState& state_;
  std::vector<ArrayPart> parts_;
  plan::Direction direction_;
  std::int64_t number_ = 0;
  Step step_ = Step::agreeing;
  std::vector<RequestedPart> checked_;
  std::unique_ptr<Agreement> agreement_;
  std::unique_ptr<Move> move_;
  Status outcome_;
  CollectiveFigures figures_;
  std::int64_t moving_since_ns_ = 0;
};

}  // namespace weir::aggregation
