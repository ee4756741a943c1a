// The schedule of a collective request: a value, made alike by every rank of a group, from which
// each rank asks what concerns it. It holds no list of pieces: these are made one after the other,
// so its size has nothing to do with that of the array, and nothing with the number of ranks.
//
// A group is the ranks whose data its aggregators gather: an I/O group (all ranks where there is
// one), under node aggregation a node. Groups know nothing of each other, and a plan is of one.
//
//   An aggregator, who writes or reads the file:          A contributor, which every rank is:
//
//   AggregatorPieces pieces(plan, aggregator);            RankPieces mine(plan, rank);
//   for (Piece piece; pieces.next(piece);) {              for (PieceId id; mine.next(id);) {
//     for (Contributor c : plan->contributors(piece))       const Piece piece = plan->piece(id);
//       MeetingBlocks blocks(*plan, piece, c.rank); …       MeetingBlocks blocks(*plan, piece,
//       rank);
//     PieceExtents extents(*plan, piece, contributors);     …
//   }                                                     }
//
// For each aggregator both sides meet the same pieces in the same order, and MeetingBlocks gives
// both the same blocks, so messages need no description: see meeting_blocks.hpp for the copies
// between memory, message and buffer, piece_extents.hpp for the extents of the file, and
// rank_pieces.hpp for the order. Under Strategy::direct there is no aggregator and no buffer: each
// rank goes through its RankPieces and transfers the blocks between its memory and the file.
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
  // The plan of `group`, 0 <= group < groups(topology, parameters.strategy). Fails where
  // Request::check() does, on a topology of fewer ranks than the request's, and on parameters out
  // of range: a buffer that does not hold one element, no aggregator, no alignment. The work is in
  // proportion to the ranks of the group where there are several groups, else to the nodes.
  static Result<std::shared_ptr<const Plan>> create(Request request,
                                                    const topology::Topology& topology,
                                                    const Parameters& parameters,
                                                    std::int64_t group = 0);
  // How many groups there are, and a rank's.
  [[nodiscard]] static std::int64_t groups(const topology::Topology& topology, Strategy strategy);
  [[nodiscard]] static std::int64_t group_of(const topology::Topology& topology, Strategy strategy,
                                             std::int64_t rank);

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const topology::Topology& topology() const { return placement_.topology(); }
  [[nodiscard]] std::int64_t group() const { return group_; }

  // The group's aggregators, numbered from 0; none under Strategy::direct.
  [[nodiscard]] std::int64_t aggregators() const { return aggregators_; }
  [[nodiscard]] std::int64_t rank_of(std::int64_t aggregator) const {
    return placement_.rank_of(group_, aggregator);
  }
  // The turn, from 0 on, in which `rank`, as all ranks of its node, comes to an aggregator among
  // the pieces that all aggregators work on at about the same time. (rank_pieces.hpp has the
  // reasons.)
  [[nodiscard]] std::int64_t turn_for(std::int64_t rank, std::int64_t aggregator) const;
  // The nodes that have aggregators of the group.
  [[nodiscard]] std::int64_t aggregating_nodes() const { return placement_.nodes_used(group_); }
  // The number of `rank` among the group's aggregators; nothing when it is none.
  [[nodiscard]] std::optional<std::int64_t> aggregator_at(std::int64_t rank) const;

  // The piece of that name; without slabs when nothing is asked for in it.
  [[nodiscard]] Piece piece(const PieceId& id) const;
  // The ranks of the group that hold elements of a piece, ascending, and how many bytes each.
  [[nodiscard]] std::vector<Contributor> contributors(const Piece& piece) const;
  // The contributors that are on one node of the group. For regular distributions the work is in
  // proportion to the ranks of the node.
  [[nodiscard]] std::vector<Contributor> contributors_on(std::int64_t node,
                                                         const Piece& piece) const;
  // Whether the group certainly holds all that is asked for in a piece: it then has no holes, and
  // no need to ask for its contributors.
  [[nodiscard]] bool holds_everything(const PieceId& id) const;
  // The bundle that has the name of this array; null when there is none.
  [[nodiscard]] const Bundle* bundle(int array) const;
  // Units of no array have more parts than this.
  [[nodiscard]] std::int64_t most_parts() const { return most_parts_; }
  // What `rank` holds of an array, as in Distribution: pieces of its part. None for ranks that the
  // array is not distributed over.
  [[nodiscard]] std::int64_t parts(int array, std::int64_t rank) const;
  [[nodiscard]] array::Region part(int array, std::int64_t rank, std::int64_t number) const;

  // For the generators of pieces: an array's units, and the name of a unit's first part.
  [[nodiscard]] const Units& units(int array) const {
    return schedules_[static_cast<std::size_t>(array)].units;
  }
  [[nodiscard]] PieceId id_of(int array, std::int64_t unit) const;
  // The arrays that have units or the name of a bundle, ascending.
  [[nodiscard]] const std::vector<int>& scheduled() const { return scheduled_; }
  [[nodiscard]] std::optional<std::int64_t> unit_at(std::int64_t aggregator, int array,
                                                    std::int64_t step) const;

 private:
  struct Schedule {
    Units units;
    std::int64_t first_step = 0;
    std::int64_t rotation = 0;  // added to the units' aggregators, so that small arrays take turns
    int bundle = -1;            // number of the bundle that has this array's name
  };
  struct PlannedBundle {
    Bundle arrays;
    Piece piece;
    bool held = false;  // by the group, everything
  };

  Plan(Request request, const Parameters& parameters, topology::AggregatorPlacement placement,
       std::int64_t group);
  [[nodiscard]] bool all_ranks() const { return placement_.groups() == 1; }
  [[nodiscard]] array::Section held_by_group(const ArrayRequest& request) const;
  [[nodiscard]] bool holds_everything(int array) const;
  void make_schedules();
  void make_bundles(const std::vector<array::Section>& asked, std::int64_t holders);
  void add_slab(int array, const Units& units, const Units::Content& content, std::int64_t& bytes,
                std::vector<Slab>& slabs) const;
  // What the ranks of the group hold of a slab, added to `found`.
  void add_contributions(const Slab& slab, std::vector<Contributor>& found) const;
  // What one rank holds of a slab.
  void add_share(const Slab& slab, std::int64_t rank, std::vector<Contributor>& found) const;

  Request request_;
  Parameters parameters_;
  topology::AggregatorPlacement placement_;
  std::int64_t group_;
  std::int64_t aggregators_ = 0;
  std::vector<Schedule> schedules_;  // per array; those in bundles have no units of their own
  std::vector<int> scheduled_;
  std::vector<PlannedBundle> bundles_;
  std::int64_t most_parts_ = 1;
};

}  // namespace weir::plan
