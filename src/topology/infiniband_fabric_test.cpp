#include "topology/infiniband_fabric.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// Returns the path of the recorded output of ibnetdiscover.
extern "C" const char* weir_recorded_fabric();

namespace weir::topology {
namespace {

// tests/reference/discovery/README.md says after which documentation this text was made.
std::string recorded_fabric() {
  std::ifstream file(weir_recorded_fabric());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string refused_fabric(const std::string& text) {
  const auto fabric = InfinibandFabric::parse(text);
  return fabric ? "taken" : fabric.error().message;
}

constexpr const char* one_adapter = "Ca\t1 \"H-1\"\t\t# \"n1 HCA-1\"\n";
constexpr const char* one_port = "[1](2a) \t\"S-2\"[1]\t\t# lid 11 lmc 0 \"leaf1\" lid 3 4xEDR\n";

TEST(InfinibandFabric, NodesOfALeafSwitchShareIt) {
  for (const std::string& text :
       {recorded_fabric(), InfinibandFabric::adapters_in(recorded_fabric())}) {
    const auto fabric = InfinibandFabric::parse(text).value();
    const NodePlace n1 = fabric.place_of("n1.here.org", {});
    const NodePlace n2 = fabric.place_of("n2", {});
    const NodePlace n3 = fabric.place_of("n3", {});
    EXPECT_NE(n1.node, 0U);
    EXPECT_NE(n1.node, n2.node);
    EXPECT_EQ(n1.shared, n2.shared);
    EXPECT_NE(n1.shared, n3.shared);
    EXPECT_EQ(fabric.place_of("n4", {}), NodePlace{}) << "its adapter has another description";
    EXPECT_EQ(fabric.place_of("n4", std::vector<std::int64_t>{14}).shared, n3.shared);
    EXPECT_EQ(fabric.place_of("", std::vector<std::int64_t>{14}), NodePlace{});
    EXPECT_EQ(fabric.place_of("n9", std::vector<std::int64_t>{3, 5}), NodePlace{})
        << "LIDs of switches";
  }
}

TEST(InfinibandFabric, ANodeMayBeBelowSeveralSwitches) {
  const auto fabric =
      InfinibandFabric::parse(
          "Ca 1 \"H-1\" # \"n1 a\"\n[1] \"S-a\"[1] # lid 1 lmc 0\nCa 1 \"H-2\" # \"n1 b\"\n"
          "[1] \"S-b\"[1] # lid 2 lmc 0\nCa 2 \"H-3\" # \"n2 a\"\n[1] \"S-b\"[2] # lid 3 lmc 0\n"
          "[2] \"S-a\"[2] # lid 4 lmc 0\nCa 1 \"H-4\" # \"n3 a\"\n[1] \"S-a\"[3] # lid 5 lmc 0\n")
          .value();
  EXPECT_EQ(fabric.place_of("n1", {}).shared, fabric.place_of("n2", {}).shared);
  EXPECT_NE(fabric.place_of("n1", {}).shared, fabric.place_of("n3", {}).shared);
}

TEST(InfinibandFabric, RefusesCutAndDamagedTexts) {
  const std::string adapter = one_adapter;
  const std::string port = one_port;
  EXPECT_EQ(refused_fabric(adapter + port), "taken");
  const std::string again = ": the text may be cut, record ibnetdiscover again";
  for (const char* line : {"Ca 1", "Ca 1 \"S-1\" # \"n1\"", "Ca 1 \"H-1", "Ca 1 \"H-1\" \"n1\"",
                           "Ca 1 \"H-1\" # n1", "Ca 1 \"H-\" # \"n1\"", "Ca 1 \"H-x\" # \"n1\""}) {
    EXPECT_EQ(refused_fabric("# by hand\n" + std::string(line)), "line 2 is no adapter" + again)
        << line;
  }
  for (const char* line : {"[1]", "[1] \"S-1", "[1] \"S-1\"[1] # li", "[1] \"S-1\"[1] # lid x",
                           "[1] \"X-1\"[1] # lid 1", "[1] \"S-1\"[1] # lid 65536",
                           "[1] \"S-1\"[1] # lid -1", "[\x7f"}) {
    EXPECT_EQ(refused_fabric(adapter + line), "line 2 is no port" + again) << line;
  }
  EXPECT_EQ(refused_fabric(adapter + port + adapter + port),
            "describes H-1 twice: record ibnetdiscover again");
  for (const std::string& text : {std::string(), std::string("hello\n"), adapter,
                                  adapter + "[1] \"H-2\"[1] # lid 1 lmc 0\n"}) {
    EXPECT_EQ(refused_fabric(text),
              "has no adapter that is connected to a switch: give the output of ibnetdiscover")
        << text;
  }
}

TEST(InfinibandFabric, ReadsAsManyBytesAsItSays) {
  std::string longest = std::string(one_adapter) + one_port + "#";
  longest.resize(InfinibandFabric::most_fabric_bytes, 'x');
  EXPECT_EQ(refused_fabric(longest), "taken");
  EXPECT_EQ(refused_fabric(longest + "x"), "is longer than the 67108864 bytes that are read");
}

}  // namespace
}  // namespace weir::topology
