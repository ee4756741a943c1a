#include "system/network_places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

using topology::NodePlace;
using topology::PlaceSource;

NodePlace place(const topology::NodePlaces& all, PlaceSource source) {
  return all.at(static_cast<std::size_t>(source));
}

std::optional<std::string> no_variable(const char* /*name*/) { return std::nullopt; }

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(NetworkPlaces, AreReadWhereTheSystemHasThem) {
  const TestFolder folder;
  const std::string root = folder.path("root");
  write(root + "/proc/sys/lnet/routes",
        "Routing disabled\nnet hops priority state router\ngni 1 0 up 10.0.0.1@tcp\n");
  write(root + "/etc/cray/xname", "x1000c0s5b1n0\n");
  const auto slurm = [](const char* name) -> std::optional<std::string> {
    const bool is_address = std::string(name) == "SLURM_TOPOLOGY_ADDR";
    return is_address ? "s0.n1" : "switch.node";
  };
  const auto all = network_places(std::nullopt, slurm, "n1", root);
  EXPECT_NE(place(all, PlaceSource::lnet), NodePlace{});
  EXPECT_EQ(place(all, PlaceSource::slurm), topology::place_by_slurm("s0.n1", "switch.node"));
  EXPECT_EQ(place(all, PlaceSource::cray), topology::place_by_cray("x1000c0s5b1n0"));
  write(root + "/proc/cray_xt/cname", "c0-0c1s2n3\n");
  EXPECT_EQ(place(network_places(std::nullopt, slurm, "n1", root), PlaceSource::cray),
            topology::place_by_cray("c0-0c1s2n3"))
      << "goes first";

  const auto one = network_places(PlaceSource::slurm, slurm, "n1", root);
  EXPECT_EQ(place(one, PlaceSource::lnet), NodePlace{}) << "was not asked";
  EXPECT_EQ(place(one, PlaceSource::cray), NodePlace{});
  EXPECT_NE(place(one, PlaceSource::slurm), NodePlace{});
}

TEST(NetworkPlaces, AreNotKnownWhereFilesAreMissingOrTooLong) {
  const TestFolder folder;
  const std::string root = folder.path("root");
  EXPECT_EQ(network_places(std::nullopt, no_variable, "n1", root), topology::NodePlaces{});
  EXPECT_EQ(place(network_places(std::nullopt, no_variable, "x1c0s0b0n0", root), PlaceSource::cray),
            topology::place_by_cray("x1c0s0b0n0"))
      << "the host's name";
  const std::string line = "gni 1 0 up 10.0.0.1@tcp\n";
  std::string routes;
  while (routes.size() + line.size() <= (1 << 20)) routes += line;
  routes.resize(1 << 20, '\n');
  write(root + "/proc/sys/lnet/routes", routes);
  EXPECT_NE(place(network_places(std::nullopt, no_variable, "n1", root), PlaceSource::lnet),
            NodePlace{});
  write(root + "/proc/sys/lnet/routes", routes + "\n");
  EXPECT_EQ(place(network_places(std::nullopt, no_variable, "n1", root), PlaceSource::lnet),
            NodePlace{});
}

TEST(NetworkPlaces, InfinibandsPortsHaveTheirLidsInSys) {
  const TestFolder folder;
  const std::string root = folder.path("root");
  EXPECT_TRUE(infiniband_lids(root).empty());
  const std::string sys = root + "/sys/class/infiniband/";
  write(sys + "mlx5_0/ports/1/lid", "0xb\n");
  write(sys + "mlx5_1/ports/1/lid", "0xbfff\n");
  write(sys + "mlx5_1/ports/2/lid", "0xc000\n");
  write(sys + "mlx5_2/ports/1/lid", "0x0\n");
  write(sys + "mlx5_3/ports/1/lid", "11\n");
  write(sys + "mlx5_4/ports/1/lid", "0xbx\n");
  write(sys + "mlx5_5/ports/1/state", "1: DOWN\n");
  auto lids = infiniband_lids(root);
  std::sort(lids.begin(), lids.end());
  EXPECT_EQ(lids, (std::vector<std::int64_t>{0xb, 0xbfff}));
}

TEST(NetworkPlaces, SoManyPortsOfInfinibandAreLookedAt) {
  const TestFolder folder;
  const std::string root = folder.path("root");
  for (int port = 1; port <= 256; ++port) {
    write(root + "/sys/class/infiniband/a/ports/" + std::to_string(port) + "/lid", "0x1\n");
  }
  EXPECT_EQ(infiniband_lids(root).size(), 256U);
  write(root + "/sys/class/infiniband/a/ports/257/lid", "0x1\n");
  EXPECT_EQ(infiniband_lids(root).size(), 256U);
}

}  // namespace
}  // namespace weir::storage
