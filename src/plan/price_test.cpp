// Prices of an array whose pieces have hundreds of thousands of chunks: what they look at is
// bounded, and they tell what a look at every chunk would.
#include "plan/price.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "common/counted_memory.hpp"
#include "plan/choice.hpp"
#include "plan/piece_sample.hpp"
#include "plan/rank_pieces.hpp"

namespace weir::plan {
namespace {

constexpr std::int64_t small_chunks = 1'000'000;
constexpr std::int64_t four_ranks = 4;
// One aggregator, whose buffer has room for more chunks than a unit gets.
constexpr Parameters one_aggregator = {Strategy::two_phase, 1, 2 << 20, 4096};
constexpr std::int64_t chunks_in_piece = small_chunks / 4;

topology::Topology nodes_of_two() { return topology::Topology::filled(four_ranks, 2).value(); }

// The places of chunks of 4 bytes: of `together` chunks each follows the one before it in the file,
// and a gap that no call passes comes behind them.
array::ChunkTable places_of_runs(std::int64_t together) {
  std::vector<array::ChunkTable::Run> runs;
  for (std::int64_t first = 0; first < small_chunks; first += together) {
    const std::int64_t count = std::min(together, small_chunks - first);
    runs.push_back({first, count, {0, first * (std::int64_t{1} << 20)}, count > 1 ? 4 : 0});
  }
  return array::ChunkTable::of(runs);
}

Request in_small_chunks(const array::ChunkTable& places, const array::Section& section) {
  const auto shape = array::Shape::create({1000, small_chunks / 1000}).value();
  const auto grid = array::ChunkGrid::create(shape, {1, 1}).value();
  const std::vector<array::DistributionFormat> formats(2, array::DistributionFormat::block_of());
  const auto held = array::RegularDistribution::create(shape, formats, {{2, 2}}).value();
  const auto image = ChunkedImage::at(grid, array::ElementKind::int32, array::Order::row_major,
                                      places, 1, array::Indices{1, 1})
                         .value();
  return {Direction::read, {{image, {held}, section, 0}}};
}

Request all_in_small_chunks(std::int64_t together) {
  const array::Box all{{0, 0}, {1000, small_chunks / 1000}};
  return in_small_chunks(places_of_runs(together), array::Section::of(all));
}

TEST(SlabSample, IsBoundedAndStandsForTheWholePiece) {
  const array::Section every_seventh{{3, 1}, {142, 300}, {7, 3}};
  const array::Section one_row{{777, 0}, {1, 1000}, {1, 1}};
  const array::Section last_chunk{{999, 999}, {1, 1}, {1, 1}};
  const array::Section all = array::Section::of(array::Box{{0, 0}, {1000, 1000}});
  for (const array::Section& section : {all, every_seventh, one_row, last_chunk}) {
    const Request request = in_small_chunks(places_of_runs(2), section);
    const auto plan = Plan::create(request, nodes_of_two(), one_aggregator).value();
    AggregatorPieces pieces(plan, 0);
    std::int64_t bytes = 0;
    for (PieceId id; pieces.next(id);) {
      const Piece piece = plan->piece(id);
      const SlabSample sample = slab_sample(*plan, id, 1024);
      EXPECT_EQ(sample.bytes, piece.bytes);
      std::set<std::int64_t> places;
      std::int64_t sampled = 0;
      for (const Piece& stretch : sample.stretches) {
        EXPECT_GT(stretch.slabs.size(), 0U);
        for (const Slab& slab : stretch.slabs) places.insert(slab.in_file.bounds().lower);
        sampled += stretch.bytes;
      }
      EXPECT_LE(sampled, 4 * 1024);
      EXPECT_EQ(std::ssize(places) * 4, sampled) << "no chunk is there twice";
      EXPECT_NEAR(static_cast<double>(sampled) * sample.times, static_cast<double>(piece.bytes),
                  1e-6 * static_cast<double>(piece.bytes));
      bytes += piece.bytes;
    }
    EXPECT_EQ(bytes, section.elements() * 4);
  }
}

TEST(SlabSample, OfFewChunksIsThePiece) {
  const Request request = all_in_small_chunks(2);
  const auto plan = Plan::create(request, nodes_of_two(), one_aggregator).value();
  PieceId id;
  ASSERT_TRUE(AggregatorPieces(plan, 0).next(id));
  EXPECT_EQ(slab_sample(*plan, id, chunks_in_piece - 1).stretches.size(),
            (chunks_in_piece - 1) / 64);
  const SlabSample all = slab_sample(*plan, id, chunks_in_piece);
  EXPECT_EQ(all.times, 1);
  ASSERT_EQ(all.stretches.size(), 1U);
  EXPECT_EQ(all.stretches[0].slabs.size(), static_cast<std::size_t>(chunks_in_piece));
}

TEST(Price, OfAMillionChunksHasTheCallsThatReadThem) {
  for (const std::int64_t together : {1, 2, 8, 1000, 250'000}) {
    const Request request = all_in_small_chunks(together);
    const auto topology = nodes_of_two();
    const topology::FileTargets targets;
    const PlatformRates rates;
    const auto pricing = Pricing::create(request, topology, targets, rates).value();
    const Price price = pricing.price(one_aggregator).value();
    const auto calls = static_cast<double>(small_chunks) / static_cast<double>(together);
    // A stretch of 64 chunks, or the end of one, may be all that is seen of a run.
    const double tolerance = together < 64 ? 0.1 * calls : 0.02 * static_cast<double>(small_chunks);
    EXPECT_NEAR(static_cast<double>(price.calls), calls, tolerance) << together;
    EXPECT_GE(price.calls, 4);
  }
}

TEST(Price, OfAMillionChunksLooksAtFewOfThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' memory is not counted";
#endif
  const Request request = all_in_small_chunks(2);
  reset_most_live_bytes();
  const std::size_t before = live_bytes();
  const auto choice = choose(request, nodes_of_two(), {}, {}, {});
  const std::size_t bytes = most_live_bytes() - before;
  ASSERT_TRUE(choice.ok());
  EXPECT_GT(choice.value().prices.size(), 1U);
  EXPECT_LT(bytes, 5000 * sizeof(Slab)) << "the slabs of one piece are fifty times as many";
}

TEST(Price, OfAMillionChunksCountsSharesSeparatelyWhereRanksLeaveHoles) {
  Request request = all_in_small_chunks(2);
  array::BoxList boxes(2);
  for (std::int64_t rank = 0; rank < four_ranks; ++rank) {
    boxes.push_back(array::Box{{rank * 250, 0}, {125, 1000}});
  }
  const array::Shape shape = request.arrays[0].shape();
  request.arrays[0].memory = array::Distribution(
      array::ExplicitDistribution::create(shape, std::vector<std::int64_t>(four_ranks, 1), boxes)
          .value());
  const auto topology = nodes_of_two();
  const topology::FileTargets targets;
  const PlatformRates rates;
  const auto pricing = Pricing::create(request, topology, targets, rates).value();
  const Price price = pricing.price(one_aggregator).value();
  EXPECT_NEAR(static_cast<double>(price.bytes_per_call), 4, 0.5);
  EXPECT_NEAR(static_cast<double>(price.calls), 1e6, 1e5);
}

}  // namespace
}  // namespace weir::plan
