// The schedule of a collective request, as a value. Every rank of a group creates the same plan,
// and queries it for its own part. A plan holds no list of pieces: pieces are generated one after
// the other, so the size of a plan depends neither on the size of the arrays nor on the number of
// ranks.
//
// A group consists of the ranks whose data its aggregators gather: an I/O group (all ranks if there
// is only one), or with node aggregation a node. Groups are independent of each other, and a plan
// belongs to one group.
//
// clang-format off
//   An aggregator, which writes or reads the file:      A contributor, which every rank is:
//
//   AggregatorPieces pieces(plan, aggregator);          RankPieces mine(plan, rank);
//   for (Piece piece; pieces.next(piece);) {            for (PieceId id; mine.next(id);) {
//     for (Contributor c : plan->contributors(piece))     const Piece piece = plan->piece(id);
//       MeetingBlocks blocks(*plan, piece, c.rank); …     MeetingBlocks blocks(*plan, piece, rank);
//     PieceExtents extents(*plan, piece, contributors);   …
//   }                                                   }
// clang-format on
//
// For each aggregator, both sides generate the same pieces in the same order, and MeetingBlocks
// gives both the same blocks, so messages need no description. meeting_blocks.hpp describes the
// copies between memory, message and buffer, piece_extents.hpp the extents of the file, and
// rank_pieces.hpp the order. Strategy::direct has neither aggregators nor buffers: each rank
// iterates over its RankPieces and transfers the blocks between its memory and the file.
//
// Invariant: each element of the section that the group holds is in exactly one slab of one piece.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "array/region.hpp"
#include "common/status.hpp"
#include "plan/bundles.hpp"
#include "plan/parameters.hpp"
#include "plan/request.hpp"
#include "plan/slab.hpp"
#include "plan/units.hpp"
#include "topology/aggregator_placement.hpp"

namespace weir::plan {

struct Contributor {
  std::int64_t rank = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const Contributor&, const Contributor&) = default;
};

class Plan {
 public:
  // Creates the plan of `group`, 0 <= group < groups(topology, parameters.strategy). Fails if
  // Request::check() does, if the topology has fewer ranks than the request, or if a parameter is
  // out of range: the buffer cannot hold one element, or there is no aggregator or no alignment.
  // The work is proportional to the number of ranks in the group if there are several groups, and
  // otherwise to the number of nodes.
  static Result<std::shared_ptr<const Plan>> create(Request request,
                                                    const topology::Topology& topology,
                                                    const Parameters& parameters,
                                                    std::int64_t group = 0);
  // Return the number of groups, and the group of a rank.
  [[nodiscard]] static std::int64_t groups(const topology::Topology& topology, Strategy strategy);
  [[nodiscard]] static std::int64_t group_of(const topology::Topology& topology, Strategy strategy,
                                             std::int64_t rank);

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const topology::Topology& topology() const { return placement_.topology(); }
  [[nodiscard]] std::int64_t group() const { return group_; }

  // The group's aggregators are numbered from 0; Strategy::direct has none.
  [[nodiscard]] std::int64_t aggregators() const { return aggregators_; }
  [[nodiscard]] std::int64_t rank_of(std::int64_t aggregator) const {
    return placement_.rank_of(group_, aggregator);
  }
  // Returns the turn, counted from 0, in which `rank` visits an aggregator among the pieces that
  // all aggregators process at about the same time. All ranks of a node have the same turns.
  // (rank_pieces.hpp gives the reasons.)
  [[nodiscard]] std::int64_t turn_for(std::int64_t rank, std::int64_t aggregator) const;
  // Returns the number of nodes that have aggregators of the group.
  [[nodiscard]] std::int64_t aggregating_nodes() const { return placement_.nodes_used(group_); }
  // Returns the number of `rank` among the group's aggregators, or nothing if it is not an
  // aggregator.
  [[nodiscard]] std::optional<std::int64_t> aggregator_at(std::int64_t rank) const;

  // Returns the piece with this id; it has no slabs if no element of it is requested.
  [[nodiscard]] Piece piece(const PieceId& id) const;
  // Returns some slabs of a piece whose unit is not cut into parts, as if they were all: those of
  // these contents of the unit.
  [[nodiscard]] Piece piece(const PieceId& id, const std::vector<Units::Content>& contents) const;
  // Returns the ranks of the group that hold elements of a piece, in ascending order, with the
  // number of bytes of each.
  [[nodiscard]] std::vector<Contributor> contributors(const Piece& piece) const;
  // Returns the contributors of the piece with this id. This does not look at its slabs one by one,
  // of which a piece of small chunks may have hundreds of thousands.
  [[nodiscard]] std::vector<Contributor> contributors(const PieceId& id) const;
  // Returns the contributors on one node of the group. For regular distributions, the work is at
  // most proportional to the number of ranks on the node.
  [[nodiscard]] std::vector<Contributor> contributors_on(std::int64_t node,
                                                         const Piece& piece) const;
  // Returns true if the group is known to hold all requested elements of a piece. The piece then
  // has no holes, and its contributors need not be determined.
  [[nodiscard]] bool holds_everything(const PieceId& id) const;
  // Returns the bundle that is named after this array; null if there is none.
  [[nodiscard]] const Bundle* bundle(int array) const;
  // Returns an upper bound for the number of parts of a unit, over all arrays.
  [[nodiscard]] std::int64_t most_parts() const { return most_parts_; }
  // Return the number of parts of an array that `rank` holds, and one such part; parts are the
  // pieces of Distribution. Ranks over which the array is not distributed have none.
  [[nodiscard]] std::int64_t parts(int array, std::int64_t rank) const;
  [[nodiscard]] array::Region part(int array, std::int64_t rank, std::int64_t number) const;

  // The generators of pieces use these: an array's units, and the id of a unit's first part.
  [[nodiscard]] const Units& units(int array) const {
    return schedules_[static_cast<std::size_t>(array)].units;
  }
  [[nodiscard]] PieceId id_of(int array, std::int64_t unit) const;
  // The arrays that have units or that name a bundle, in ascending order.
  [[nodiscard]] const std::vector<int>& scheduled() const { return scheduled_; }
  [[nodiscard]] std::optional<std::int64_t> unit_at(std::int64_t aggregator, int array,
                                                    std::int64_t step) const;

 private:
  struct Schedule {
    Units units;
    std::int64_t first_step = 0;
    std::int64_t rotation = 0;  // added to the units' aggregators, so that small arrays take turns
    int bundle = -1;            // number of the bundle named after this array
  };
  struct PlannedBundle {
    Bundle arrays;
    Piece piece;
    bool held = false;  // whether the group holds everything
  };

  Plan(Request request, const Parameters& parameters, topology::AggregatorPlacement placement,
       std::int64_t group);
  [[nodiscard]] bool all_ranks() const { return placement_.groups() == 1; }
  void find_ranks();
  // Visits the ranks of the group, node after node.
  template <typename Visit>
  void visit_ranks(const Visit& visit) const;
  // Returns whether the group's ranks follow each other without a gap.
  [[nodiscard]] bool is_consecutive() const { return last_rank_ - first_rank_ == group_ranks_; }
  [[nodiscard]] array::Section held_by_group(const ArrayRequest& request) const;
  [[nodiscard]] bool holds_everything(int array) const;
  void make_schedules();
  // Places the aggregators, if their placement depends on what they gather.
  Status place_by_data();
  void make_bundles(const std::vector<array::Section>& asked, std::int64_t holders);
  void add_slab(int array, const Units& units, const Units::Content& content, std::int64_t& bytes,
                std::vector<Slab>& slabs) const;
  // Adds the contribution of each rank of the group to a section of an array to `found`.
  void add_contributions(int array, const array::Section& section,
                         std::vector<Contributor>& found) const;
  // Adds the contribution of one rank to a section of an array to `found`.
  void add_share(int array, const array::Section& section, std::int64_t rank,
                 std::vector<Contributor>& found) const;
  // Adds the contributions of the group's ranks with first <= rank < last to a section of an array
  // that has a regular distribution.
  void add_regular(int array, const array::Section& section, std::int64_t first, std::int64_t last,
                   std::vector<Contributor>& found) const;

  Request request_;
  Parameters parameters_;
  topology::AggregatorPlacement placement_;
  std::int64_t group_;
  // The group's number of ranks, all of which have first_rank_ <= rank < last_rank_.
  std::int64_t group_ranks_ = 0;
  std::int64_t first_rank_ = 0;
  std::int64_t last_rank_ = 0;
  std::int64_t aggregators_ = 0;
  std::vector<Schedule> schedules_;  // per array; arrays in bundles have no units of their own
  std::vector<int> scheduled_;
  std::vector<PlannedBundle> bundles_;
  std::int64_t most_parts_ = 1;
};

}  // namespace weir::plan
