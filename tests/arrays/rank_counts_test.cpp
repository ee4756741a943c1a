// Every count of ranks writes the same files, and every other count reads them: 1, 2, 3, 4, 6, 9
// and 16 ranks, as many of them as the run has, each with another strategy and buffers.
#include <array>

#include "parallel.hpp"

namespace weir::test {
namespace {

struct Team {
  int ranks;
  const char* formats;
  weir_session_options options;
};

std::vector<Team> teams() {
  const auto by = [](const char* strategy, std::int64_t buffer_bytes, std::int64_t aggregators,
                     std::int64_t ranks_per_node) {
    weir_session_options options{};
    options.strategy = strategy;
    options.buffer_bytes = buffer_bytes;
    options.aggregators = aggregators;
    options.ranks_per_node = ranks_per_node;
    return options;
  };
  return {
      {1, "*, *, *", by("automatic", 0, 0, 0)},
      {2, "BLOCK, *, *", by("node", 64, 1, 0)},
      {3, "*, CYCLIC(2), *", by("two-phase", 104, 1, 2)},
      {4, "BLOCK, *, BLOCK", by("node", 1000, 2, 0)},
      {6, "CYCLIC, BLOCK, *", by("two-phase", 320, 2, 3)},
      {9, "BLOCK, BLOCK, *", by("direct", 0, 0, 0)},
      {16, "BLOCK, CYCLIC(3), BLOCK", by("two-phase", 64, 3, 5)},
  };
}

// The first ranks of the world; MPI_COMM_NULL on the others.
MPI_Comm first_ranks(int ranks) {
  MPI_Comm first = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_of_world() < ranks ? 0 : MPI_UNDEFINED, 0, &first);
  return first;
}

using RankCounts = OnRanks;

TEST_F(RankCounts, EachReadsWhatEveryOtherWrote) {
  const Extents shape = {7, 10, 6};
  const auto file_of = [&](const Team& writers, const char* kind) {
    return path(kind + std::to_string(writers.ranks));
  };
  for (const Team& team : teams()) {
    MPI_Comm members = first_ranks(team.ranks);
    if (members == MPI_COMM_NULL || team.ranks > size_of_world()) continue;
    {
      Session session(members, team.options);
      const auto distributed = session.distribution(shape, team.formats);
      const auto part = numbered_part<double>(distributed, shape);
      auto whole = session.create<double>(file_of(team, "whole"), shape);
      const std::array<std::int64_t, 3> extents = {3, 4, 5};
      weir_array_options chunked{};
      chunked.chunks = extents.data();
      chunked.files = WEIR_FILE_PER_AGGREGATOR;
      auto chunks = session.create<double>(file_of(team, "chunks"), shape, chunked);
      session.write_many({Outgoing(whole, distributed, part), Outgoing(chunks, distributed, part)});
    }
    MPI_Comm_free(&members);
  }
  meet();
  for (const Team& team : teams()) {
    MPI_Comm members = first_ranks(team.ranks);
    if (members == MPI_COMM_NULL || team.ranks > size_of_world()) continue;
    {
      Session session(members, team.options);
      const auto distributed = session.distribution(shape, team.formats);
      const auto expected = numbered_part<double>(distributed, shape);
      for (const Team& writers : teams()) {
        if (writers.ranks > size_of_world()) continue;
        for (const char* kind : {"whole", "chunks"}) {
          auto array = session.open(file_of(writers, kind));
          std::vector<double> part(distributed.elements());
          array.read(distributed, part);
          EXPECT_EQ(part, expected)
              << team.ranks << " ranks read the " << kind << " of " << writers.ranks;
          array.close();
        }
      }
    }
    MPI_Comm_free(&members);
  }
  if (rank_of_world() != 0) return;
  const auto one = content_of<double>(path("whole1"));
  for (const Team& team : teams()) {
    if (team.ranks > size_of_world()) continue;
    EXPECT_EQ(content_of<double>(file_of(team, "whole")), one) << team.ranks << " ranks wrote it";
  }
}

}  // namespace
}  // namespace weir::test
