// Caches what one rank does with the bundles of a plan from request to request, since computing it
// takes longer than moving small arrays.
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

  CachedBundles(std::shared_ptr<const Plan> plan, std::int64_t rank)
      : plan_(std::move(plan)), rank_(rank) {}

  // Returns the copies of a bundle's piece. They are recomputed if the layout of memory differs
  // from the last time.
  [[nodiscard]] const Copies& copies(const Piece& piece, const LayoutOf& layout_of);
  // For an aggregator, these return Plan::contributors(), and the extents of what these hold.
  [[nodiscard]] const std::vector<Contributor>& contributors(const Piece& piece);
  [[nodiscard]] PieceExtents extents(const Piece& piece);
  // Returns Plan::contributors_on() of the rank's own node; the result is cached for pieces of
  // bundles.
  [[nodiscard]] std::vector<Contributor> contributors_on_node(const Piece& piece);

 private:
  // A part for which the copies were made.
  struct Held {
    int array = 0;
    std::int64_t part = 0;
    std::size_t layout = 0;  // index into Kept::layouts
  };
  struct Kept {
    std::vector<Held> memory;
    std::vector<array::Layout> layouts;  // adjacent parts with equal layouts share an entry
    Copies copies;
    bool has_copies = false;
    std::optional<std::vector<Contributor>> contributors;
    std::optional<std::vector<Contributor>> on_node;  // contributors on the rank's own node
    std::optional<std::vector<FileExtent>> extents;
    bool many_extents = false;  // there are too many extents to keep
  };

  // Returns whether memory has the same layout as when the copies were made.
  [[nodiscard]] static bool is_as_before(const Kept& kept, const LayoutOf& layout_of);

  std::shared_ptr<const Plan> plan_;
  std::int64_t rank_;
  std::unordered_map<int, Kept> kept_;  // by the array that names the bundle
};

}  // namespace weir::plan
