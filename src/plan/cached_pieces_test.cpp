#include "plan/cached_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "plan/meeting_blocks.hpp"
#include "plan/planner.hpp"
#include "plan/test_requests.hpp"

namespace weir::plan {
namespace {

constexpr std::int64_t buffer_bytes = 8 << 10;

// Rows of `ranks` ranks on one node, of which each piece of the only aggregator has a few.
std::shared_ptr<const Plan> rows(std::int64_t pieces, Direction direction = Direction::write) {
  const auto shape = array::Shape::create({pieces, buffer_bytes / 8}).value();
  const auto held =
      array::RegularDistribution::create(shape,
                                         std::vector{array::DistributionFormat::whole_dimension(),
                                                     array::DistributionFormat::block_of()},
                                         {{1, 2}})
          .value();
  const auto image =
      FileImage::create(shape, array::ElementKind::int64, array::Order::row_major, 0).value();
  Parameters parameters;
  parameters.strategy = Strategy::two_phase;
  parameters.aggregators = 1;
  parameters.buffer_bytes = buffer_bytes;
  return Plan::create({direction, {{image, {held}, array::Section::of(shape.box()), 0}}},
                      topology::Topology::single_node(2).value(), parameters)
      .value();
}

template <typename Generator>
std::vector<PieceId> all_of(PieceOrder<Generator> order) {
  std::vector<PieceId> all;
  for (PieceId id; order.next(id);) all.push_back(id);
  return all;
}

std::vector<FileExtent> all_of(PieceExtents extents) {
  std::vector<FileExtent> all;
  for (FileExtent extent; extents.next(extent);) all.push_back(extent);
  return all;
}

array::Layout packed_memory(const Plan& plan, std::int64_t rank, std::int64_t offset = 0) {
  return array::Layout::packed(plan.part(0, rank, 0).local_extents(), 8, array::Order::row_major,
                               offset)
      .value();
}

TEST(CachedPieces, HasThePiecesOfThePlanInOrder) {
  for (const std::int64_t pieces : {1, 256, 257, 300}) {
    const auto plan = rows(pieces);
    CachedPieces cached(plan, 1);
    std::vector<PieceId> expected;
    RankPieces of_rank(plan, 1);
    for (PieceId id; of_rank.next(id);) expected.push_back(id);
    ASSERT_EQ(std::ssize(expected), pieces);
    EXPECT_EQ(all_of(cached.of_rank()), expected);
    EXPECT_EQ(all_of(cached.of_rank()), expected);
    EXPECT_EQ(all_of(cached.of_aggregator(0)), expected);
    EXPECT_EQ(all_of(cached.of_aggregator(0)), expected);
    EXPECT_EQ(cached.rank_of(0), plan->rank_of(0));
  }
}

TEST(CachedPieces, KeepsSoManyAndComputesTheOthers) {
  const auto plan = rows(300);
  CachedPieces cached(plan, 0);
  for (int step = 0; step < 2; ++step) {
    for (const PieceId& id : all_of(cached.of_rank())) {
      const Piece piece = cached.piece(id);
      EXPECT_EQ(piece.id, id);
      ASSERT_EQ(piece.slabs.size(), 1U);
      EXPECT_EQ(piece.slabs[0].section, plan->piece(id).slabs[0].section);
    }
    EXPECT_EQ(cached.kept_pieces(), 256U);
  }
  cached.forget_pieces();
  EXPECT_EQ(cached.kept_pieces(), 0U);
}

TEST(CachedPieces, HasTheSameSlabsAgain) {
  const auto plan = rows(3);
  CachedPieces cached(plan, 0);
  const PieceId first = all_of(cached.of_rank()).front();
  EXPECT_EQ(cached.piece(first).slabs.begin(), cached.piece(first).slabs.begin());
  const Piece held = cached.piece(first);
  cached.forget_pieces();
  EXPECT_NE(cached.piece(first).slabs.begin(), held.slabs.begin());
}

TEST(CachedPieces, CopiesAreThoseOfTheBlocks) {
  for (const Direction direction : {Direction::write, Direction::read}) {
    const auto plan = rows(4, direction);
    CachedPieces cached(plan, 1);
    // Memory of another layout comes with the third step.
    for (const std::int64_t offset : {0, 0, 4096}) {
      const array::Layout memory = packed_memory(*plan, 1, offset);
      const auto layout_of = [&](int, std::int64_t) -> const array::Layout& { return memory; };
      for (const PieceId& id : all_of(cached.of_rank())) {
        const Piece piece = cached.piece(id);
        const CachedPieces::Copies* const copies = cached.copies(piece, layout_of);
        ASSERT_NE(copies, nullptr);
        MeetingBlocks blocks(*plan, piece, 1);
        MeetingBlock block;
        ASSERT_TRUE(blocks.next(block));
        const array::StridedCopy copy = memory_to_buffer(block, memory, piece.slabs[0]);
        ASSERT_EQ(copies->runs.size(), 1U);
        EXPECT_EQ(copies->runs[0].in_memory, copy.from_offset);
        EXPECT_EQ(copies->runs[0].in_buffer, copy.to_offset);
        EXPECT_EQ(copies->runs[0].bytes, copy.bytes);
        EXPECT_EQ(copies->bytes, block.bytes);
      }
    }
  }
}

TEST(CachedPieces, HasNoCopiesOfWhatIsNotKept) {
  const auto plan = rows(257);
  CachedPieces cached(plan, 0);
  const array::Layout memory = packed_memory(*plan, 0);
  const auto layout_of = [&](int, std::int64_t) -> const array::Layout& { return memory; };
  std::int64_t without = 0;
  for (const PieceId& id : all_of(cached.of_rank())) {
    if (cached.copies(cached.piece(id), layout_of) == nullptr) ++without;
  }
  EXPECT_EQ(without, 1);
}

TEST(CachedPieces, ItemsAreBounded) {
  const auto plan = rows(256);
  CachedPieces cached(plan, 0);
  const array::Layout memory = packed_memory(*plan, 0);
  const auto layout_of = [&](int, std::int64_t) -> const array::Layout& { return memory; };
  std::int64_t copies = 0;
  // 256 slabs and twice as many contributors leave room for as many copies, and for no extent.
  for (int step = 0; step < 2; ++step) {
    copies = 0;
    for (const PieceId& id : all_of(cached.of_rank())) static_cast<void>(cached.piece(id));
    for (const PieceId& id : all_of(cached.of_rank())) {
      std::vector<Contributor> contributors;
      cached.find_contributors(cached.piece(id), contributors);
      EXPECT_EQ(contributors, plan->contributors(id));
    }
    for (const PieceId& id : all_of(cached.of_rank())) {
      if (cached.copies(cached.piece(id), layout_of) != nullptr) ++copies;
    }
    for (const PieceId& id : all_of(cached.of_rank())) {
      const Piece piece = cached.piece(id);
      EXPECT_EQ(all_of(cached.extents(piece, {})), all_of(PieceExtents(piece)));
    }
    EXPECT_EQ(copies, 256);
  }
}

TEST(CachedPieces, RandomRequestsAreAsThePlanHasThem) {
  RandomRequests random(260);
  int seed = 0;
  for (int planned = 0; planned < array::rounds(100); ++seed) {
    const Request request = random.request(random.chance(50) ? Direction::write : Direction::read);
    const auto topology = random.topology(request.ranks());
    const auto made = Plan::create(request, topology, random.parameters(8));
    if (!made || made.value()->aggregators() == 0) continue;
    ++planned;
    const auto& plan = made.value();
    const std::int64_t rank = plan->rank_of(0);
    CachedPieces cached(plan, rank);
    for (int step = 0; step < 2; ++step) {
      std::vector<PieceId> expected;
      AggregatorPieces pieces(plan, 0);
      for (PieceId id; pieces.next(id);) expected.push_back(id);
      ASSERT_EQ(all_of(cached.of_aggregator(0)), expected) << seed;
      for (const PieceId& id : expected) {
        const Piece piece = cached.piece(id);
        ASSERT_EQ(piece.bytes, plan->piece(id).bytes) << seed;
        std::vector<Contributor> contributors;
        cached.find_contributors(piece, contributors);
        ASSERT_EQ(contributors, plan->contributors(piece)) << seed;
        ASSERT_EQ(cached.contributors_on_node(piece),
                  plan->contributors_on(topology.node_of(rank), piece))
            << seed;
        const auto extents = plan->holds_everything(id) ? PieceExtents(piece)
                                                        : PieceExtents(*plan, piece, contributors);
        ASSERT_EQ(all_of(cached.extents(piece, contributors)), all_of(extents)) << seed;
      }
    }
  }
}

TEST(PlanCache, KeepsPiecesOfThePlansUsedLast) {
  Planner planner(topology::Topology::single_node(2).value(), {}, {}, 0);
  Overrides gathered;
  gathered.strategy = Strategy::two_phase;
  std::vector<std::shared_ptr<const Planned>> planned;
  const auto plan = [&](std::int64_t number) {
    planned.push_back(planner.plan(rows(number + 1)->request(), gathered).value());
    CachedPieces& pieces = *planned.back()->pieces;
    for (const PieceId& id : all_of(pieces.of_rank())) static_cast<void>(pieces.piece(id));
  };
  for (std::int64_t number = 0; number < 4; ++number) plan(number);
  EXPECT_GT(planned[0]->pieces->kept_pieces(), 0U);
  plan(4);
  EXPECT_EQ(planned[0]->pieces->kept_pieces(), 0U);
  EXPECT_GT(planned[1]->pieces->kept_pieces(), 0U);
  plan(0);  // is known, and drives out what is kept of the next one
  EXPECT_EQ(planned.back(), planned[0]);
  EXPECT_GT(planned[0]->pieces->kept_pieces(), 0U);
  EXPECT_EQ(planned[1]->pieces->kept_pieces(), 0U);
}

}  // namespace
}  // namespace weir::plan
