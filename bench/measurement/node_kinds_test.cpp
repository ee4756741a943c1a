#include "measurement/node_kinds.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measurement/system_text.hpp"

namespace weir::bench {
namespace {

using nlohmann::json;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

json description() {
  return {{"hardware",
           {{"described_host", "n1"},
            {"processor", {{"model", "A"}, {"cores", 16}}},
            {"memory", {{"bytes", 64 * gibibyte}}},
            {"network", {{"eth0", {{"megabits_per_second", 100'000}}}}}}},
          {"system_software",
           {{"kernel", "6.1.1"},
            {"libraries", {{"libmpi", "40"}, {"libz", "1.2"}}},
            {"mpi_parameters", {{"pml", "ob1"}}},
            {"scheduler", {{"name", "Slurm"}}}}},
          {"file_system",
           {{"type", "nfs4"},
            {"options", "rw,clientaddr=10.0.0.1,hard"},
            {"available_bytes", 1},
            {"layout", "unknown"}}}};
}

TEST(NodeDifference, HasWhatWasChangedAddedAndRemoved) {
  json mine = description();
  mine["system_software"]["kernel"] = "6.1.4";
  mine["hardware"]["processor"] = {{"model", "B"}, {"cores", 16}};
  mine["hardware"]["network"]["ib0"] = {{"model", "MT4123"}};
  mine["hardware"]["network"].erase("eth0");
  mine["file_system"]["options"] = "rw,clientaddr=10.0.0.1,soft";
  const json expected = {{"system_software", {{"kernel", "6.1.4"}}},
                         {"hardware",
                          {{"processor", {{"model", "B"}}},
                           {"network", {{"ib0", {{"model", "MT4123"}}}, {"eth0", nullptr}}}}},
                         {"file_system", {{"options", "rw,soft"}}}};
  EXPECT_EQ(node_difference(description(), mine), expected);
}

TEST(NodeDifference, IsEmptyForWhatDiffersBetweenEqualNodesToo) {
  json mine = description();
  mine["hardware"]["described_host"] = "n2";
  mine["system_software"]["libraries"] = {{"libmpi", "40"}, {"libhwloc", "15"}};
  mine["system_software"]["mpi_parameters"] = {{"io", "ompio"}};
  mine["system_software"]["scheduler"] = {{"name", "none"}};
  mine["file_system"]["options"] = "rw,clientaddr=10.0.0.2,hard";
  mine["file_system"]["available_bytes"] = 2;
  mine["file_system"]["layout"] = {{"stripe_count", 4}};
  EXPECT_EQ(node_difference(description(), mine), json::object());
}

TEST(NodeDifference, OfMemoryBeginsBeyondA64th) {
  json mine = description();
  mine["hardware"]["memory"]["bytes"] = 63 * gibibyte;
  EXPECT_EQ(node_difference(description(), mine), json::object());
  mine["hardware"]["memory"]["bytes"] = 63 * gibibyte - 1;
  const json rounded = {{"hardware", {{"memory", {{"bytes", 63 * gibibyte}}}}}};
  EXPECT_EQ(node_difference(description(), mine), rounded);
  mine["hardware"]["memory"]["bytes"] = "unknown";
  EXPECT_EQ(node_difference(description(), mine)["hardware"]["memory"]["bytes"], "unknown");
}

TEST(NodeDifference, NeedsNoPartOfADescription) {
  EXPECT_EQ(node_difference(json::object(), json::object()), json::object());
  json hardware = description()["hardware"];
  hardware.erase("described_host");
  EXPECT_EQ(node_difference({{"hardware", "unknown"}}, description())["hardware"], hardware);
}

json kernel(const std::string& version) { return {{"system_software", {{"kernel", version}}}}; }

// Adds nodes one after the other, which have these differences.
NodeKinds kinds_of(const std::vector<json>& differences) {
  NodeKinds kinds;
  std::int64_t place = 0;
  for (const json& one : differences) kinds.add(NodeKinds::of_node(place++, one));
  return kinds;
}

TEST(NodeKinds, CountsEqualNodesAndPlacesTheOthers) {
  const json same = json::object();
  const json record =
      kinds_of({same, kernel("b"), kernel("b"), same, kernel("c"), kernel("b")}).record();
  const json expected = {{"described", 6},
                         {"alike", 2},
                         {"unlisted", 0},
                         {"kinds",
                          {{{"nodes", 3},
                            {"places", {{1, 2}, {5, 5}}},
                            {"differences", kernel("b")},
                            {"left_out", json::array()}},
                           {{"nodes", 1},
                            {"places", json::array({{4, 4}})},
                            {"differences", kernel("c")},
                            {"left_out", json::array()}}}}};
  EXPECT_EQ(record, expected);
  EXPECT_EQ(NodeKinds::from_record(record).record(), record);
}

TEST(NodeKinds, KeepsTheKindsWithTheMostNodes) {
  NodeKinds kinds;
  std::int64_t place = 0;
  for (std::size_t kind = 0; kind < most_node_kinds; ++kind) {
    for (int node = 0; node < 2; ++node) {
      kinds.add(NodeKinds::of_node(place++, kernel(std::to_string(kind))));
    }
  }
  EXPECT_EQ(kinds.record()["kinds"].size(), most_node_kinds);
  EXPECT_EQ(kinds.record()["unlisted"], 0);
  kinds.add(NodeKinds::of_node(place++, kernel("one too many")));
  const json record = kinds.record();
  EXPECT_EQ(record["kinds"].size(), most_node_kinds);
  EXPECT_EQ(record["unlisted"], 1);
  EXPECT_EQ(record["described"], 2 * most_node_kinds + 1);
  EXPECT_EQ(record["kinds"].back()["differences"], kernel(std::to_string(most_node_kinds - 1)));
}

TEST(NodeKinds, PlacesTheFirstRangesOfAKind) {
  std::vector<json> differences;
  for (std::size_t range = 0; range < most_node_ranges; ++range) {
    differences.push_back(kernel("b"));
    differences.push_back(json::object());
  }
  EXPECT_EQ(kinds_of(differences).record()["kinds"][0]["places"].size(), most_node_ranges);
  differences.push_back(kernel("b"));
  differences.push_back(kernel("b"));
  const json kind = kinds_of(differences).record()["kinds"][0];
  EXPECT_EQ(kind["places"].size(), most_node_ranges);
  EXPECT_EQ(kind["places"].back(), json({2 * most_node_ranges - 2, 2 * most_node_ranges - 2}));
  EXPECT_EQ(kind["nodes"], most_node_ranges + 2);
}

TEST(NodeKinds, LeaveTheLongestEntriesOut) {
  const auto with_cards = [](std::size_t length) -> json {
    return {{"hardware", {{"network", std::string(length, 'x')}, {"processor", {{"cores", 8}}}}}};
  };
  const std::size_t beside = json_text(with_cards(0)).size();
  const json fits = with_cards(longest_node_difference - beside);
  const json kind = NodeKinds::of_node(0, fits).record()["kinds"][0];
  EXPECT_EQ(kind["differences"], fits);
  EXPECT_EQ(kind["left_out"], json::array());
  const json longer = with_cards(longest_node_difference - beside + 1);
  const json cut = NodeKinds::of_node(0, longer).record()["kinds"][0];
  EXPECT_EQ(cut["differences"], json({{"hardware", {{"processor", {{"cores", 8}}}}}}));
  EXPECT_EQ(cut["left_out"], json({"hardware.network"}));
}

// Two halves of a job meet at rank 0, in the tree's last and largest message.
TEST(NodeKinds, AreBoundedWhereAllNodesDiffer) {
  constexpr std::int64_t half = 500'000;
  const auto half_of_all = [](std::int64_t first) {
    NodeKinds kinds;
    for (std::int64_t place = first; place < first + half; place += 1000) {
      kinds.add(NodeKinds::of_node(place, kernel(std::to_string(place))));
    }
    return kinds;
  };
  NodeKinds all = half_of_all(0);
  all.add(NodeKinds::from_record(half_of_all(half).record()));
  const json record = all.record();
  EXPECT_EQ(record["described"], 1000);
  EXPECT_EQ(record["kinds"].size(), most_node_kinds);
  EXPECT_EQ(record["unlisted"], 1000 - most_node_kinds);
  EXPECT_LE(json_text(record).size(),
            most_node_kinds * (longest_node_difference + most_node_ranges * 24));
}

}  // namespace
}  // namespace weir::bench
