// The patterns of all ranks as boxes of arrays of bytes, which the ranks move together.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "adapters/preloaded/record_file.hpp"
#include "adapters/takeover/joint_request.hpp"
#include "adapters/takeover/part_vote.hpp"
#include "adapters/takeover/refused.hpp"
#include "adapters/takeover/taken_file.hpp"
#include "aggregation/agreement.hpp"
#include "aggregation/call_queue.hpp"
#include "array/fingerprint.hpp"

namespace weir::mpiio {
namespace {

bool has_bytes(const array::ByteGrid& grid) { return grid.shape.elements() > 0; }

}  // namespace

Moved TakenFile::move_part(bool writing, const Part& part) {
  Moved moved = move_voted(writing, part);
  if (moved.reason == Reason::lost) return end_lost().value_or(moved);
  if (!moved.staged) return moved;
  if (const auto ended = end_staged(moved)) return *ended;
  return move_voted(writing, part);
}

Moved TakenFile::move_voted(bool writing, const Part& part) {
  const takeover::ToldPatterns own{part.patterns, displacement_, part.is_irregular};
  if (const auto moved = move_as_before(writing, part, own)) return *moved;
  const takeover::PartVote vote(group_, part.reason, own);
  under_way_.reset();
  if (vote.reason() != Reason::taken) return {vote.reason()};
  if (vote.is_each_alone()) {
    if (vote.is_irregular()) return move_whole(writing, part);
    if (!writing || !is_staged()) {
      const std::int64_t begin = preloaded::now_ns();
      Moved moved = move_whole(writing, part);
      moved.without = without_of_blocks(preloaded::now_ns() - begin);
      return moved;
    }
    Reason reason = Reason::taken;  // the vote has told all of each block: nothing is asked
    if (const auto blocks = vote.grids(own, reason)) return hand_over_blocks(*blocks, part);
    return move_whole(writing, part);
  }
  if (known_grid_.told == vote.told()) {
    const Moved moved = move_grids(writing, known_grid_.grids, part.memory);
    known_grid_.is_expected = bytes_ != nullptr && has_bytes(known_grid_.grids.front());
    return moved;
  }
  Reason reason = Reason::taken;
  auto grids = vote.grids(own, reason);
  if (reason != Reason::taken) return {reason};
  if (!grids) return move_whole(writing, part);
  if (grids->size() > 1) return move_grids(writing, *grids, part.memory);
  known_grid_ = KnownGrid{vote.told(), std::move(*grids)};
  return move_grids(writing, known_grid_.grids, part.memory);
}

std::optional<Moved> TakenFile::move_as_before(bool writing, const Part& part,
                                               const takeover::ToldPatterns& own) {
  if (!known_grid_.is_expected) return std::nullopt;
  const bool is_as_before =
      part.reason == Reason::taken && takeover::is_told(own, known_grid_.told, group_.rank());
  const bool staged = writing && bytes_->is_staged();
  const std::span<const array::ByteGrid> grids(&known_grid_.grids.front(), 1);
  if (staged && is_as_before) reach_stager_before(grids.front());
  const auto moved = ask_for_the_same(direction_of(writing), is_as_before, part.memory);
  if (!moved) return std::nullopt;
  if (staged) add_staged(grids);
  return outcome_of(*moved, staged);
}

void TakenFile::refuse_as_before() {
  if (known_grid_.is_expected) (void)ask_for_the_same(Direction::write, false, nullptr);
}

// The last call has left the array in the file, so that no rank makes another one before all agree.
std::optional<Status> TakenFile::ask_for_the_same(Direction direction, bool is_as_before,
                                                  std::byte* memory) {
  const array::ByteGrid& grid = known_grid_.grids.front();
  aggregation::OpenArray& array = bytes_->array(0, grid.shape, grid.offset);
  array::Fingerprint digest;
  digest.add(static_cast<std::int64_t>(array.number()));
  const aggregation::Call call{
      .digest = digest.value(),
      .describe = [] { return std::string("a collective call that may be like the last one"); }};
  const array::Box& box = grid.boxes[static_cast<std::size_t>(group_.rank())];
  const auto layout = array::Layout::packed(box.extent, 1, array::Order::row_major);
  const aggregation::MemoryPiece piece{layout ? &layout.value() : nullptr, memory};
  const aggregation::OwnRegion own{array::Section::of(box), {&piece, 1}};
  auto moved = group_.session()->move_known_regions(call, array, direction,
                                                    is_as_before && layout ? &own : nullptr);
  if (!moved) known_grid_.is_expected = false;
  return moved;
}

Moved TakenFile::move_grids(bool writing, const std::vector<array::ByteGrid>& grids,
                            std::byte* memory) {
  if (std::ranges::none_of(grids, has_bytes)) return {};
  aggregation::ByteFile* const file = bytes();
  if (file == nullptr) return {Reason::no_session};
  const Direction direction = direction_of(writing);
  const bool staged = writing && file->is_staged();
  if (staged) {
    if (const Status noted = note_staged(grids); !noted.ok()) return outcome_of(noted, true);
  }
  Status moved;
  if (grids.size() == 1) {
    const array::ByteGrid& grid = grids.front();
    const array::Box& box = grid.boxes[static_cast<std::size_t>(group_.rank())];
    moved =
        move_section(file->array(0, grid.shape, grid.offset), direction, array::Section::of(box),
                     array::Layout::packed(box.extent, 1, array::Order::row_major), memory);
  } else {
    moved = takeover::move_grids(*group_.session(), *file, direction, group_.rank(), grids, memory);
  }
  return outcome_of(moved, staged);
}

// The session remembers the regions of earlier calls.
Status TakenFile::move_section(aggregation::OpenArray& array, Direction direction,
                               const array::Section& section, const Result<array::Layout>& layout,
                               std::byte* memory) {
  const aggregation::MemoryPiece piece{layout ? &layout.value() : nullptr, memory};
  const Status possible = layout ? Status() : Status(layout.error());
  const auto call =
      aggregation::Call::of(fmt::format("a collective {} of parts of {} elements of {} bytes",
                                        direction == Direction::write ? "write" : "read",
                                        array.shape().text(), array.type().bytes()),
                            possible);
  return group_.session()
      ->begin_regions(call, &array, direction, {section, {&piece, 1}}, nullptr)
      ->wait();
}

}  // namespace weir::mpiio
