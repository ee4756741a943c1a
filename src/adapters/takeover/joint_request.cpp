#include "adapters/takeover/joint_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "aggregation/call_queue.hpp"
#include "array/box_list.hpp"
#include "array/explicit_distribution.hpp"
#include "array/layout.hpp"
#include "plan/request.hpp"

namespace weir::takeover {
namespace {

using array::Box;
using array::ByteGrid;

// Returns how the ranks hold a grid's array; a rank with an empty box holds nothing.
Result<plan::SharedDistribution> distribution_of(const ByteGrid& grid) {
  std::vector<std::int64_t> boxes_per_rank;
  array::BoxList boxes(grid.shape.dimensions());
  for (const Box& box : grid.boxes) {
    boxes_per_rank.push_back(box.empty() ? 0 : 1);
    if (!box.empty()) boxes.push_back(box);
  }
  auto made = array::ExplicitDistribution::create(grid.shape, boxes_per_rank, boxes);
  if (!made) return made.error();
  return plan::SharedDistribution(array::Distribution(std::move(made).value()));
}

// Holds what the parts of a request refer to, which stays where it is while the request lasts.
struct Parts {
  std::deque<plan::SharedDistribution> distributions;
  std::deque<array::Layout> layouts;
  std::deque<aggregation::MemoryPiece> pieces;
  std::vector<aggregation::ArrayPart> parts;

  // Adds a grid of which `memory` has the rank's bytes. A grid like the one before has the same
  // distribution, which is then looked at once.
  Status add(const ByteGrid& grid, const ByteGrid* before, aggregation::OpenArray& file,
             const Box& box, std::byte* memory) {
    if (before == nullptr || before->shape != grid.shape || before->boxes != grid.boxes) {
      auto made = distribution_of(grid);
      if (!made) return made.error();
      distributions.push_back(std::move(made).value());
    }
    aggregation::ArrayPart part;
    part.file = &file;
    part.memory = &distributions.back();
    if (!box.empty()) {
      auto layout = array::Layout::packed(box.extent, 1, array::Order::row_major);
      if (!layout) return layout.error();
      layouts.push_back(std::move(layout).value());
      pieces.push_back({&layouts.back(), memory});
      part.pieces = {&pieces.back(), 1};
    }
    parts.push_back(part);
    return {};
  }
};

}  // namespace

Status move_grids(aggregation::Collective& session, aggregation::ByteFile& file,
                  Direction direction, int rank, std::span<const ByteGrid> grids,
                  std::byte* memory) {
  const auto place = static_cast<std::size_t>(rank);
  while (!grids.empty()) {
    Parts request;
    Status possible;
    std::int64_t end = 0;  // of the arrays so far
    std::size_t count = 0;
    for (; count < grids.size(); ++count) {
      const ByteGrid& grid = grids[count];
      if (grid.shape.elements() == 0) continue;
      if (!request.parts.empty() && grid.offset < end) break;
      end = grid.offset + grid.shape.elements();
      const ByteGrid* const before = request.parts.empty() ? nullptr : &grids[count - 1];
      auto& array = file.array(request.parts.size(), grid.shape, grid.offset);
      if (possible.ok()) possible = request.add(grid, before, array, grid.boxes[place], memory);
      if (!possible.ok()) break;
      memory += grid.boxes[place].elements();
    }
    if (request.parts.empty() && possible.ok()) return {};
    const auto call = aggregation::Call::of(
        fmt::format("a collective {} of {} patterns up to byte {}",
                    direction == Direction::write ? "write" : "read", request.parts.size(), end),
        possible);
    Status moved = session.begin(call, direction, request.parts, nullptr)->wait();
    if (!moved.ok()) return moved;
    grids = grids.subspan(count);
  }
  return {};
}

}  // namespace weir::takeover
