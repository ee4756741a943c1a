// Options of a session from rank 0's environment: what they do, what goes before them, and what is
// refused, on all ranks alike.
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>

#include "parallel.hpp"

namespace weir::test {
namespace {

// The name of the host on which this rank is said to be; empty: the system's.
std::string& given_host() {
  static std::string name;
  return name;
}

}  // namespace
}  // namespace weir::test

// Replaces the system's function, because all ranks of a test are on one host.
extern "C" int gethostname(char* name, std::size_t len) noexcept {
  utsname facts{};
  if (len == 0 || ::uname(&facts) != 0) return -1;
  const std::string& given = weir::test::given_host();
  const std::string host = given.empty() ? std::data(facts.nodename) : given;
  const std::size_t length = std::min(host.size(), len - 1);
  std::copy_n(host.begin(), length, name);
  name[length] = '\0';
  return 0;
}

namespace weir::test {
namespace {

// NOLINTBEGIN(concurrency-mt-unsafe): there is one thread
class Environment : public OnRanks {
 protected:
  void TearDown() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
    given_host().clear();
    OnRanks::TearDown();
  }
  // Rank 0's value; the other ranks are told something that cannot be, which nobody may look at.
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), rank_of_world() == 0 ? value.c_str() : "another", 1);
    set_.push_back(name);
  }
  // This rank's own value, as a launcher sets it for each task.
  void set_here(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  // Opens a session with this option for I/O groups, and returns why it writes as it does.
  std::string explained_with_groups(const char* passed) const {
    weir_session_options options = {};
    options.io_groups = passed;
    Session session(MPI_COMM_WORLD, options);
    const auto columns = session.distribution({64, 64}, "*, BLOCK");
    auto array = session.create<double>(path("grouped"), {64, 64});
    const std::vector<double> part(columns.elements());
    return session.explain_write({Outgoing(array, columns, part)});
  }
  // Rank 0 writes a file that no other rank needs to see, and all ranks return its path.
  std::string file_of_rank_0(const std::string& name, const std::string& text) const {
    if (rank_of_world() != 0) return "/nowhere/" + name;
    std::ofstream(path(name)) << text;
    return path(name);
  }
  void unset(const std::string& name) { ::unsetenv(name.c_str()); }

  weir_figures figures_of_a_write(Session& session) const {
    const auto columns = session.distribution({16, 16}, "*, BLOCK");
    auto array = session.create<double>(path("a"), {16, 16});
    array.write(columns, numbered_part<double>(columns, {16, 16}));
    return session.figures();
  }

 private:
  std::vector<std::string> set_;
};

TEST_F(Environment, ChoosesWhatTheProgramLeavesOpen) {
  const std::map<std::string, std::int32_t> strategies = {
      {"direct", 1}, {"node", 2}, {"two-phase", 3}, {"server-directed", 4}};
  for (const auto& [name, number] : strategies) {
    set("WEIR_STRATEGY", name);
    set("WEIR_ENGINE", "direct-io");
    Session session(MPI_COMM_WORLD);
    const weir_figures figures = figures_of_a_write(session);
    EXPECT_EQ(figures.strategy, number);
    EXPECT_EQ(figures.engine, 3);
  }
  weir_session_options options = {};
  options.strategy = "direct";
  options.engine = "posix";
  Session session(MPI_COMM_WORLD, options);
  const weir_figures figures = figures_of_a_write(session);
  EXPECT_EQ(figures.strategy, 1) << "what the program passes goes first";
  EXPECT_EQ(figures.engine, 1);
}

TEST_F(Environment, HasNumbersWithTheirUnits) {
  set("WEIR_STRATEGY", "node");
  set("WEIR_AGGREGATORS", "1");
  set("WEIR_RANKS_PER_NODE", "2");
  set("WEIR_BUFFER_BYTES", "64k");
  set("WEIR_BUFFERS", "3");
  set("WEIR_ALIGNMENT_BYTES", "8k");
  set("WEIR_STRIPE_BYTES", "16k");
  set("WEIR_LOCK_BYTES", "16k");
  set("WEIR_TARGETS", "2");
  Session session(MPI_COMM_WORLD);
  EXPECT_EQ(figures_of_a_write(session).aggregators, (size_of_world() + 1) / 2);
  const auto columns = session.distribution({64, 4096}, "*, BLOCK");
  auto array = session.create<double>(path("large"), {64, 4096});
  const std::vector<double> part(columns.elements());
  const std::string text = session.explain_write({Outgoing(array, columns, part)});
  EXPECT_NE(text.find("buffers of 64 KiB"), std::string::npos) << text;
}

TEST_F(Environment, HasTheIoGroups) {
  ASSERT_EQ(size_of_world(), 4);
  set("WEIR_RANKS_PER_NODE", "1");
  set("WEIR_IO_GROUPS", "0*3,1");
  const auto has = [](const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
  };
  EXPECT_TRUE(has(explained_with_groups(nullptr),
                  "\nI/O groups: 2 (1 of 3 nodes, 1 of 1 node), from the option io_groups or "
                  "WEIR_IO_GROUPS\n"));
  EXPECT_TRUE(has(explained_with_groups("2"), "\nI/O groups: 2 (of 2 nodes each)"));
  EXPECT_FALSE(has(explained_with_groups("4"), "I/O groups"));
  EXPECT_FALSE(has(explained_with_groups(""), "I/O groups")) << "the program has one group";
}

TEST_F(Environment, TheIoGroupsAreThoseOfSlurmsLeafSwitches) {
  ASSERT_EQ(size_of_world(), 4);
  set("WEIR_RANKS_PER_NODE", "1");
  const auto has = [](const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
  };
  const std::string rank = std::to_string(rank_of_world());
  set_here("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node");
  set_here("SLURM_TOPOLOGY_ADDR",
           std::string("top.s") + (rank_of_world() % 2 == 0 ? "0" : "1") + ".n" + rank);
  EXPECT_FALSE(has(explained_with_groups(nullptr), "I/O groups")) << "nobody asked for them";
  EXPECT_TRUE(has(explained_with_groups("slurm"),
                  "\nI/O groups: 2 (of 2 nodes each), from SLURM_TOPOLOGY_ADDR of each node\n"));
  EXPECT_TRUE(has(explained_with_groups("discover"),
                  "\nI/O groups: 2 (of 2 nodes each), from SLURM_TOPOLOGY_ADDR of each node\n"))
      << "this machine has neither routers to Lustre nor a Cray's name";
  EXPECT_TRUE(has(explained_with_groups("cray"),
                  "\nI/O groups: one, because none could be made from Cray's name of each node:"));
  EXPECT_TRUE(has(explained_with_groups("lnet"),
                  "\nI/O groups: one, because none could be made from the LNet routers of"));
  set("WEIR_IO_GROUPS", "slurm");
  EXPECT_TRUE(has(explained_with_groups(nullptr), "\nI/O groups: 2 (of 2 nodes each)"));
  // What the program gives goes first.
  EXPECT_TRUE(has(explained_with_groups("0*3,1"), "(1 of 3 nodes, 1 of 1 node), from the option"));
  EXPECT_FALSE(has(explained_with_groups(""), "I/O groups"));
  // A launcher that passes one node's variables on, and nodes that know nothing.
  constexpr const char* one =
      "\nI/O groups: one, because none could be made from SLURM_TOPOLOGY_ADDR";
  set_here("SLURM_TOPOLOGY_ADDR", "top.s0.n0");
  EXPECT_TRUE(has(explained_with_groups(nullptr), one));
  if (rank_of_world() == 3) unset("SLURM_TOPOLOGY_ADDR");
  EXPECT_TRUE(has(explained_with_groups(nullptr), one));
}

TEST_F(Environment, TheIoGroupsAreThoseThatADescriptionNames) {
  ASSERT_EQ(size_of_world(), 4);
  set("WEIR_RANKS_PER_NODE", "1");
  const std::string head = "format = 'weir-platform'\nformat_version = 1\n";
  const auto described = [&](const std::string& groups) {
    set("WEIR_IO_GROUPS",
        "description:" +
            file_of_rank_0("groups.toml", head + "[topology.network.groups]\n" + groups));
  };
  const auto explained = [&] {
    try {
      return explained_with_groups(nullptr);
    } catch (const Failure& failure) {
      return std::string(failure.what());
    }
  };
  const auto has = [](const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
  };
  given_host() = "n" + std::to_string(rank_of_world()) + ".here.org";
  described("b = 'n[0,3],other'\na = 'n[1-2]'\n");
  const std::string text = explained();
  EXPECT_TRUE(has(text, "\nI/O groups: 2 (of 2 nodes each), from the hosts that ")) << text;
  EXPECT_TRUE(has(text, "groups.toml names\n")) << text;
  described("a = 'n[0-3]'\n");
  EXPECT_FALSE(has(explained(), "I/O groups"));
  described("a = 'n0'\nb = 'n1'\nc = 'n2'\nd = 'n3'\n");
  EXPECT_TRUE(has(explained(), "\nI/O groups: 4 (of 1 node each), from the hosts that "));

  const auto refused = [&](const char* what) {
    const std::string line = explained();
    EXPECT_TRUE(has(line, what)) << line;
    EXPECT_TRUE(has(line, "groups.toml")) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  };
  described("a = 'n[0-1]'\nb = 'n3'\n");
  refused("host n2.here.org is in none of the 2 groups: add it to one");
  described("a = 'n[0-2]'\nb = 'n[2-3]'\n");
  refused("host n2 is in group 'a' and in group 'b': list it in one of them");
  described("a = 'n[0-'\n");
  refused("the hosts of group 'a' are not a list such as n[1-4],n7: brackets do not match");
  described("");
  refused("has no topology.network.groups");
  set("WEIR_IO_GROUPS", "description:/nowhere/groups.toml");
  refused("io_groups");
  for (const char* without : {"description", "description:", "infiniband", "infiniband:", "lnet:f",
                              "discover:", "pmix"}) {
    set("WEIR_IO_GROUPS", without);
    EXPECT_TRUE(has(explained(), "or description:FILE, infiniband:FILE or discover:FILE for those"))
        << without;
  }
}

TEST_F(Environment, TheIoGroupsAreThoseOfInfinibandsLeafSwitches) {
  ASSERT_EQ(size_of_world(), 4);
  set("WEIR_RANKS_PER_NODE", "1");
  const auto adapter = [](int node, char leaf) {
    return "Ca\t1 \"H-" + std::to_string(node) + "\"\t\t# \"n" + std::to_string(node) +
           " HCA-1\"\n[1](1) \t\"S-" + leaf + "\"[1]\t\t# lid 9 lmc 0 \"leaf\" lid 3 4xEDR\n";
  };
  const std::string fabric = adapter(0, 'a') + adapter(1, 'b') + adapter(2, 'b') + adapter(3, 'a');
  const auto explained = [&](const std::string& source, const std::string& text) {
    set("WEIR_IO_GROUPS", source + ":" + file_of_rank_0("ib.txt", text));
    try {
      return explained_with_groups(nullptr);
    } catch (const Failure& failure) {
      return std::string(failure.what());
    }
  };
  const auto has = [](const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
  };
  const char* const found =
      "\nI/O groups: 2 (of 2 nodes each), from the leaf switches of each node's InfiniBand\n";
  given_host() = "n" + std::to_string(rank_of_world()) + ".here.org";
  EXPECT_TRUE(has(explained("infiniband", fabric), found));
  EXPECT_TRUE(has(explained("discover", fabric), found));
  EXPECT_TRUE(has(explained("infiniband", adapter(0, 'a') + adapter(1, 'b')),
                  "\nI/O groups: one, because none could be made from the leaf switches"))
      << "two nodes are not in the record";
  set_here("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.node");
  set_here("SLURM_TOPOLOGY_ADDR",
           std::string(rank_of_world() < 2 ? "s0" : "s1") + ".n" + std::to_string(rank_of_world()));
  EXPECT_TRUE(has(explained("discover", fabric), found)) << "InfiniBand goes before Slurm";
  EXPECT_TRUE(has(explained("discover", adapter(0, 'a') + adapter(1, 'b')),
                  "from SLURM_TOPOLOGY_ADDR of each node"));
  const std::string line = explained("infiniband", fabric + "[2");
  EXPECT_TRUE(has(line, "line 9 is no port: the text may be cut, record ibnetdiscover again"))
      << line;
  EXPECT_TRUE(has(line, "ib.txt")) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

// Encoded chunks that nodes of several groups share cannot be written in given groups.
TEST_F(Environment, WhatSlurmsGroupsWouldMakeImpossibleIsDoneInOneGroup) {
  ASSERT_EQ(size_of_world(), 4);
  set("WEIR_RANKS_PER_NODE", "1");
  set_here("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.node");
  set_here("SLURM_TOPOLOGY_ADDR",
           std::string(rank_of_world() < 2 ? "s0" : "s1") + ".n" + std::to_string(rank_of_world()));
  const std::vector<std::int64_t> chunks = {64, 64};
  weir_file_options format{};
  format.format = "zarr";
  const auto written = [&](const char* groups) {
    weir_session_options options = {};
    options.io_groups = groups;
    Session session(MPI_COMM_WORLD, options);
    const auto columns = session.distribution({64, 64}, "*, BLOCK");
    const auto part = numbered_part<double>(columns, {64, 64});
    File file = session.create_file(
        path(groups == std::string("slurm") ? "told.zarr" : "given.zarr"), format);
    weir_define_options once{};
    once.chunks = chunks.data();
    once.codec = "crc32c";
    Array array = file.define<double>("a", {64, 64}, once);
    file.begin_step();
    array.write(columns, part);
    file.end_step();
    std::vector<double> again(columns.elements());
    array.read(columns, again);
    return again == part;
  };
  EXPECT_TRUE(written("slurm"));
  try {
    written("2");
    ADD_FAILURE() << "these groups are given";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("I/O groups separate the ranks"), std::string::npos)
        << failure.what();
  }
}

TEST_F(Environment, HasThePlacementAndTheNetwork) {
  ASSERT_EQ(size_of_world(), 4);
  set("WEIR_RANKS_PER_NODE", "1");
  set("WEIR_STRATEGY", "two-phase");
  set("WEIR_AGGREGATOR_PLACEMENT", "nearest");
  set("WEIR_NETWORK", "mesh:4");
  const auto explained = [&](const char* passed) {
    weir_session_options options = {};
    options.aggregator_placement = passed;
    Session session(MPI_COMM_WORLD, options);
    const auto columns = session.distribution({64, 64}, "*, BLOCK");
    auto array = session.create<double>(path("placed"), {64, 64});
    const std::vector<double> part(columns.elements());
    return session.explain_write({Outgoing(array, columns, part)});
  };
  const auto has = [](const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
  };
  EXPECT_TRUE(has(explained(nullptr), "\naggregators are placed: nearest\nnetwork: mesh:4\n"));
  EXPECT_TRUE(has(explained("first"), "\naggregators are placed: first\n"));
  EXPECT_FALSE(has(explained("spread"), "placed"));
}

TEST_F(Environment, AnEmptyOneIsNone) {
  for (const char* name : {"WEIR_STRATEGY", "WEIR_BUFFERS", "WEIR_DEADLINE", "WEIR_ENGINE",
                           "WEIR_IO_GROUPS", "WEIR_NETWORK", "WEIR_AGGREGATOR_PLACEMENT"}) {
    set(name, "");
  }
  Session session(MPI_COMM_WORLD);
  session.close();
}

TEST_F(Environment, WhatCannotBeIsRefusedByTheVariablesName) {
  struct Wrong {
    const char* variable;
    const char* value;
    const char* text;
  };
  const std::vector<Wrong> cases = {
      {"WEIR_DEADLINE", "soon", "WEIR_DEADLINE: 'soon'"},
      {"WEIR_DEADLINE", "-1", "WEIR_DEADLINE: '-1'"},
      {"WEIR_DEADLINE", "nan", "WEIR_DEADLINE: 'nan'"},
      {"WEIR_DEADLINE", "1000000001", "WEIR_DEADLINE of rank 0's environment is 1000000001"},
      {"WEIR_STRATEGY", "fastest", "WEIR_STRATEGY: 'fastest'"},
      {"WEIR_ENGINE", "steam", "WEIR_ENGINE: 'steam'"},
      {"WEIR_AGGREGATORS", "-3", "WEIR_AGGREGATORS: '-3'"},
      {"WEIR_AGGREGATORS", "many", "WEIR_AGGREGATORS: 'many'"},
      {"WEIR_BUFFER_BYTES", "1x", "WEIR_BUFFER_BYTES: '1x'"},
      {"WEIR_BUFFER_BYTES", "9999999999g", "WEIR_BUFFER_BYTES: '9999999999g'"},
      {"WEIR_BUFFERS", "1", "WEIR_BUFFERS of rank 0's environment is 1: give at least 2"},
      {"WEIR_RANKS_PER_NODE", "1.5", "WEIR_RANKS_PER_NODE: '1.5'"},
      {"WEIR_ALIGNMENT_BYTES", "2048g", "WEIR_ALIGNMENT_BYTES of rank 0's environment"},
      {"WEIR_STRIPE_BYTES", "1025g", "WEIR_STRIPE_BYTES of rank 0's environment"},
      {"WEIR_LOCK_BYTES", "1025g", "WEIR_LOCK_BYTES of rank 0's environment"},
      {"WEIR_IO_GROUPS", "0", "WEIR_IO_GROUPS of rank 0's environment is '0': this is not"},
      {"WEIR_IO_GROUPS", "0,,1", "WEIR_IO_GROUPS of rank 0's environment is '0,,1': part 2 is"},
      {"WEIR_IO_GROUPS", "0*8,1", "io_groups lists the groups of 9 nodes, but the ranks are on "},
      {"WEIR_NETWORK", "8x", "WEIR_NETWORK of rank 0's environment is '8x': extent 2 is not"},
      {"WEIR_NETWORK", "0x1", "WEIR_NETWORK of rank 0's environment is '0x1': extent 1 is not"},
      {"WEIR_NETWORK", "1@0,0,0,0,0,0,0,0,0", "network lists the coordinates of 9 nodes, but "},
      {"WEIR_AGGREGATOR_PLACEMENT", "last", "WEIR_AGGREGATOR_PLACEMENT"},
      {"WEIR_STAGING_LOST", "retry", "WEIR_STAGING_LOST: 'retry'"},
      {"WEIR_STAGING_CLOSE", "later", "WEIR_STAGING_CLOSE: 'later'"},
      {"WEIR_DURABILITY", "forever", "WEIR_DURABILITY: 'forever'"},
      {"WEIR_DURABILITY", "journal", "durability is 'journal', but staging is 'none'"},
      {"WEIR_TARGETS", "1048577", "WEIR_TARGETS of rank 0's environment is 1048577"}};
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(std::string(wrong.variable) + "=" + wrong.value);
    set(wrong.variable, wrong.value);
    weir_session* session = nullptr;
    EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, nullptr, &session), WEIR_E_ARGUMENT);
    EXPECT_EQ(session, nullptr);
    const std::string line = weir_last_error();
    EXPECT_NE(line.find(wrong.text), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    unset(wrong.variable);
  }
  for (const auto& [variable, value] :
       std::map<std::string, std::string>{{"WEIR_TARGETS", "1048576"},
                                          {"WEIR_STRIPE_BYTES", "1024g"},
                                          {"WEIR_BUFFERS", "2"},
                                          {"WEIR_DEADLINE", "1e9"}}) {
    set(variable, value);
  }
  Session session(MPI_COMM_WORLD);
  session.close();
}

TEST_F(Environment, WhatTheProgramPassesIsNotLookedForThere) {
  set("WEIR_DEADLINE", "soon");
  set("WEIR_STRATEGY", "fastest");
  set("WEIR_ENGINE", "steam");
  set("WEIR_BUFFERS", "1");
  set("WEIR_IO_GROUPS", "none");
  set("WEIR_AGGREGATOR_PLACEMENT", "none");
  set("WEIR_STAGING_LOST", "none");
  set("WEIR_DURABILITY", "forever");
  weir_session_options options = {};
  options.io_groups = "1";
  options.aggregator_placement = "first";
  options.staging_lost = "direct";
  options.durability = "operation";
  options.deadline_seconds = 60;
  options.strategy = "automatic";
  options.engine = "automatic";
  options.buffers = 2;
  Session session(MPI_COMM_WORLD, options);
  session.close();
}

// Data must not be dropped because of a variable that is still set.
TEST_F(Environment, CannotChooseTheEngineNull) {
  set("WEIR_ENGINE", "null");
  weir_session* session = nullptr;
  EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, nullptr, &session), WEIR_E_ARGUMENT);
  EXPECT_NE(std::string(weir_last_error()).find("WEIR_ENGINE"), std::string::npos)
      << weir_last_error();
}

TEST_F(Environment, HasTheDeadlineOfEveryWait) {
  set("WEIR_DEADLINE", "1.25");
  weir_session* session = nullptr;
  ASSERT_EQ(weir_session_open(MPI_COMM_WORLD, nullptr, &session), 0) << weir_last_error();
  // A rank that does not come: the others say by which deadline they gave up.
  if (rank_of_world() == 0) {
    weir_session_abandon(&session);
  } else {
    weir_distribution* made = nullptr;
    const std::int64_t shape = 8;
    EXPECT_EQ(weir_distribution_create(session, 1, &shape, "BLOCK", nullptr, &made),
              WEIR_E_DEADLINE);
    EXPECT_NE(std::string(weir_last_error()).find("deadline_seconds 1.25"), std::string::npos)
        << weir_last_error();
  }
  weir_session_abandon(&session);
  meet();
}
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace
}  // namespace weir::test
