#include "system/network_places.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weir::storage
