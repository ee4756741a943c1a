// What one rank does with the bundles of a plan, kept from request to request: working it out takes
// longer than moving small arrays.
#pragma once

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

namespace weir::plan {

class CachedBundles {
 public:
  // A contiguous copy; offsets are bytes from the start of the memory of a part, and of the buffer.
  struct Run {
    int array = 0;
    std::int64_t part = 0;
    std::int64_t in_memory = 0;
    std::int64_t in_buffer = 0;
    std::int64_t bytes = 0;
  };
  // Any other; its direction is the request's.
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
  // The layout of the memory that the rank has for a part of an array.
  using LayoutOf = std::function<const array::Layout&(int array, std::int64_t part)>;

  CachedBundles(std::shared_ptr<const Plan> plan, std::int64_t rank)
      : plan_(std::move(plan)), rank_(rank) {}

  // The copies of a bundle's piece; made anew when memory is laid out otherwise than the last time.
  [[nodiscard]] const Copies& copies(const Piece& piece, const LayoutOf& layout_of);
  // For an aggregator: Plan::contributors(), and the extents of what they hold.
  [[nodiscard]] const std::vector<Contributor>& contributors(const Piece& piece);
  [[nodiscard]] PieceExtents extents(const Piece& piece);
  // Plan::contributors_on() of the rank's own node, kept for pieces of bundles.
  [[nodiscard]] std::vector<Contributor> contributors_on_node(const Piece& piece);

 private:
  // What the copies were made for.
  struct Held {
    int array = 0;
    std::int64_t part = 0;
    std::size_t layout = 0;  // its number
  };
  struct Kept {
    std::vector<Held> memory;
    std::vector<array::Layout> layouts;  // neighbours that lie alike have the same
    Copies copies;
    bool has_copies = false;
    std::optional<std::vector<Contributor>> contributors;
    std::optional<std::vector<Contributor>> on_node;  // of them
    std::optional<std::vector<FileExtent>> extents;
    bool many_extents = false;  // they are not kept
  };

  // Whether memory is laid out as when the copies were made.
  [[nodiscard]] static bool is_as_before(const Kept& kept, const LayoutOf& layout_of);

  std::shared_ptr<const Plan> plan_;
  std::int64_t rank_;
  std::unordered_map<int, Kept> kept_;  // by the bundle's name
};

}  // namespace weir::plan
