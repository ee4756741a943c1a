#include "rates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "array/regular_distribution.hpp"
#include "plan/choice.hpp"
#include "plan/file_image.hpp"

namespace weir::sim {
namespace {

Part part(const char* name, Users users, std::int64_t units, double bytes_per_second) {
  Part part;
  part.name = name;
  part.users = users;
  part.units = units;
  part.bytes_per_second = bytes_per_second;
  return part;
}

Description machine() {
  Description asked;
  asked.nodes = 128;
  asked.ranks_per_node = 4;
  asked.nodes_per_group = 64;
  asked.parts = {part("tree", Users::group, 2, 7e8), part("link", Users::group, 2, 6e8),
                 part("server", Users::stripe, 8, 1e9), part("target", Users::stripe, 4, 1e8)};
  asked.parts.front().operation_seconds = 131e-6;
  asked.parts.front().copy_bytes_per_second = 16e8;
  asked.messages = {4e8, 3e-6, {}};
  asked.buffer_bytes = 2 << 20;
  asked.stripe_bytes = 1 << 20;
  return asked;
}

TEST(Rates, AreThoseOfTheParts) {
  const auto rates = rates_of(machine(), 1 << 30);
  EXPECT_TRUE(rates.by_flows);
  EXPECT_EQ(rates.write, rates.read);
  EXPECT_TRUE(rates.write.turns.of_io_groups);
  EXPECT_EQ(rates.write.turns.call_seconds, 131e-6);
  EXPECT_EQ(rates.write.turns.bytes_per_second, 16e8);
  EXPECT_EQ(rates.write.group_bytes_per_second, 6e8);
  EXPECT_EQ(rates.write.storage_bytes_per_second, 4 * 1e8);
  EXPECT_EQ(rates.write.core_bytes_per_second, 2 * 1e8) << "a piece lies on two targets";
  EXPECT_TRUE(std::isinf(rates.write.node_bytes_per_second));
  EXPECT_EQ(rates.link_bytes_per_second, 4e8);
  EXPECT_EQ(rates.message_seconds, 3e-6);
  EXPECT_TRUE(std::isinf(rates.core_copy_bytes_per_second)) << "copies take no time";
}

TEST(Rates, OfAPieceOfAStripeOrOfAWholeShare) {
  auto asked = machine();
  asked.buffer_bytes = 1;
  EXPECT_EQ(rates_of(asked, 1).write.core_bytes_per_second, 1e8);
  asked.buffer_bytes = 0;
  EXPECT_EQ(rates_of(asked, 1).write.core_bytes_per_second, 4 * 1e8);
}

TEST(Rates, OfCopiesAreThoseForTheBytesOfARank) {
  auto asked = machine();
  asked.copies = {{1000, 4e9, 3e9}, {std::numeric_limits<std::int64_t>::max(), 2e9, 1e9}};
  EXPECT_EQ(rates_of(asked, 1000 * asked.ranks()).node_copy_bytes_per_second, 4e9);
  EXPECT_EQ(rates_of(asked, 1001 * asked.ranks()).core_copy_bytes_per_second, 1e9);
}

TEST(Rates, MakeAnotherChoiceThanThoseOfASmallMachine) {
  // Rows of 64 KiB: a call for each is nothing on a small machine, and most of the time here.
  auto asked = machine();
  asked.parts.back().bytes_per_second = 1e9;
  const auto shape = array::Shape::create({64, asked.ranks() << 16}).value();
  const std::vector<array::DistributionFormat> formats = {
      array::DistributionFormat::whole_dimension(), array::DistributionFormat::block_of()};
  const auto held =
      array::RegularDistribution::create(shape, formats, {{1, asked.ranks()}}).value();
  const plan::Image image =
      plan::FileImage::create(shape, array::ElementKind::uint8, array::Order::row_major, 0).value();
  const plan::Request request{Direction::write,
                              {{image, {held}, array::Section::of(shape.box()), 0}}};
  const auto topology = topology::Topology::filled(asked.ranks(), asked.ranks_per_node)
                            .value()
                            .with_io_groups(asked.nodes_per_group)
                            .value();
  const auto chosen = [&](const plan::PlatformRates& rates) {
    return plan::choose(request, topology, {}, rates, {}).value().parameters().strategy;
  };
  EXPECT_EQ(chosen({}), plan::Strategy::direct);
  EXPECT_NE(chosen(rates_of(asked, request.bytes())), plan::Strategy::direct);
}

}  // namespace
}  // namespace weir::sim
