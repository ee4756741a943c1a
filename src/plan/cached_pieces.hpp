// Caches what one rank does with the pieces of a plan from request to request, since computing it
// takes longer than moving small arrays, and a quarter of the time in which 1 MiB is copied.
//
// What is known of bundles is kept as long as the plan. Other pieces are kept until
// forget_pieces(), and only so many of them that their memory stays below 2 MiB
// (most_kept_pieces, most_kept_items). What is not kept is computed each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "plan/piece_extents.hpp"
#include "plan/plan.hpp"
#include "plan/rank_pieces.hpp"
#include "plan/slab.hpp"

namespace weir::plan {

// Iterates over pieces that are in a list, or that a generator (RankPieces, AggregatorPieces)
// finds.
template <typename Generator>
class PieceOrder {
 public:
  using List = std::shared_ptr<const std::vector<PieceId>>;

  explicit PieceOrder(List known) : known_(std::move(known)) {}
  explicit PieceOrder(Generator pieces) : pieces_(std::move(pieces)) {}

  // Returns false if no piece is left.
  bool next(PieceId& id) {
    if (pieces_) return pieces_->next(id);
    if (next_ == known_->size()) return false;
    id = (*known_)[next_++];
    return true;
  }

 private:
  List known_;
  std::size_t next_ = 0;
  std::optional<Generator> pieces_;  // if there is no list
};

class CachedPieces {
 public:
  // A contiguous copy. Offsets are bytes from the start of a part's memory, and of the buffer.
  struct Run {
    int array = 0;
    std::int64_t part = 0;
    std::int64_t in_memory = 0;
    std::int64_t in_buffer = 0;
    std::int64_t bytes = 0;
  };
  // A copy that is not contiguous; its direction is that of the request.
  struct Other {
    int array = 0;
    std::int64_t part = 0;
    array::StridedCopy copy;
  };
  struct Copies {
    std::vector<Run> runs;
    std::vector<Other> others;
    std::int64_t bytes = 0;
  };
  // Returns the layout of the rank's memory for a part of an array.
  using LayoutOf = std::function<const array::Layout&(int array, std::int64_t part)>;

  CachedPieces(std::shared_ptr<const Plan> plan, std::int64_t rank)
      : plan_(std::move(plan)), rank_(rank) {}

  // Returns the pieces to which the rank contributes, in order.
  [[nodiscard]] PieceOrder<RankPieces> of_rank();
  // Returns the pieces of `aggregator`, which is always the same one, in order.
  [[nodiscard]] PieceOrder<AggregatorPieces> of_aggregator(std::int64_t aggregator);
  // Returns Plan::rank_of().
  [[nodiscard]] std::int64_t rank_of(std::int64_t aggregator);
  // Returns Plan::piece().
  [[nodiscard]] Piece piece(const PieceId& id);

  // The functions below get a piece that piece() has returned. What they return by pointer or as
  // extents is valid until the next call of any function.

  // Returns the copies between the rank's memory and the piece's buffer; null if they are too many
  // to keep, which those of a bundle never are. They are computed again if the layout of memory
  // differs from the last time.
  [[nodiscard]] const Copies* copies(const Piece& piece, const LayoutOf& layout_of);
  // For an aggregator: finds Plan::contributors(), and returns the extents of what these hold.
  void find_contributors(const Piece& piece, std::vector<Contributor>& found);
  [[nodiscard]] PieceExtents extents(const Piece& piece,
                                     const std::vector<Contributor>& contributors);
  // Returns Plan::contributors_on() of the rank's own node.
  [[nodiscard]] std::vector<Contributor> contributors_on_node(const Piece& piece);

  // Drops all that is kept, except of bundles.
  void forget_pieces();
  // Returns the number of kept pieces that are no bundles.
  [[nodiscard]] std::size_t kept_pieces() const { return pieces_.size(); }

 private:
  // A part for which the copies were made.
  struct Held {
    int array = 0;
    std::int64_t part = 0;
    std::size_t layout = 0;  // index into Kept::layouts
  };
  struct Kept {
    std::optional<Piece> piece;  // of no bundle
    std::vector<Held> memory;
    std::vector<array::Layout> layouts;  // adjacent parts with equal layouts share an entry
    Copies copies;
    std::size_t copies_items = 0;  // counted in items_
    bool has_copies = false;
    bool many_copies = false;  // there are too many copies to keep
    std::optional<std::vector<Contributor>> contributors;
    std::optional<std::vector<Contributor>> on_node;  // contributors on the rank's own node
    std::optional<std::vector<FileExtent>> extents;
    bool many_extents = false;  // there are too many extents to keep
  };
  struct Hash {
    // The array, the unit and the part tell pieces apart.
    std::size_t operator()(const PieceId& id) const {
      const auto mixed = static_cast<std::uint64_t>(id.unit) * 0x9E3779B97F4A7C15U +
                         static_cast<std::uint64_t>(id.part) * 0xBF58476D1CE4E5B9U +
                         static_cast<std::uint64_t>(id.array);
      return static_cast<std::size_t>(mixed ^ (mixed >> 32));
    }
  };

  // Returns whether memory has the same layout as when the copies were made.
  [[nodiscard]] static bool is_as_before(const Kept& kept, const LayoutOf& layout_of);
  [[nodiscard]] bool is_bundle(const PieceId& id) const {
    return plan_->bundle(id.array) != nullptr;
  }
  // Returns what is kept of a piece; null if nothing is to be.
  [[nodiscard]] Kept* kept(const Piece& piece);
  // Returns whether so many items may be kept of a piece, and counts them then. Those of bundles
  // are not counted.
  [[nodiscard]] bool takes(const PieceId& id, std::size_t items);
  // Computes the copies; returns false if they are too many to keep.
  [[nodiscard]] bool make_copies(const Piece& piece, const LayoutOf& layout_of, Kept& kept);

  std::shared_ptr<const Plan> plan_;
  std::int64_t rank_;
  std::unordered_map<int, Kept> bundles_;  // by the array that names the bundle
  std::unordered_map<PieceId, Kept, Hash> pieces_;
  std::size_t items_ = 0;  // kept slabs, layouts, copies, extents and contributors of pieces_
  PieceOrder<RankPieces>::List of_rank_;
  PieceOrder<AggregatorPieces>::List of_aggregator_;
  bool many_of_rank_ = false;  // there are too many pieces to list
  bool many_of_aggregator_ = false;
  std::vector<std::int64_t> ranks_;  // of the first aggregators; -1: not looked up yet
};

}  // namespace weir::plan
