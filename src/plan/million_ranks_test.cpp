// Plans of 1,048,576 ranks, 64 on each of 16,384 nodes: complete and disjoint, as far as sampled
// aggregators and ranks show, without a rank in sight.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "array/test_random.hpp"
#include "plan/meeting_blocks.hpp"
#include "plan/piece_extents.hpp"
#include "plan/rank_pieces.hpp"

namespace weir::plan {
namespace {

constexpr std::int64_t ranks = 1 << 20;
constexpr std::int64_t side = std::int64_t{1} << 14;  // 16384^3 elements: 32 TiB
constexpr std::int64_t part_bytes = side / 64 * (side / 128) * (side / 128) * 8;

array::Shape cube() { return array::Shape::create({side, side, side}).value(); }

array::RegularDistribution blocks() {
  const std::vector<array::DistributionFormat> formats(3, array::DistributionFormat::block_of());
  return array::RegularDistribution::create(cube(), formats, {{64, 128, 128}}).value();
}

Request whole(const Image& image) {
  return {Direction::write, {{image, {blocks()}, array::Section::of(cube().box()), 0}}};
}

Request dense() {
  return whole(FileImage::create(cube(), array::ElementKind::float64, array::Order::row_major, 4096)
                   .value());
}

topology::Topology nodes() { return topology::Topology::filled(ranks, 64).value(); }

// Checks what a rank contributes: every piece has it among its contributors with the bytes that it
// sends, and all that it holds is sent once. Returns the number of pieces.
std::int64_t check_rank(const std::shared_ptr<const Plan>& plan, std::int64_t rank) {
  RankPieces pieces(plan, rank);
  std::int64_t sent = 0;
  std::int64_t count = 0;
  for (PieceId id; pieces.next(id); ++count) {
    const Piece piece = plan->piece(id);
    std::int64_t here = 0;
    MeetingBlocks meeting(*plan, piece, rank);
    for (MeetingBlock block; meeting.next(block);) here += block.bytes;
    EXPECT_GT(here, 0);
    sent += here;
    if (count % 64 == 0) {
      const auto contributors = plan->contributors(piece);
      EXPECT_NE(std::find(contributors.begin(), contributors.end(), Contributor{rank, here}),
                contributors.end());
    }
  }
  EXPECT_EQ(sent, part_bytes);
  return count;
}

// Some pieces of an aggregator: each is filled by its contributors exactly.
void check_aggregator(const std::shared_ptr<const Plan>& plan, std::int64_t aggregator) {
  AggregatorPieces pieces(plan, aggregator);
  std::int64_t count = 0;
  for (Piece piece; count < 3 && pieces.next(piece); ++count) {
    EXPECT_LE(piece.bytes, plan->parameters().buffer_bytes);
    std::int64_t bytes = 0;
    std::int64_t last = -1;
    for (const Contributor& one : plan->contributors(piece)) {
      EXPECT_GT(one.rank, last);
      last = one.rank;
      bytes += one.bytes;
    }
    EXPECT_EQ(bytes, piece.bytes);
  }
  EXPECT_EQ(count, 3);
}

TEST(MillionRanks, TwoPhaseIsCompleteAndDisjoint) {
  const Parameters parameters{Strategy::two_phase, 4096, 16 << 20, 1 << 20};
  const auto plan = Plan::create(dense(), nodes(), parameters).value();
  ASSERT_EQ(plan->aggregators(), 4096);
  array::Random random(240);
  std::set<std::int64_t> aggregator_ranks;
  for (std::int64_t aggregator = 0; aggregator < 4096; ++aggregator) {
    aggregator_ranks.insert(plan->rank_of(aggregator));
  }
  EXPECT_EQ(aggregator_ranks.size(), 4096U);
  for (int sample = 0; sample < 8; ++sample) {
    check_rank(plan, random.between(0, ranks - 1));
    check_aggregator(plan, random.between(0, 4095));
  }
  // Domains follow each other without a gap, in steps all of which are as long.
  const Units& units = plan->units(0);
  std::int64_t counted = 0;
  for (std::int64_t aggregator = 0; aggregator < 4096; ++aggregator) {
    // The last ones may have none, where rounding up to the alignment has made units longer.
    EXPECT_EQ(plan->unit_at(aggregator, 0, 0).value_or(counted), counted);
    while (counted < units.count() && units.aggregator_of(counted) == aggregator) {
      counted = units.last_in_order(counted) + 1;
    }
  }
  EXPECT_EQ(counted, units.count());
  for (int sample = 0; sample < 200; ++sample) {
    const std::int64_t unit = random.between(0, units.count() - 2);
    const Piece here = plan->piece(plan->id_of(0, unit));
    const Piece after = plan->piece(plan->id_of(0, unit + 1));
    std::int64_t end = 0;
    PieceExtents extents(here);
    for (FileExtent extent; extents.next(extent);) end = extent.offset + extent.bytes;
    FileExtent next;
    ASSERT_TRUE(PieceExtents(after).next(next));
    EXPECT_EQ(next.offset, end);
  }
}

TEST(MillionRanks, NodesAggregateTheirOwn) {
  const Parameters parameters{Strategy::node_aggregation, 2, 16 << 20, 1 << 20};
  for (const std::int64_t node : {0, 777, 16383}) {
    const auto plan = Plan::create(dense(), nodes(), parameters, node).value();
    std::int64_t bytes = 0;
    for (std::int64_t aggregator = 0; aggregator < plan->aggregators(); ++aggregator) {
      AggregatorPieces pieces(plan, aggregator);
      for (Piece piece; pieces.next(piece);) {
        for (const Contributor& one : plan->contributors(piece)) {
          EXPECT_EQ(one.rank / 64, node);
          bytes += one.bytes;
        }
      }
    }
    EXPECT_EQ(bytes, 64 * part_bytes);
    check_rank(plan, node * 64 + 11);
  }
}

TEST(MillionRanks, NaturalChunksSpreadOverAllAggregators) {
  const auto chunks =
      ChunkedImage::create(array::ChunkGrid::natural(blocks()), array::ElementKind::float64,
                           array::Order::row_major, {0, 1 << 20, 1})
          .value();
  ASSERT_EQ(chunks.grid().chunks(), ranks);
  const Parameters parameters{Strategy::two_phase, 4096, 16 << 20};
  const auto plan = Plan::create(whole(chunks), nodes(), parameters).value();
  array::Random random(241);
  for (int sample = 0; sample < 8; ++sample) {
    const std::int64_t rank = random.between(0, ranks - 1);
    EXPECT_EQ(check_rank(plan, rank), 2);  // a chunk of 32 MiB, in buffers of 16 MiB
    check_aggregator(plan, random.between(0, 4095));
  }
  // A plane of ranks, in each direction, is shared by many aggregators, about as equally as can be.
  for (int normal = 0; normal < 3; ++normal) {
    array::Section plane = array::Section::of(cube().box());
    plane.start[normal] = side / 2 + 5;
    plane.count[normal] = 1;
    Request request = whole(chunks);
    request.arrays[0].section = plane;
    const auto cut = Plan::create(request, nodes(), parameters).value();
    std::vector<std::int64_t> has(4096);
    std::optional<std::int64_t> unit = 0;
    std::int64_t met = 0;
    while ((unit = cut->units(0).next(array::Region(plane), *unit))) {
      ++has[static_cast<std::size_t>(cut->id_of(0, *unit).aggregator)];
      ++*unit;
      ++met;
    }
    EXPECT_EQ(met, ranks / (normal == 0 ? 64 : 128));
    const double even = std::max(1.0, static_cast<double>(met) / 4096);
    EXPECT_LE(*std::max_element(has.begin(), has.end()), 2.5 * even) << normal;
  }
}

TEST(MillionRanks, DirectIsOneStridedCopy) {
  Parameters parameters;
  parameters.strategy = Strategy::direct;
  const auto plan = Plan::create(dense(), nodes(), parameters).value();
  RankPieces pieces(plan, 777777);
  PieceId id;
  ASSERT_TRUE(pieces.next(id));
  const Piece piece = plan->piece(id);
  MeetingBlocks meeting(*plan, piece, 777777);
  MeetingBlock block;
  ASSERT_TRUE(meeting.next(block));
  const auto memory =
      array::Layout::packed(plan->part(0, 777777, 0).local_extents(), 8, array::Order::row_major)
          .value();
  const auto copy = memory_to_file(block, memory, piece.slabs[block.slab]);
  EXPECT_EQ(copy.bytes, 128 * 8);
  EXPECT_EQ(copy.runs(), 256 * 128);
  EXPECT_FALSE(meeting.next(block));
  EXPECT_FALSE(pieces.next(id));
}

TEST(MillionRanks, ExplicitBoxesAreFoundToo) {
  // One box per rank, unequal, along one dimension, with holes.
  const auto shape = array::Shape::create({ranks * 10}).value();
  array::BoxList boxes(1);
  for (std::int64_t rank = 0; rank < ranks; ++rank) boxes.push_back({{rank * 10}, {rank % 10}});
  const auto held = array::ExplicitDistribution::create(
                        shape, std::vector<std::int64_t>(static_cast<std::size_t>(ranks), 1), boxes)
                        .value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  const Request request{Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
  const auto plan =
      Plan::create(request, nodes(), {Strategy::server_directed, 64, 1 << 18, 4096}).value();
  std::int64_t bytes = 0;
  for (std::int64_t aggregator = 0; aggregator < plan->aggregators(); ++aggregator) {
    AggregatorPieces pieces(plan, aggregator);
    for (Piece piece; pieces.next(piece);) {
      for (const Contributor& one : plan->contributors(piece)) bytes += one.bytes;
    }
  }
  EXPECT_EQ(bytes, ranks / 10 * 45 * 8 + (0 + 1 + 2 + 3 + 4 + 5) * 8);
}

}  // namespace
}  // namespace weir::plan
