// A rank's side of a request that goes through aggregators: it hands its shares of the pieces to
// them, or takes them, and does its own duties when it is one.
//
// No rank waits for one thing only. Shares are handed over in the order of turns, those of the own
// node and those of other nodes each by themselves, and an aggregator opens its buffers in that
// order too; so the earliest piece that is not complete can always be completed, and all end.
//
// Memory is bounded: the aggregator's buffers, as much again for messages, and a few messages that
// this rank has under way.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "aggregation/block_copy.hpp"
#include "aggregation/gathering.hpp"
#include "aggregation/move.hpp"
#include "aggregation/node_group.hpp"
#include "plan/gather_plan.hpp"

namespace weir::aggregation {

class Exchange final : public Move {
 public:
  // Plans this rank's side.
  Exchange(MPI_Comm communicator, const NodeGroup& group, std::vector<PlannedPart> parts, Way way,
           std::int64_t request, std::int64_t buffers, CollectiveFigures& figures);

  bool step() override;
  [[nodiscard]] bool done() const override;
  [[nodiscard]] const Status& status() const override { return status_; }

 private:
  struct PartShare {
    plan::Share share;
    std::size_t part = 0;
  };
  // A message between this rank and an aggregator of another node.
  struct Parcel {
    MPI_Request request = MPI_REQUEST_NULL;
    bool busy = false;
    std::size_t share = 0;  // in from_others_
    std::vector<std::byte> data;
  };

  bool step_on_node();
  bool step_between_nodes();
  void start_parcel(Parcel& parcel);
  // Copies a share between this rank's memory and `other`; returns its elements.
  std::int64_t copy_share(const PartShare& share, Side other);
  [[nodiscard]] std::int64_t elements_of(const PartShare& share) const;

  std::vector<PlannedPart> parts_;
  ExchangeContext context_;
  std::vector<std::vector<std::int64_t>> memory_pieces_;  // per part
  std::vector<PartShare> on_node_;
  std::vector<PartShare> between_nodes_;
  std::size_t next_on_node_ = 0;
  std::size_t next_between_ = 0;
  std::vector<Parcel> parcels_;
  std::size_t parcels_busy_ = 0;
  std::unique_ptr<Gathering> gathering_;
  Status status_;
};

}  // namespace weir::aggregation
