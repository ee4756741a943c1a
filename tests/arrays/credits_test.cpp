// How far senders run ahead of receivers that are slower, counted by tests/failure/faulty_mpi.c,
// which makes them slower: MPI would keep all that is sent in memory that nobody has counted.
#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <numeric>

#include "parallel.hpp"

namespace weir::test {
namespace {

// As faulty_mpi.c writes it: by sender, then receiver.
constexpr std::size_t most_ranks = 8;
struct Counts {
  using Pairs = std::array<std::array<std::int64_t, most_ranks>, most_ranks>;
  Pairs sent{};
  Pairs receives{};
  Pairs most_ahead{};
};

std::int64_t largest(const Counts::Pairs& pairs) {
  std::int64_t largest = 0;
  for (const auto& row : pairs)
    largest = std::max(largest, *std::max_element(row.begin(), row.end()));
  return largest;
}

class Credits : public OnRanks {
 protected:
  // Calls `act` on all ranks and returns what was counted meanwhile.
  template <typename Act>
  Counts counted(const Act& act) {
    const std::string file = path("counts" + std::to_string(++counted_));
    Counts counts;
    if (rank_of_world() == 0) {
      std::ofstream(file, std::ios::binary)
          .write(reinterpret_cast<const char*>(&counts), sizeof counts);
    }
    meet();
    setenv("WEIR_MPI_COUNTS", file.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    act();
    setenv("WEIR_MPI_COUNTS", "", 1);  // NOLINT(concurrency-mt-unsafe)
    meet();
    std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&counts), sizeof counts);
    return counts;
  }

  struct Columns {
    Counts writing;
    Counts reading;
  };
  // Writes and reads an array by `*, BLOCK`, so that each piece has a share of every rank.
  Columns counted_columns(const weir_session_options& options, const Extents& shape) {
    Session session(MPI_COMM_WORLD, options);
    const auto columns = session.distribution(shape, "*, BLOCK");
    auto array = session.create<double>(path("a"), shape);
    const auto numbers = numbered_part<double>(columns, shape);
    std::vector<double> taken(numbers.size());
    Columns counts;
    counts.writing = counted([&] { array.write(columns, numbers); });
    counts.reading = counted([&] { array.read(columns, taken); });
    EXPECT_GT(largest(counts.writing.sent), 0);
    EXPECT_GT(largest(counts.reading.sent), 0);
    EXPECT_EQ(taken, numbers);
    return counts;
  }

 private:
  int counted_ = 0;
};

std::int64_t sum(const Counts::Pairs& pairs) {
  std::int64_t sum = 0;
  for (const auto& row : pairs) sum = std::accumulate(row.begin(), row.end(), sum);
  return sum;
}

// (Under server-directed nothing is sent before it is asked for.)
TEST_F(Credits, BoundWhatIsSentAndNotReceived) {
  constexpr std::int64_t most_ahead = 4;  // of an aggregator that writes
  const Extents shape = {2048, 64};
  weir_session_options options = {};
  options.strategy = "two-phase";
  options.aggregators = 1;
  options.ranks_per_node = 1;  // so that all goes by messages
  options.buffer_bytes = 4096;
  options.buffers = 6;  // so many pieces are under way from an aggregator that reads
  const auto [writing, reading] = counted_columns(options, shape);
  // Many times what may be under way goes from each rank to each other one.
  EXPECT_GE(largest(writing.sent), 60);
  EXPECT_GE(largest(reading.sent), 60);
  EXPECT_LE(largest(writing.most_ahead), most_ahead);
  EXPECT_LE(largest(reading.most_ahead), options.buffers);
}

// As `weir-bench plan` counts them: one for each piece and node that has a share of it.
TEST_F(Credits, ANodeSendsOneMessageForAPiece) {
  ASSERT_EQ(size_of_world(), 4);
  constexpr std::int64_t pieces = 128;
  const Extents shape = {1024, 64};
  for (const char* const strategy : {"two-phase", "server-directed"}) {
    for (const int ranks_per_node : {1, 2, 3}) {
      SCOPED_TRACE(std::string(strategy) + ", nodes of " + std::to_string(ranks_per_node));
      weir_session_options options = {};
      options.strategy = strategy;
      options.aggregators = 1;
      options.ranks_per_node = ranks_per_node;
      options.buffer_bytes = 4096;
      const auto [writing, reading] = counted_columns(options, shape);
      const std::int64_t other_nodes = (4 + ranks_per_node - 1) / ranks_per_node - 1;
      // Whoever writes is asked, too.
      const bool asked = std::string(strategy) == "server-directed";
      EXPECT_EQ(sum(writing.sent), pieces * other_nodes * (asked ? 2 : 1));
      EXPECT_EQ(sum(reading.sent), pieces * other_nodes);
    }
  }
}

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Counts of messages between ranks whose groups are those of their nodes: within groups, and from
// one group to another.
std::pair<std::int64_t, std::int64_t> within_and_across(const Counts::Pairs& pairs,
                                                        const std::array<int, 4>& group_of_node) {
  std::int64_t within = 0;
  std::int64_t across = 0;
  for (std::size_t from = 0; from < group_of_node.size(); ++from) {
    for (std::size_t to = 0; to < group_of_node.size(); ++to) {
      (group_of_node.at(from) == group_of_node.at(to) ? within : across) += pairs.at(from).at(to);
    }
  }
  return {within, across};
}

// Each rank has the rows that, by default, an aggregator on another node gathers.
TEST_F(Credits, AggregatorsNearestToTheirDataAreSentNothing) {
  ASSERT_EQ(size_of_world(), 4);
  const Extents shape = {256, 64};
  for (const char* const strategy : {"two-phase", "server-directed"}) {
    std::string spread;
    for (const char* const placement : {"spread", "first", "nearest", "priced"}) {
      SCOPED_TRACE(std::string(strategy) + ", " + placement);
      weir_session_options options = {};
      options.strategy = strategy;
      options.aggregators = 1;
      options.ranks_per_node = 1;
      options.buffer_bytes = 4096;
      options.aggregator_placement = placement;
      Session session(MPI_COMM_WORLD, options);
      const auto rows = session.distribution_from_boxes(
          shape, {{{std::int64_t{64} * (3 - rank_of_world()), 0}, {64, 64}}});
      auto array = session.create<double>(path("a"), shape);
      const auto numbers = numbered_part<double>(rows, shape);
      const Counts writing = counted([&] { array.write(rows, numbers); });
      std::vector<double> taken(numbers.size());
      const Counts reading = counted([&] { array.read(rows, taken); });
      EXPECT_EQ(taken, numbers);
      const bool is_near =
          std::string(placement) == "nearest" || std::string(placement) == "priced";
      EXPECT_EQ(sum(writing.sent) == 0, is_near);
      EXPECT_EQ(sum(reading.sent) == 0, is_near);
      array.close();
      meet();
      if (spread.empty()) spread = file_bytes(path("a"));
      EXPECT_EQ(file_bytes(path("a")), spread);
      meet();
    }
  }
}

TEST_F(Credits, NothingIsSentFromOneIoGroupToAnother) {
  ASSERT_EQ(size_of_world(), 4);
  const Extents shape = {256, 64};
  const std::vector<std::pair<const char*, std::array<int, 4>>> groups = {
      {"2", {0, 0, 1, 1}}, {"0,1,0,1", {0, 1, 0, 1}}, {"0,1*3", {0, 1, 1, 1}}};
  for (const char* const strategy : {"two-phase", "server-directed"}) {
    weir_session_options options = {};
    options.strategy = strategy;
    options.ranks_per_node = 1;
    options.buffer_bytes = 4096;
    const auto [writing, reading] = counted_columns(options, shape);
    const std::string without_groups = file_bytes(path("a"));
    for (const auto& [text, group_of_node] : groups) {
      SCOPED_TRACE(std::string(strategy) + ", groups " + text);
      // Without groups there are messages of which none may be left.
      EXPECT_GT(within_and_across(writing.sent, group_of_node).second, 0);
      EXPECT_GT(within_and_across(reading.sent, group_of_node).second, 0);
      options.io_groups = text;
      const auto [grouped_writing, grouped_reading] = counted_columns(options, shape);
      for (const Counts& one : {grouped_writing, grouped_reading}) {
        const auto [within, across] = within_and_across(one.sent, group_of_node);
        EXPECT_GT(within, 0);
        EXPECT_EQ(across, 0);
      }
      EXPECT_EQ(file_bytes(path("a")), without_groups);
      meet();
    }
  }
}

}  // namespace
}  // namespace weir::test
