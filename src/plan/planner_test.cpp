#include "plan/planner.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "plan/test_requests.hpp"

namespace weir::plan {
namespace {

Request request_of(std::int64_t elements) {
  const auto shape = array::Shape::create({elements}).value();
  const auto held = array::RegularDistribution::create(
                        shape, std::vector{array::DistributionFormat::block_of()}, {{4}})
                        .value();
  const auto image =
      FileImage::create(shape, array::ElementKind::int64, array::Order::row_major, 0).value();
  return {Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
}

Planner planner(std::size_t plans) {
  return {topology::Topology::single_node(4).value(), {}, {}, 2, 0, plans};
}

TEST(Planner, PlansOnceWhatIsAskedForAgain) {
  Planner planning = planner(4);
  const auto first = planning.plan(request_of(1000), {}).value();
  // Made anew, and equal: distributions need not be shared for that.
  EXPECT_EQ(planning.plan(request_of(1000), {}).value(), first);
  EXPECT_EQ(planning.cache().hits(), 1);
  EXPECT_EQ(planning.cache().misses(), 1);
}

TEST(Planner, TellsRequestsApart) {
  Planner planning = planner(16);
  std::vector<Request> requests = {request_of(1000), request_of(1001)};
  requests.push_back(requests[0]);
  requests.back().direction = Direction::read;
  requests.push_back(requests[0]);
  requests.back().arrays[0].section.stride[0] = 2;
  requests.back().arrays[0].section.count[0] = 500;
  requests.push_back(requests[0]);
  requests.back().arrays[0].first_file = 1;
  requests.push_back(requests[0]);
  requests.back().arrays.push_back(requests[0].arrays[0]);
  std::vector<std::shared_ptr<const Planned>> planned;
  planned.reserve(requests.size() + 1);
  for (const Request& request : requests) planned.push_back(planning.plan(request, {}).value());
  Overrides direct;
  direct.strategy = Strategy::direct;
  planned.push_back(planning.plan(requests[0], direct).value());
  EXPECT_EQ(planning.cache().hits(), 0);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(planning.plan(requests[i], {}).value(), planned[i]) << i;
    EXPECT_EQ(planned[i]->plan->request(), requests[i]) << i;
  }
  EXPECT_EQ(planned.back()->plan->parameters().strategy, Strategy::direct);
  Overrides placed;
  placed.placement = topology::PlacementRule::nearest;
  EXPECT_EQ(planning.plan(requests[0], placed).value()->plan->parameters().placement,
            topology::PlacementRule::nearest);
  Overrides staged;
  for (const Stagers& stagers :
       {Stagers{}, Stagers{.count = 2}, Stagers{.on_other_nodes = true}, Stagers{.exist = false}}) {
    staged.stagers = stagers;
    EXPECT_EQ(planning.plan(requests[0], staged).value()->choice.staged->stagers, stagers);
  }
}

TEST(Planner, AlignsToWhereTheFilesOfARequestLie) {
  Planner planning = planner(4);
  Overrides striped;
  striped.strategy = Strategy::node_aggregation;
  striped.targets = topology::FileTargets{1, 3 << 20, 2 << 20};
  const auto planned = planning.plan(request_of(1 << 24), striped).value();
  EXPECT_EQ(planned->plan->parameters().alignment, 6 << 20);
  striped.targets->lock_bytes = 0;
  const auto without_locks = planning.plan(request_of(1 << 24), striped).value();
  EXPECT_EQ(without_locks->plan->parameters().alignment, 3 << 20);
  striped.alignment = 1 << 16;  // given, so not of stripes
  EXPECT_EQ(planning.plan(request_of(1 << 24), striped).value()->plan->parameters().alignment,
            1 << 16);
  EXPECT_EQ(planning.cache().hits(), 0);
}

TEST(Planner, TellsHowArraysOfTheLatestRequestsDiffer) {
  Planner planning = planner(4);
  Request request = request_of(1000);
  for (const std::int64_t offset : {8000, 16000}) {
    request.arrays.push_back(request.arrays[0]);
    request.arrays.back().image = request.arrays[0].image.dense()->at(offset);
  }
  request.arrays.push_back(request.arrays.back());
  request.arrays.back().section.count[0] = 999;
  request.arrays.push_back(request.arrays.back());
  request.arrays.back().in_bundles = false;
  const auto planned = planning.plan(request, {}).value();
  int asked = 0;
  const auto found = planning.known({}, [&](const CachedRequest& known) {
    ++asked;
    EXPECT_EQ(known.request(), request);
    EXPECT_EQ(known.dense_offset(2), 16000);
    const std::vector<bool> like_before = {false, true, true, false, false};
    for (std::size_t i = 0; i < like_before.size(); ++i) {
      EXPECT_EQ(known.is_like_before(i), like_before[i]) << i;
    }
    return true;
  });
  EXPECT_EQ(found, planned);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(planning.known({}, [](const CachedRequest&) { return false; }), nullptr);
}

TEST(Planner, KeepsThoseUsedLast) {
  Planner planning = planner(2);
  const auto one = planning.plan(request_of(1), {}).value();
  const auto two = planning.plan(request_of(2), {}).value();
  EXPECT_EQ(planning.plan(request_of(1), {}).value(), one);
  static_cast<void>(planning.plan(request_of(3), {}));  // in the place of 2
  EXPECT_EQ(planning.cache().size(), 2U);
  EXPECT_EQ(planning.plan(request_of(1), {}).value(), one);
  EXPECT_NE(planning.plan(request_of(2), {}).value(), two);
}

TEST(Planner, FailuresAreNotKept) {
  Planner planning = planner(2);
  Request outside = request_of(10);
  outside.arrays[0].section.count[0] = 11;
  EXPECT_FALSE(planning.plan(outside, {}).ok());
  EXPECT_EQ(planning.cache().size(), 0U);
}

TEST(Planner, AsksItsChooserOnceForEachRequest) {
  static int asked = 0;
  asked = 0;
  Planner planning = planner(2);
  planning.set_chooser([](const Request& request, const topology::Topology& topology,
                          const topology::FileTargets& targets, const PlatformRates& rates,
                          const Overrides& overrides) {
    ++asked;
    return choose(request, topology, targets, rates, overrides);
  });
  EXPECT_EQ(planning.plan(request_of(10), {}).value()->choice.explain(),
            planner(2).plan(request_of(10), {}).value()->choice.explain());
  static_cast<void>(planning.plan(request_of(10), {}));
  EXPECT_EQ(asked, 1);
  static_cast<void>(planning.plan(request_of(11), {}));
  EXPECT_EQ(asked, 2);
}

TEST(SharedDistribution, EqualOnesAreEqualHoweverMade) {
  RandomRequests random(250);
  for (int round = 0; round < array::rounds(200); ++round) {
    const auto shape = random.shape();
    const array::Distribution distribution = random.distribution(shape);
    const SharedDistribution a(distribution);
    const SharedDistribution b(distribution);
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.fingerprint(), b.fingerprint());
    const SharedDistribution other(random.distribution(shape));
    EXPECT_EQ(a == other, *a == *other);
  }
}

}  // namespace
}  // namespace weir::plan
