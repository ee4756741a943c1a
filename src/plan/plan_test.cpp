// Plans of random requests, carried out in memory from both sides.
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "plan/meeting_blocks.hpp"
#include "plan/piece_extents.hpp"
#include "plan/rank_pieces.hpp"
#include "plan/test_requests.hpp"

namespace weir::plan {
namespace {

using PlanPointer = std::shared_ptr<const Plan>;

// One part of a rank in its memory.
struct Memory {
  array::Layout layout;
  std::vector<std::byte> bytes;
};
using RankMemory =
    std::map<std::tuple<std::int64_t, int, std::int64_t>, Memory>;  // rank, array, part

class Execution {
 public:
  Execution(const Request& request, const topology::Topology& topology,
            const Parameters& parameters, RandomRequests& random)
      : request_(request), parameters_(parameters), ranks_(topology.ranks()) {
    for (std::int64_t group = 0; group < Plan::groups(topology, parameters.strategy); ++group) {
      plans_.push_back(Plan::create(request, topology, parameters, group).value());
    }
    for (int array = 0; array < static_cast<int>(request.arrays.size()); ++array) {
      const SharedDistribution& memory = request.arrays[static_cast<std::size_t>(array)].memory;
      for (std::int64_t rank = 0; rank < memory->ranks(); ++rank) {
        for (std::int64_t part = 0; part < memory->pieces(rank); ++part) {
          const auto layout =
              array::Layout::packed(memory->piece(rank, part).local_extents(), 8, random.order())
                  .value();
          memory_.emplace(std::tuple(rank, array, part),
                          Memory{layout, std::vector<std::byte>(
                                             static_cast<std::size_t>(layout.bounds().upper))});
        }
      }
    }
  }

  // Calls visit(memory of the element, its array, shape, index) for every element that is held.
  template <typename Visit>
  void visit_memory(Visit visit) {
    for (auto& [key, memory] : memory_) {
      const auto [rank, array, part] = key;
      const ArrayRequest& one = request_.arrays[static_cast<std::size_t>(array)];
      const array::Region held = one.memory->piece(rank, part);
      for (const array::Indices& index : array::all_elements(one.shape())) {
        if (!held.contains(index)) continue;
        visit(memory.bytes.data() + memory.layout.offset_of(held.local_index(index)), array, index);
      }
    }
  }

  void run(MemoryFiles& files) {
    for (const PlanPointer& plan : plans_) {
      if (parameters_.strategy == Strategy::direct) {
        run_direct(*plan, files);
      } else {
        run_group(plan, files);
      }
    }
  }

 private:
  const array::Layout& layout(std::int64_t rank, const Slab& slab, std::int64_t part) {
    return memory_.at({rank, slab.array, part}).layout;
  }
  std::byte* bytes(std::int64_t rank, const Slab& slab, std::int64_t part) {
    return memory_.at({rank, slab.array, part}).bytes.data();
  }
  bool writing() const { return request_.direction == Direction::write; }

  void run_direct(const Plan& plan, MemoryFiles& files) {
    ASSERT_EQ(plan.aggregators(), 0);
    const auto shared =
        Plan::create(plan.request(), plan.topology(), plan.parameters(), plan.group()).value();
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      if (Plan::group_of(plan.topology(), Strategy::direct, rank) != plan.group()) continue;
      RankPieces pieces(shared, rank);
      for (PieceId id; pieces.next(id);) {
        const Piece piece = plan.piece(id);
        MeetingBlocks blocks(plan, piece, rank);
        for (MeetingBlock block; blocks.next(block);) {
          const Slab& slab = piece.slabs[block.slab];
          array::CopyRuns runs(memory_to_file(block, layout(rank, slab, block.part), slab));
          for (std::int64_t from = 0, to = 0; runs.next(from, to);) {
            std::byte* const memory = bytes(rank, slab, block.part) + from;
            if (writing()) {
              files[slab.file].write(to, memory, runs.bytes());
            } else {
              std::memcpy(memory, files[slab.file].bytes.data() + to,
                          static_cast<std::size_t>(runs.bytes()));
            }
          }
        }
      }
    }
  }

  // Returns whether each rank can hand over its shares one after the other, in its order, to
  // aggregators that have two buffers for pieces in theirs.
  static bool all_come_through(const std::map<PieceId, std::vector<std::int64_t>>& contributors,
                               std::map<std::int64_t, std::deque<PieceId>> orders) {
    std::map<std::int64_t, std::deque<PieceId>> open;  // and those to come, by aggregator
    std::map<PieceId, std::size_t> missing;
    for (const auto& [id, ranks] : contributors) {
      open[id.aggregator].push_back(id);
      missing[id] = ranks.size();
    }
    for (auto& [aggregator, pieces] : open) {
      std::sort(pieces.begin(), pieces.end(), [](const PieceId& a, const PieceId& b) {
        return std::tuple(a.array, a.unit, a.part) < std::tuple(b.array, b.unit, b.part);
      });
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [rank, pieces] : orders) {
        if (pieces.empty()) continue;
        auto& queue = open.at(pieces.front().aggregator);
        const auto end = queue.begin() + std::min<std::ptrdiff_t>(2, std::ssize(queue));
        if (std::find(queue.begin(), end, pieces.front()) == end) continue;
        --missing.at(pieces.front());
        pieces.pop_front();
        moved = true;
        while (!queue.empty() && missing.at(queue.front()) == 0) queue.pop_front();
      }
    }
    return std::all_of(orders.begin(), orders.end(),
                       [](const auto& order) { return order.second.empty(); });
  }

  void run_group(const PlanPointer& plan, MemoryFiles& files) {
    // What contributors think: per aggregator the pieces in order, with the ranks.
    std::map<PieceId, std::vector<std::int64_t>> expected;
    std::map<std::int64_t, std::deque<PieceId>> orders;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      if (Plan::group_of(plan->topology(), parameters_.strategy, rank) != plan->group()) continue;
      RankPieces pieces(plan, rank);
      std::map<std::int64_t, PieceId> last;  // by aggregator
      std::tuple<std::int64_t, std::int64_t, std::int64_t> place{0, 0, -1};
      for (PieceId id; pieces.next(id);) {
        const std::tuple next{id.step, id.part, plan->turn_for(rank, id.aggregator)};
        ASSERT_GT(next, place);
        place = next;
        orders[rank].push_back(id);
        const auto before = last.find(id.aggregator);
        if (before != last.end()) {
          ASSERT_GT(id, before->second);
        }
        last[id.aggregator] = id;
        expected[id].push_back(rank);
      }
    }
    ASSERT_TRUE(all_come_through(expected, orders));
    for (std::int64_t aggregator = 0; aggregator < plan->aggregators(); ++aggregator) {
      ASSERT_EQ(plan->aggregator_at(plan->rank_of(aggregator)), aggregator);
      AggregatorPieces pieces(plan, aggregator);
      PieceId last{-1, 0, 0, 0, 0};
      for (Piece piece; pieces.next(piece);) {
        ASSERT_GT(piece.id, last);
        last = piece.id;
        ASSERT_EQ(piece.id.aggregator, aggregator);
        ASSERT_GT(piece.bytes, 0);
        ASSERT_LE(piece.bytes, parameters_.buffer_bytes);
        const auto contributors = plan->contributors(piece);
        ASSERT_EQ(plan->contributors(piece.id), contributors);
        std::vector<std::int64_t> ranks;
        ranks.reserve(contributors.size());
        for (const Contributor& one : contributors) ranks.push_back(one.rank);
        ASSERT_EQ(ranks, expected[piece.id]);
        expected.erase(piece.id);
        transfer(*plan, piece, contributors, files);
      }
    }
    for (const auto& [id, ranks] : expected) ASSERT_TRUE(ranks.empty()) << id.unit;
  }

  void transfer(const Plan& plan, const Piece& piece, const std::vector<Contributor>& contributors,
                MemoryFiles& files) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(piece.bytes));
    const auto move_extents = [&](bool to_file) {
      PieceExtents extents(plan, piece, contributors);
      FileExtent last{-1, 0, 0, 0};
      for (FileExtent extent; extents.next(extent);) {
        MemoryFile& file = files[extent.file];
        if (to_file) {
          file.write(extent.offset, buffer.data() + extent.buffer_offset, extent.bytes);
        } else {
          std::memcpy(buffer.data() + extent.buffer_offset, file.bytes.data() + extent.offset,
                      static_cast<std::size_t>(extent.bytes));
        }
        if (last.file == extent.file) {
          ASSERT_GE(extent.offset, last.offset + last.bytes);
        }
        last = extent;
      }
    };
    if (!writing()) move_extents(false);
    for (const Contributor& one : contributors) {
      std::vector<std::byte> message(static_cast<std::size_t>(one.bytes));
      std::int64_t sent = 0;
      // Both sides work the blocks out by themselves; here the message is filled, there emptied.
      for (const bool filling : {true, false}) {
        MeetingBlocks blocks(plan, piece, one.rank);
        for (MeetingBlock block; blocks.next(block);) {
          const Slab& slab = piece.slabs[block.slab];
          const array::Order order =
              request_.arrays[static_cast<std::size_t>(slab.array)].image.order();
          const array::Layout& held = layout(one.rank, slab, block.part);
          std::byte* const memory = bytes(one.rank, slab, block.part);
          if (filling) sent += block.bytes;
          if (writing() && filling) {
            memory_to_message(block, held, order).run(memory, message.data());
          } else if (writing()) {
            message_to_buffer(block, slab, order).run(message.data(), buffer.data());
          } else if (filling) {
            buffer_to_message(block, slab, order).run(buffer.data(), message.data());
          } else {
            message_to_memory(block, held, order).run(message.data(), memory);
          }
          // The way without a message does the same.
          if (writing() && !filling) {
            std::vector<std::byte> other = buffer;
            memory_to_buffer(block, held, slab).run(memory, other.data());
            ASSERT_EQ(other, buffer);
          } else if (!writing() && !filling) {
            std::vector<std::byte> before = memory_.at({one.rank, slab.array, block.part}).bytes;
            buffer_to_memory(block, held, slab).run(buffer.data(), memory);
            ASSERT_EQ(before, (memory_.at({one.rank, slab.array, block.part}).bytes));
          }
        }
      }
      ASSERT_EQ(sent, one.bytes);
    }
    if (writing()) move_extents(true);
  }

  const Request& request_;
  Parameters parameters_;
  std::int64_t ranks_;
  std::vector<PlanPointer> plans_;
  RankMemory memory_;
};

TEST(Plan, WritesEveryElementAskedForInItsPlaceOnce) {
  RandomRequests random(230);
  for (int round = 0; round < array::rounds(400); ++round) {
    SCOPED_TRACE(round);
    const Request request = random.request(Direction::write);
    ASSERT_TRUE(request.check().ok());
    Execution execution(request, random.topology(request.ranks()), random.parameters(8), random);
    execution.visit_memory([&](std::byte* memory, int array, const array::Indices& index) {
      const auto& shape = request.arrays[static_cast<std::size_t>(array)].shape();
      const std::int64_t value = value_of(array, shape, index);
      std::memcpy(memory, &value, 8);
    });
    MemoryFiles files;
    execution.run(files);
    if (HasFatalFailure()) return;
    std::int64_t wanted = 0;
    execution.visit_memory([&](const std::byte*, int array, const array::Indices& index) {
      const ArrayRequest& one = request.arrays[static_cast<std::size_t>(array)];
      if (!array::holds(one.section, index)) return;
      ++wanted;
      const ChunkedImage::Place place = place_of(one.image, index);
      const MemoryFile& file = files[one.first_file + place.file];
      ASSERT_LE(place.offset + 8, static_cast<std::int64_t>(file.bytes.size()));
      std::int64_t value = 0;
      std::memcpy(&value, file.bytes.data() + place.offset, 8);
      ASSERT_EQ(value, value_of(array, one.shape(), index));
    });
    // So many bytes were written, each once; therefore nothing else was.
    std::int64_t written = 0;
    for (const auto& [number, file] : files) {
      for (const std::uint8_t times : file.times) {
        ASSERT_LE(times, 1);
        written += times;
      }
    }
    ASSERT_EQ(written, wanted * 8);
  }
}

TEST(Plan, ReadsEveryElementAskedForAndNoOther) {
  RandomRequests random(231);
  for (int round = 0; round < array::rounds(400); ++round) {
    SCOPED_TRACE(round);
    const Request request = random.request(Direction::read);
    MemoryFiles files;
    for (std::size_t array = 0; array < request.arrays.size(); ++array) {
      const ArrayRequest& one = request.arrays[array];
      for (const array::Indices& index : array::all_elements(one.shape())) {
        const ChunkedImage::Place place = place_of(one.image, index);
        const std::int64_t value = value_of(static_cast<int>(array), one.shape(), index);
        files[one.first_file + place.file].write(place.offset,
                                                 reinterpret_cast<const std::byte*>(&value), 8);
      }
    }
    Execution execution(request, random.topology(request.ranks()), random.parameters(8), random);
    execution.run(files);
    if (HasFatalFailure()) return;
    execution.visit_memory([&](const std::byte* memory, int array, const array::Indices& index) {
      const ArrayRequest& one = request.arrays[static_cast<std::size_t>(array)];
      std::int64_t value = 0;
      std::memcpy(&value, memory, 8);
      ASSERT_EQ(value, array::holds(one.section, index) ? value_of(array, one.shape(), index) : 0);
    });
  }
}

TEST(Plan, RefusesWhatCannotBe) {
  const auto shape = array::Shape::create({10}).value();
  const auto distributed = array::RegularDistribution::create(
                               shape, std::vector{array::DistributionFormat::block_of()}, {{4}})
                               .value();
  const auto image =
      FileImage::create(shape, array::ElementKind::int64, array::Order::row_major, 0).value();
  const Request good{Direction::write,
                     {{image, {distributed}, array::Section::of(shape.box()), 0}}};
  const auto four = topology::Topology::single_node(4).value();
  EXPECT_TRUE(Plan::create(good, four, {}).ok());
  EXPECT_FALSE(Plan::create(good, topology::Topology::single_node(3).value(), {}).ok());
  EXPECT_FALSE(Plan::create({}, four, {}).ok());
  Request outside = good;
  outside.arrays[0].section.count[0] = 11;
  EXPECT_FALSE(Plan::create(outside, four, {}).ok());
  Parameters parameters;
  parameters.buffer_bytes = 7;
  EXPECT_FALSE(Plan::create(good, four, parameters).ok());
  parameters = {};
  parameters.aggregators = 0;
  EXPECT_FALSE(Plan::create(good, four, parameters).ok());
}

TEST(Plan, SmallArraysShareBuffersAndCalls) {
  const auto shape = array::Shape::create({512}).value();
  const auto distributed = array::RegularDistribution::create(
                               shape, std::vector{array::DistributionFormat::block_of()}, {{4}})
                               .value();
  Request request{Direction::write, {}};
  for (std::int64_t number = 0; number < 1000; ++number) {
    const auto image = FileImage::create(shape, array::ElementKind::int64, array::Order::row_major,
                                         100 + number * 4096)
                           .value();
    request.arrays.push_back({image, {distributed}, array::Section::of(shape.box()), 0});
  }
  const auto plan = Plan::create(request, topology::Topology::single_node(4).value(),
                                 {Strategy::two_phase, 2, 1 << 20, 4096})
                        .value();
  for (std::int64_t aggregator = 0; aggregator < 2; ++aggregator) {
    AggregatorPieces pieces(plan, aggregator);
    int count = 0;
    for (Piece piece; pieces.next(piece); ++count) {
      EXPECT_GT(piece.bytes, 900 << 10);
      PieceExtents extents(piece);
      FileExtent extent;
      ASSERT_TRUE(extents.next(extent));
      EXPECT_EQ(extent.bytes, piece.bytes);
      EXPECT_FALSE(extents.next(extent));
    }
    EXPECT_EQ(count, 2);
  }
  // Rank 3 meets each of the four once, the aggregators in turn.
  RankPieces mine(plan, 3);
  std::vector<std::int64_t> aggregators;
  for (PieceId id; mine.next(id);) aggregators.push_back(id.aggregator);
  EXPECT_EQ(aggregators, (std::vector<std::int64_t>{0, 1, 0, 1}));
}

// The requested rows begin in the middle of what a unit of whole rows would be, and end behind it.
TEST(Plan, BundlesHaveEveryRequestedElement) {
  const auto shape = array::Shape::create({7, 7, 8, 6, 8}).value();
  const std::vector<array::DistributionFormat> formats{
      array::DistributionFormat::cyclic_of(1), array::DistributionFormat::whole_dimension(),
      array::DistributionFormat::whole_dimension(), array::DistributionFormat::whole_dimension(),
      array::DistributionFormat::whole_dimension()};
  const auto distributed =
      array::RegularDistribution::create(shape, formats, {{3, 1, 1, 1, 1}}).value();
  Request request{Direction::write, {}};
  std::int64_t wanted = 0;
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{1} << 20}) {
    const auto image =
        FileImage::create(shape, array::ElementKind::int16, array::Order::row_major, offset)
            .value();
    array::Section rows = array::Section::of(shape.box());
    rows.start[0] = 2;
    rows.count[0] = 4;
    wanted += rows.elements() * 2;
    request.arrays.push_back({image, {distributed}, rows, 0});
  }
  const auto plan = Plan::create(request, topology::Topology::single_node(3).value(),
                                 {Strategy::two_phase, 1, 1 << 20, 4096})
                        .value();
  ASSERT_NE(plan->bundle(0), nullptr);
  AggregatorPieces pieces(plan, 0);
  std::int64_t bytes = 0;
  for (Piece piece; pieces.next(piece);) {
    bytes += piece.bytes;
    std::int64_t held = 0;
    for (const Contributor& one : plan->contributors(piece)) held += one.bytes;
    EXPECT_EQ(held, piece.bytes);
  }
  EXPECT_EQ(bytes, wanted);
}

TEST(Plan, DomainsAreAlignedAndBalanced) {
  const auto shape = array::Shape::create({64, 1 << 17}).value();  // 64 MiB
  const auto distributed =
      array::RegularDistribution::create(
          shape,
          std::vector{array::DistributionFormat::block_of(), array::DistributionFormat::block_of()},
          {{4, 2}})
          .value();
  const auto image =
      FileImage::create(shape, array::ElementKind::int64, array::Order::row_major, 100).value();
  const Request request{Direction::write,
                        {{image, {distributed}, array::Section::of(shape.box()), 0}}};
  const auto plan = Plan::create(request, topology::Topology::filled(8, 2).value(),
                                 {Strategy::two_phase, 4, 4 << 20, 1 << 16})
                        .value();
  for (std::int64_t aggregator = 0; aggregator < 4; ++aggregator) {
    AggregatorPieces pieces(plan, aggregator);
    std::int64_t bytes = 0;
    for (Piece piece; pieces.next(piece);) {
      PieceExtents extents(piece);
      FileExtent extent;
      ASSERT_TRUE(extents.next(extent));
      // Whole rows: one extent, from boundary to boundary but at the array's ends.
      EXPECT_EQ(extent.bytes, piece.bytes);
      // An element goes with the unit of its first byte.
      if (extent.offset > 100) {
        EXPECT_LT(extent.offset % (1 << 16), 8);
      }
      EXPECT_FALSE(extents.next(extent));
      bytes += piece.bytes;
    }
    EXPECT_NEAR(static_cast<double>(bytes), 16 << 20, 1 << 20) << aggregator;
  }
}

// Boxes of two ranks with as many elements as the array, beside each other or in the same place.
TEST(Plan, RowsOfBoxesThatLeaveNoHoleAreOneExtent) {
  const auto shape = array::Shape::create({4, 16}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::int64, array::Order::row_major, 100).value();
  const auto extents_of = [&](std::int64_t second_begin) {
    array::BoxList boxes(2);
    boxes.push_back(array::Box{{0, 0}, {4, 8}});
    boxes.push_back(array::Box{{0, second_begin}, {4, 8}});
    const std::vector<std::int64_t> one_each(2, 1);
    const auto held = array::ExplicitDistribution::create(shape, one_each, boxes).value();
    const Request request{Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
    const auto plan = Plan::create(request, topology::Topology::single_node(2).value(),
                                   {Strategy::two_phase, 1, 4096, 4096})
                          .value();
    AggregatorPieces pieces(plan, 0);
    std::vector<FileExtent> found;
    for (Piece piece; pieces.next(piece);) {
      PieceExtents extents(*plan, piece, plan->contributors(piece));
      for (FileExtent extent; extents.next(extent);) found.push_back(extent);
    }
    return found;
  };
  EXPECT_EQ(extents_of(8), (std::vector<FileExtent>{{0, 100, 512, 0}}));
  const std::vector<FileExtent> with_holes{
      {0, 100, 64, 0}, {0, 228, 64, 128}, {0, 356, 64, 256}, {0, 484, 64, 384}};
  EXPECT_EQ(extents_of(0), with_holes);
}

}  // namespace
}  // namespace weir::plan
