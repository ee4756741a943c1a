#include "plan/file_windows.hpp"

#include <gtest/gtest.h>

#include "plan/choice.hpp"
#include "plan/meeting_blocks.hpp"
#include "plan/rank_pieces.hpp"

namespace weir::plan {
namespace {

// Every `stride`th of 1024 columns, of 64 rows of float64 that 4 ranks hold by rows.
Request columns(Direction direction, std::int64_t stride) {
  const array::Shape shape = array::Shape::create({64, 1024}).value();
  const std::vector<array::DistributionFormat> rows = {
      array::DistributionFormat::block_of(), array::DistributionFormat::whole_dimension()};
  const array::Distribution held =
      array::RegularDistribution::create(shape, rows, {{4, 1}, array::Order::row_major}).value();
  const Image image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  return {direction, {{image, held, {{0, 0}, {64, 1024 / stride}, {1, stride}}, 0}}};
}

std::shared_ptr<const Plan> plan_of(const Request& request, Strategy strategy, std::int64_t nodes) {
  Parameters parameters;
  parameters.strategy = strategy;
  return Plan::create(request, topology::Topology::filled(4, 4 / nodes).value(), parameters)
      .value();
}

struct Moved {
  std::int64_t windows = 0;
  std::int64_t extents = 0;
  std::int64_t bytes = 0;
};

Moved moved(const std::shared_ptr<const Plan>& plan, std::int64_t gap) {
  Moved sum;
  AggregatorPieces pieces(plan, 0);
  for (Piece piece; pieces.next(piece);) {
    FileWindows windows(PieceExtents(piece), gap);
    for (FileWindow window; windows.next(window); ++sum.windows) {
      sum.extents += static_cast<std::int64_t>(window.extents.size());
      sum.bytes += window.bytes();
      EXPECT_LE(window.bytes(), 512 << 10);
    }
  }
  return sum;
}

TEST(FileWindows, JoinShortExtentsThatAreClose) {
  const auto plan = plan_of(columns(Direction::write, 2), Strategy::two_phase, 1);
  const Moved together = moved(plan, widest_gap(*plan, 0, {}));
  EXPECT_EQ(together.extents, 64 * 512);
  EXPECT_LT(together.windows, 10);
  EXPECT_GE(together.bytes, (64 * 1024 - 10) * 8);
  const Moved alone = moved(plan, -1);
  EXPECT_EQ(alone.windows, 64 * 512);
  EXPECT_EQ(alone.bytes, 64 * 512 * 8);
  EXPECT_EQ(moved(plan, 7).windows, 64 * 512);
  EXPECT_LT(moved(plan, 8).windows, 10);
}

TEST(FileWindows, AreChangedOnlyWhereNobodyElseWrites) {
  const Request once = columns(Direction::write, 2);
  EXPECT_GT(widest_gap(*plan_of(once, Strategy::node_aggregation, 1), 0, {}), 0);
  EXPECT_GT(widest_gap(*plan_of(once, Strategy::two_phase, 2), 0, {}), 0);
  EXPECT_EQ(widest_gap(*plan_of(once, Strategy::node_aggregation, 2), 0, {}), -1);
  const Request read = columns(Direction::read, 2);
  EXPECT_GT(widest_gap(*plan_of(read, Strategy::node_aggregation, 2), 0, {}), 0);
  Request twice = once;
  twice.arrays.push_back(once.arrays[0]);
  EXPECT_EQ(widest_gap(*plan_of(twice, Strategy::two_phase, 1), 1, {}), -1);
  twice.arrays[1].first_file = 1;
  EXPECT_GT(widest_gap(*plan_of(twice, Strategy::two_phase, 1), 1, {}), 0);
}

TEST(FileWindows, AreEstimatedAsTheyAre) {
  const std::int64_t gap = 4096;
  for (const std::int64_t stride : {1, 2, 16, 512}) {
    const auto plan = plan_of(columns(Direction::write, stride), Strategy::two_phase, 1);
    AggregatorPieces pieces(plan, 0);
    Piece piece;
    ASSERT_TRUE(pieces.next(piece));
    double windows = 0;
    double bytes = 0;
    for (const Slab& slab : piece.slabs) {
      const WindowEstimate estimate = estimate_windows(buffer_to_file(slab), gap);
      windows += estimate.windows;
      bytes += estimate.bytes;
    }
    const Moved real = moved(plan, gap);
    EXPECT_NEAR(windows, static_cast<double>(real.windows), 1 + 0.2 * windows) << stride;
    EXPECT_NEAR(bytes, static_cast<double>(real.bytes), 0.1 * bytes) << stride;
  }
}

TEST(FileWindows, MakeAggregatorsCheaperThanAColumnAtATime) {
  Overrides overrides;
  overrides.buffer_bytes = 512 << 10;
  const auto choice = choose(columns(Direction::write, 2), topology::Topology::filled(4, 4).value(),
                             {}, {}, overrides);
  EXPECT_EQ(choice.value().parameters().strategy, Strategy::node_aggregation);
}

}  // namespace
}  // namespace weir::plan
