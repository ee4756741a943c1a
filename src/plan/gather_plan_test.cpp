#include "plan/gather_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "array/test_random.hpp"

namespace weir::plan {
namespace {

using array::Indices;
using array::Region;

array::ChunkGrid random_chunks(array::Random& random, const array::Shape& shape) {
  Indices extents = shape.extents();
  const bool whole = random.chance(40);
  for (std::int64_t& extent : extents) {
    extent = std::max<std::int64_t>(1, whole ? extent : random.between(1, extent + 1));
  }
  return array::ChunkGrid::create(shape, extents).value();
}

// Pieces hold every element once, fit into the buffer, and lie in their chunk's bytes as a packed
// array without gaps.
TEST(PieceGrid, CutsChunksIntoContiguousBoxes) {
  array::Random random(300);
  for (int round = 0; round < 600; ++round) {
    const array::Shape shape = random.shape();
    const auto chunks = random_chunks(random, shape);
    const array::Order order = random.order();
    const std::int64_t bytes = random.between(8, 300);
    const auto grid = PieceGrid::create(chunks, 8, order, bytes).value();
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> byte_of;  // chunk, byte
    for (std::int64_t piece = 0; piece < grid.pieces(); ++piece) {
      const array::Box box = grid.box(piece);
      if (box.empty()) continue;
      ASSERT_LE(box.elements() * 8, bytes) << "round " << round;
      const auto inside = array::Shape::create(box.extent).value();
      for (const Indices& place : array::all_elements(inside)) {
        Indices index = place;
        for (int d = 0; d < index.size(); ++d) index[d] += box.lower[d];
        ASSERT_EQ(grid.piece_at(index), piece) << "round " << round;
        const array::Box chunk = chunks.box(grid.chunk_of(piece));
        Indices in_chunk = index;
        for (int d = 0; d < index.size(); ++d) in_chunk[d] -= chunk.lower[d];
        const std::int64_t expected =
            8 * array::linear_number(array::Shape::create(chunk.extent).value(), order, in_chunk);
        ASSERT_EQ(grid.byte_in_chunk(piece) + grid.buffer_layout(box).offset_of(place), expected)
            << "round " << round;
        ASSERT_TRUE(byte_of.emplace(std::pair(grid.chunk_of(piece), expected), 1).second);
      }
    }
    ASSERT_EQ(static_cast<std::int64_t>(byte_of.size()), shape.elements());
  }
}

TEST(PieceGrid, RefusesBuffersBelowOneElement) {
  const auto shape = array::Shape::create({10}).value();
  const auto chunks = array::ChunkGrid::create(shape, {10}).value();
  EXPECT_FALSE(PieceGrid::create(chunks, 8, array::Order::row_major, 7).ok());
}

// All ranks' shares together are what the aggregators wait for; no two pieces of an aggregator have
// one turn, and its duties are in the order of turns.
TEST(GatherPlan, SharesAndDutiesAgree) {
  array::Random random(310);
  for (int round = 0; round < 600; ++round) {
    const array::Shape shape = random.shape();
    const array::Distribution memory = random.regular(shape);
    const Region asked_for =
        random.chance(60) ? Region(random.section(shape)) : Region(shape.box());
    const auto grid =
        PieceGrid::create(random_chunks(random, shape), 8, random.order(), random.between(8, 300))
            .value();
    const std::int64_t aggregators = random.between(1, 5);
    const PieceDomains domains(grid, asked_for, aggregators);
    const std::int64_t first_turn = random.between(0, 100);
    std::map<std::int64_t, std::int64_t> given;  // elements by piece
    for (std::int64_t rank = 0; rank < memory.ranks(); ++rank) {
      const GatherPlan plan = gather_plan(domains, memory, asked_for, rank, -1, first_turn);
      std::pair<std::int64_t, std::int64_t> last(-1, -1);
      for (const Share& share : plan.shares) {
        ASSERT_LT(last, std::pair(share.turn, share.aggregator)) << "round " << round;
        last = {share.turn, share.aggregator};
        const Region wanted = asked_for.clipped(grid.box(share.piece));
        given[share.piece] += array::common_elements(memory.piece(rank, 0), wanted);
        ASSERT_EQ(share.count, 1);
      }
    }
    std::int64_t gathered = 0;
    for (std::int64_t aggregator = 0; aggregator < aggregators; ++aggregator) {
      const GatherPlan plan =
          gather_plan(domains, memory, asked_for, memory.ranks(), aggregator, first_turn);
      std::int64_t last_turn = first_turn - 1;
      for (const Duty& duty : plan.duties) {
        ASSERT_GT(duty.turn, last_turn) << "round " << round;
        ASSERT_LT(duty.turn, first_turn + domains.turns()) << "round " << round;
        last_turn = duty.turn;
        ASSERT_EQ(domains.aggregator_of(duty.piece), aggregator);
        const std::int64_t expected =
            elements_held(memory, asked_for.clipped(grid.box(duty.piece)));
        ASSERT_GT(expected, 0) << "round " << round;
        ASSERT_EQ(given[duty.piece], expected) << "round " << round;
        gathered += expected;
      }
    }
    ASSERT_EQ(gathered, asked_for.elements()) << "round " << round;
  }
}

TEST(GatherPlan, CountsElementsOfExplicitBoxesByRank) {
  const auto shape = array::Shape::create({10, 10}).value();
  array::BoxList boxes(2);
  boxes.push_back({{0, 0}, {5, 5}});
  boxes.push_back({{5, 5}, {5, 5}});
  boxes.push_back({{0, 5}, {2, 5}});
  const std::vector<std::int64_t> per_rank = {2, 0, 1};
  const array::Distribution memory =
      array::ExplicitDistribution::create(shape, per_rank, boxes).value();
  const auto found = elements_by_rank(memory, Region(array::Box{{0, 0}, {6, 10}}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].elements, 30);
  EXPECT_EQ(found[1].rank, 2);
  EXPECT_EQ(found[1].elements, 10);
}

}  // namespace
}  // namespace weir::plan
