// Ranks in whose place stagers run: the program gets the others, and its files are those that it
// writes without stagers.
#include <algorithm>
#include <string>
#include <vector>

#include "files.hpp"

namespace weir::test {
namespace {

class StagerRanks : public Files {
 protected:
  static weir_session_options at(const char* staging, std::int64_t ranks_per_node = 0) {
    weir_session_options options{};
    options.deadline_seconds = 60;
    options.staging = staging;
    options.ranks_per_node = ranks_per_node;
    return options;
  }
  static int ranks_of(MPI_Comm communicator) {
    int ranks = 0;
    if (communicator != MPI_COMM_NULL) MPI_Comm_size(communicator, &ranks);
    return ranks;
  }
  // Three steps by the ranks that are not set apart. Returns how many these are; 0 on the others.
  int write(const char* staging, const char* format, const std::string& name,
            std::int64_t ranks_per_node) const {
    const Staging divided(MPI_COMM_WORLD, at(staging, ranks_per_node));
    if (divided.program() == MPI_COMM_NULL) return 0;
    Session session(divided.program(), at(staging));
    File file = session.create_file(name, as(format));
    weir_define_options stepped{};
    stepped.steps = 1;
    // The stagers encode the array in Zarr, which has several shards.
    const Extents chunks = {2, 3, 2};
    const Extents shards = {4, 3, 4};
    if (format == std::string("zarr")) {
      stepped.chunks = chunks.data();
      stepped.shards = shards.data();
      stepped.codec = "crc32c";
    }
    Array density = file.define<double>("density", cube, stepped);
    const auto blocks = session.distribution(cube, "BLOCK, BLOCK, *");
    for (int step = 0; step < 3; ++step) {
      file.begin_step();
      density.write(blocks, part_of_step<double>(blocks, cube, 1, step));
      file.end_step();
    }
    file.close();
    session.close();
    return ranks_of(divided.program());
  }
  void expect_steps(const std::string& name) const {
    Session session(MPI_COMM_WORLD);
    File file = session.open_file(name);
    EXPECT_EQ(file.steps(), 3);
    const auto rows = session.distribution(cube, "CYCLIC, *, *");
    for (int step = 0; step < 3; ++step) {
      const auto expected = part_of_step<double>(rows, cube, 1, step);
      std::vector<double> got(expected.size());
      file.select_step(step);
      file.array("density").read(rows, got);
      EXPECT_EQ(got, expected) << "step " << step;
    }
    file.close();
    session.close();
  }
  static std::string refusal_of(const weir_session_options& options) {
    MPI_Comm program = MPI_COMM_WORLD;
    EXPECT_EQ(weir_init_staging(MPI_COMM_WORLD, &options, &program), WEIR_E_ARGUMENT);
    EXPECT_EQ(program, MPI_COMM_NULL);
    EXPECT_TRUE(is_same_on_all_ranks(weir_last_error()));
    return weir_last_error();
  }
};

TEST_F(StagerRanks, LeaveFilesAsTheyAreWithoutStagers) {
  struct Case {
    const char* staging;
    int stagers;
    std::int64_t ranks_per_node;
  };
  const int half = size_of_world() / 2;
  const std::vector<Case> cases = {{"ranks", 1, 0},
                                   {"ranks:2", 2, 0},
                                   {"ranks:1/2", half, 0},
                                   {"ranks:1/3", size_of_world() / 3, 0},
                                   {"ranks", 2, half}};  // two nodes
  for (const char* const format : {"cdf5", "hdf5", "zarr"}) {
    const std::string alone = path(std::string("alone.") + format);
    EXPECT_EQ(write("none", format, alone, 0), size_of_world());
    for (const Case& one : cases) {
      SCOPED_TRACE(std::string(one.staging) + ", " + format);
      const std::string name = path("staged" + std::to_string(&one - cases.data()) + "." + format);
      const int ranks = write(one.staging, format, name, one.ranks_per_node);
      EXPECT_TRUE(ranks == 0 || ranks == size_of_world() - one.stagers) << ranks;
      meet();  // no stager's rank comes here before everything is stored
      expect_steps(name);
      if (format == std::string("cdf5")) {
        EXPECT_TRUE(content_of<char>(name) == content_of<char>(alone));
      }
      meet();
    }
  }
}

TEST_F(StagerRanks, AreTheLastOnesAndOthersKeepTheirOrder) {
  const auto options = at("ranks:2");
  MPI_Comm program = MPI_COMM_NULL;
  ASSERT_EQ(weir_init_staging(MPI_COMM_WORLD, &options, &program), 0) << weir_last_error();
  EXPECT_EQ(ranks_of(program), rank_of_world() < size_of_world() - 2 ? size_of_world() - 2 : 0);
  if (program != MPI_COMM_NULL) {
    int rank = -1;
    MPI_Comm_rank(program, &rank);
    EXPECT_EQ(rank, rank_of_world());
    // A program has one division at a time.
    MPI_Comm again = MPI_COMM_NULL;
    EXPECT_EQ(weir_init_staging(program, &options, &again), WEIR_E_ARGUMENT);
    EXPECT_NE(std::string(weir_last_error()).find("call weir_finalize_staging first"),
              std::string::npos)
        << weir_last_error();
  }
  EXPECT_EQ(weir_finalize_staging(&program), 0) << weir_last_error();
  EXPECT_EQ(program, MPI_COMM_NULL);
  EXPECT_EQ(weir_finalize_staging(&program), 0) << weir_last_error();
}

TEST_F(StagerRanks, AreNoneInOtherPlacements) {
  for (const char* const staging : {"none", "node"}) {
    const Staging divided(MPI_COMM_WORLD, at(staging));
    int compared = MPI_UNEQUAL;
    MPI_Comm_compare(divided.program(), MPI_COMM_WORLD, &compared);
    EXPECT_EQ(compared, MPI_CONGRUENT) << staging;
  }
  // The error handler is the program's own.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  {
    const Staging divided(MPI_COMM_WORLD, at("none"));
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(divided.program(), &handler);
    EXPECT_EQ(handler, MPI_ERRORS_RETURN);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

TEST_F(StagerRanks, AreRefusedOnAllRanksAlike) {
  const std::string all = "ranks:" + std::to_string(size_of_world());
  EXPECT_NE(refusal_of(at(all.c_str())).find("each stager needs another rank of its node"),
            std::string::npos);
  EXPECT_NE(refusal_of(at("ranks:1/9")).find("makes one in 9 ranks of each node stagers"),
            std::string::npos);
  EXPECT_NE(refusal_of(at("ranks", 1)).find("and this node has 1"), std::string::npos);
  EXPECT_NE(refusal_of(at("ranks:0")).find("options.staging is 'ranks:0': give none, node"),
            std::string::npos);
  // Ranks that differ.
  const auto own = at(rank_of_world() == 1 ? "ranks:2" : "ranks");
  MPI_Comm program = MPI_COMM_NULL;
  EXPECT_EQ(weir_init_staging(MPI_COMM_WORLD, &own, &program), WEIR_E_MISMATCH);
  const auto options = at("ranks");
  EXPECT_EQ(weir_init_staging(MPI_COMM_WORLD, &options, rank_of_world() == 0 ? nullptr : &program),
            WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_init_staging(MPI_COMM_NULL, &options, &program), WEIR_E_ARGUMENT);
  EXPECT_EQ(weir_finalize_staging(nullptr), WEIR_E_ARGUMENT);
  // A session that nobody has made stagers for.
  weir_session* session = nullptr;
  EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_E_ARGUMENT);
  EXPECT_NE(std::string(weir_last_error()).find("call weir_init_staging first"), std::string::npos)
      << weir_last_error();
}

}  // namespace
}  // namespace weir::test
