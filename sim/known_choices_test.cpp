#include "known_choices.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "array/regular_distribution.hpp"
#include "plan/file_image.hpp"

namespace weir::sim {
namespace {

// Everything that a choice depends on.
struct Question {
  plan::Request request;
  topology::Topology topology = topology::Topology::filled(8, 4).value();
  topology::FileTargets targets = {};
  plan::PlatformRates rates = {};
  plan::Overrides overrides = {};
};

plan::Request rows_of_ranks(std::int64_t bytes) {
  const auto shape = array::Shape::create({8 * bytes}).value();
  const std::vector formats = {array::DistributionFormat::block_of()};
  const array::Distribution held =
      array::RegularDistribution::create(shape, formats, {.extents = {8}}).value();
  const plan::Image image =
      plan::FileImage::create(shape, array::ElementKind::uint8, array::Order::row_major, 0).value();
  return {Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
}

Question question() { return {.request = rows_of_ranks(1 << 20)}; }

// Returns how often the answers were worked out anew, after comparing them with plan::choose().
std::int64_t made_for(const Question& first, const Question& second) {
  KnownChoices choices;
  for (const Question* asked : {&first, &second, &first, &second}) {
    const auto& [request, topology, targets, rates, overrides] = *asked;
    const auto choice = choices.choose(request, topology, targets, rates, overrides);
    EXPECT_EQ(choice.value().explain(),
              plan::choose(request, topology, targets, rates, overrides).value().explain());
  }
  return choices.made();
}

TEST(KnownChoices, WhatIsAskedAgainIsChosenOnce) {
  // The second question is made anew, and equal to the first.
  EXPECT_EQ(made_for(question(), question()), 1);
}

TEST(KnownChoices, QuestionsThatDifferInAnythingAreToldApart) {
  const auto made_with = [](const auto& change) {
    Question other = question();
    change(other);
    return made_for(question(), other);
  };
  EXPECT_EQ(made_with([](Question& one) { one.request = rows_of_ranks(4096); }), 2);
  EXPECT_EQ(made_with([](Question& one) { one.request.direction = Direction::read; }), 2);
  EXPECT_EQ(
      made_with([](Question& one) { one.topology = topology::Topology::filled(8, 2).value(); }), 2);
  EXPECT_EQ(made_with([](Question& one) { one.targets.stripe_bytes = 3 << 20; }), 2);
  EXPECT_EQ(made_with([](Question& one) { one.rates.origin = "another machine"; }), 2);
  EXPECT_EQ(made_with([](Question& one) { one.overrides.strategy = plan::Strategy::direct; }), 2);
}

TEST(KnownChoices, FailuresAreKept) {
  Question bad = question();
  bad.request.arrays[0].section.count[0] = 1 << 30;
  KnownChoices choices;
  for (int asked = 0; asked < 2; ++asked) {
    EXPECT_FALSE(
        choices.choose(bad.request, bad.topology, bad.targets, bad.rates, bad.overrides).ok());
  }
  EXPECT_EQ(choices.made(), 1);
}

}  // namespace
}  // namespace weir::sim
