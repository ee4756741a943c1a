// Ranks that make different calls, or pass different things, or fail alone: every rank gets the
// same code and line, none waits for ever, and the session goes on.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "parallel.hpp"

namespace weir::test {
namespace {

class Agreement : public OnRanks {
 protected:
  // Returns whether a value is the same on all ranks.
  static void expect_alike(int code, int expected) {
    EXPECT_EQ(code, expected) << weir_last_error();
    EXPECT_TRUE(is_same_on_all_ranks(weir_last_error()));
  }
  static void expect_text(const std::string& part) {
    EXPECT_NE(std::string(weir_last_error()).find(part), std::string::npos) << weir_last_error();
  }
  const bool odd_ = rank_of_world() == 1;
  const Extents shape_ = {6, 4};
};

TEST_F(Agreement, ShapeTypeAndPathAreAlike) {
  Session session(MPI_COMM_WORLD);
  const Extents other = {6, 5};
  weir_array* array = nullptr;
  const auto create = [&](const char* name, const Extents& shape, const char* type) {
    return weir_array_create(session.get(), path(name).c_str(), 2, shape.data(), type, nullptr,
                             &array);
  };
  expect_alike(create("a", odd_ ? other : shape_, "int8"), WEIR_E_MISMATCH);
  expect_text("rank 0 called weir_array_create");
  expect_text("shape 6 x 4");
  expect_text("rank 1 called weir_array_create");
  expect_text("shape 6 x 5");
  expect_alike(create("a", shape_, odd_ ? "int8" : "uint8"), WEIR_E_MISMATCH);
  expect_text("'uint8'");
  expect_alike(create(odd_ ? "a" : "b", shape_, "int8"), WEIR_E_MISMATCH);
  EXPECT_EQ(array, nullptr);
  EXPECT_EQ(create("a", shape_, "int8"), 0) << weir_last_error();
}

TEST_F(Agreement, WhetherAFileIsRewrittenIsAlike) {
  Session session(MPI_COMM_WORLD);
  {
    File file = session.create_file(path("file.h5"));
    const Array fixed = file.define<double>("fixed", shape_);
    file.begin_step();
    file.end_step();
    file.close();
  }
  weir_file_open_options options = {};
  options.rewrite = odd_ ? 1 : 0;
  weir_file* file = nullptr;
  expect_alike(weir_file_open(session.get(), path("file.h5").c_str(), &options, &file),
               WEIR_E_MISMATCH);
  expect_text("to rewrite");
  EXPECT_EQ(file, nullptr);
}

// What is defined is compared when the file is laid out.
TEST_F(Agreement, DefinitionsOfFilesAreAlike) {
  const auto differ = [&](const char* name, const auto& define) {
    Session session(MPI_COMM_WORLD);
    File file = session.create_file(path(name));
    define(file);
    expect_alike(weir_file_step_begin(file.get()), WEIR_E_MISMATCH);
    expect_text("weir_file_step_begin");
    expect_text("definition");
  };
  differ("count.h5", [&](File& file) {
    const Array first = file.define<double>("first", shape_);
    if (odd_) const Array second = file.define<double>("second", shape_);
  });
  differ("shape.h5", [&](File& file) {
    const Array only = file.define<double>("only", odd_ ? Extents{6, 5} : Extents{6, 4});
  });
  differ("type.h5", [&](File& file) {
    if (odd_) {
      const Array only = file.define<float>("only", shape_);
    } else {
      const Array only = file.define<double>("only", shape_);
    }
  });
  differ("dimension.h5", [&](File& file) {
    weir_define_options options = {};
    const char* const names[] = {"y", odd_ ? "z" : "x"};
    options.dimension_names = names;
    const Array only = file.define<double>("only", shape_, options);
  });
}

TEST_F(Agreement, SectionsAndDistributionsAreAlike) {
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(shape_, "BLOCK, *");
  const auto columns = session.distribution(shape_, "*, BLOCK");
  auto array = session.create<double>(path("a"), shape_);
  std::vector<double> part(24, 1);
  const auto& distributed = odd_ ? columns : rows;
  expect_alike(weir_write(array.get(), distributed.get(), part.data()), WEIR_E_MISMATCH);
  expect_text("distribution 2");
  const Extents start = {odd_ ? 1 : 0, 0};
  const Extents count = {3, 2};
  const weir_section section = {start.data(), count.data(), nullptr};
  weir_transfer transfer = {};
  transfer.array = array.get();
  transfer.distribution = rows.get();
  transfer.data = part.data();
  transfer.section = &section;
  expect_alike(weir_write_many(session.get(), 1, &transfer), WEIR_E_MISMATCH);
  expect_text("section 1+3, 0+2");
}

TEST_F(Agreement, CallsAreAlike) {
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(shape_, "BLOCK, *");
  auto first = session.create<double>(path("first"), shape_);
  auto second = session.create<double>(path("second"), shape_);
  std::vector<double> part(24, 1);
  // Two arrays in another order.
  for (const bool now : {true, false}) {
    auto& array = now != odd_ ? first : second;
    expect_alike(weir_write(array.get(), rows.get(), part.data()), WEIR_E_MISMATCH);
  }
  // Another call altogether.
  expect_alike(
      odd_ ? weir_array_sync(first.get()) : weir_read(first.get(), rows.get(), part.data()),
      WEIR_E_MISMATCH);
  expect_text("weir_array_sync");
  expect_text("weir_read");
  EXPECT_EQ(weir_write(first.get(), rows.get(), part.data()), 0) << weir_last_error();
}

TEST_F(Agreement, SelectedStepsAreAlike) {
  Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution(shape_, "BLOCK, *");
  File file = session.create_file(path("file.h5"));
  weir_define_options options = {};
  options.steps = 1;
  const Array array = file.define<double>("a", shape_, options);
  std::vector<double> part(24, 1);
  for (int step = 0; step < 2; ++step) {
    file.begin_step();
    ASSERT_EQ(weir_write(array.get(), rows.get(), part.data()), 0) << weir_last_error();
    file.end_step();
  }
  file.select_step(odd_ ? 1 : 0);
  expect_alike(weir_read(array.get(), rows.get(), part.data()), WEIR_E_MISMATCH);
  expect_text("step 0");
  expect_text("step 1");
  const Extents lower = {rank_of_world(), 0};
  const Extents extent = {1, 4};
  weir_region region = {};
  region.lower = lower.data();
  region.extent = extent.data();
  region.data = part.data();
  expect_alike(weir_read_region(array.get(), &region), WEIR_E_MISMATCH);
  expect_text("step 1");
  file.select_step(0);
  EXPECT_EQ(weir_read(array.get(), rows.get(), part.data()), 0) << weir_last_error();
}

// A rank does its part of the end of a step before it knows that all ranks end it.
TEST_F(Agreement, AStepThatSomeRanksDoNotEndGoesOn) {
  for (const char* const name : {"file.h5", "file.nc", "file.zarr"}) {
    SCOPED_TRACE(name);
    Session session(MPI_COMM_WORLD);
    const auto rows = session.distribution(shape_, "BLOCK, *");
    File file = session.create_file(path(name));
    weir_define_options options = {};
    options.steps = 1;
    const Array array = file.define<double>("a", shape_, options);
    std::vector<double> part(24);
    for (int step = 0; step < 2; ++step) {
      file.begin_step();
      std::fill(part.begin(), part.end(), step + 1);
      ASSERT_EQ(weir_write(array.get(), rows.get(), part.data()), 0) << weir_last_error();
      expect_alike(odd_ ? weir_file_step_wait(file.get(), 1) : weir_file_step_end(file.get()),
                   WEIR_E_MISMATCH);
      expect_text("weir_file_step_end");
      EXPECT_EQ(weir_file_in_step(file.get()), 1);
      // Written again, with the files that some ranks have closed.
      std::fill(part.begin(), part.end(), step + 3);
      ASSERT_EQ(weir_write(array.get(), rows.get(), part.data()), 0) << weir_last_error();
      ASSERT_EQ(weir_file_step_end(file.get()), 0) << weir_last_error();
    }
    for (int step = 0; step < 2; ++step) {
      file.select_step(step);
      std::fill(part.begin(), part.end(), 0);
      ASSERT_EQ(weir_read(array.get(), rows.get(), part.data()), 0) << weir_last_error();
      EXPECT_EQ(std::count(part.begin(), part.end(), step + 3),
                static_cast<std::ptrdiff_t>(rows.elements()));
    }
  }
}

TEST_F(Agreement, SessionOptionsAreAlike) {
  weir_session_options options = {};
  options.deadline_seconds = 30;
  options.aggregators = odd_ ? 2 : 1;
  weir_session* session = nullptr;
  expect_alike(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_E_MISMATCH);
  EXPECT_EQ(session, nullptr);
}

TEST_F(Agreement, IoGroupsAreAlikeAndOfTheNodesThereAre) {
  weir_session_options options = {};
  options.deadline_seconds = 30;
  options.ranks_per_node = 1;
  options.io_groups = odd_ ? "2" : "1";
  weir_session* session = nullptr;
  expect_alike(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_E_MISMATCH);
  options.io_groups = "0,1,1,0,0,0,0";
  expect_alike(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_E_ARGUMENT);
  expect_text("io_groups lists the groups of 7 nodes, but the ranks are on 3");
  EXPECT_EQ(session, nullptr);
  // Two spellings of one list.
  options.io_groups = odd_ ? "0,1,1" : "0,1*2";
  EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_OK) << weir_last_error();
  EXPECT_EQ(weir_session_close(&session), WEIR_OK);
}

TEST_F(Agreement, AFolderThatIsNotThere) {
  Session session(MPI_COMM_WORLD);
  weir_array* array = nullptr;
  expect_alike(weir_array_create(session.get(), path("none/a").c_str(), 2, shape_.data(), "int8",
                                 nullptr, &array),
               WEIR_E_IO);
  expect_text("none/a");
  expect_alike(weir_array_open(session.get(), path("a").c_str(), nullptr, &array), WEIR_E_IO);
}

TEST_F(Agreement, ADescriptionThatIsNone) {
  if (rank_of_world() == 0) {
    std::ofstream(path("a")) << "data";
    std::ofstream(path("a.json")) << "{\"shape\": ";
  }
  meet();
  Session session(MPI_COMM_WORLD);
  weir_array* array = nullptr;
  const int code = weir_array_open(session.get(), path("a").c_str(), nullptr, &array);
  expect_alike(code, code);
  EXPECT_LT(code, 0);
  expect_text("a.json");
}

// One rank may write files of 4 KiB only; every rank gets its failure, and the session goes on.
TEST_F(Agreement, OneRankThatCannotWrite) {
  weir_session_options options = {};
  options.strategy = "direct";
  Session session(MPI_COMM_WORLD, options);
  const Extents shape = {3, 4096};
  const auto rows = session.distribution(shape, "BLOCK, *");
  auto array = session.create<double>(path("a"), shape);
  std::vector<double> part(static_cast<std::size_t>(elements_of(shape)), 1);
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  if (odd_) {
    const rlimit small = {4096, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  const int code = weir_write(array.get(), rows.get(), part.data());
  setrlimit(RLIMIT_FSIZE, &before);
  expect_alike(code, WEIR_E_IO);
  expect_text("rank 1: ");
  expect_text("File too large");
  EXPECT_EQ(weir_write(array.get(), rows.get(), part.data()), 0) << weir_last_error();
}

// One rank leaves the session in a step; the others wait for it, by two ways of leaving.
void expect_reason_on_other_ranks(const std::string& path, std::int64_t ranks_per_node,
                                  bool by_exception) {
  const bool leaves = rank_of_world() == 1;
  weir_session_options options = {};
  options.ranks_per_node = ranks_per_node;
  const auto work = [&](Session& session) {
    const Extents shape = {6, 4};
    File file = session.create_file(path);
    Array density = file.define<double>("density", shape);
    const Distribution rows = session.distribution(shape, "BLOCK, *");
    const auto part = numbered_part<double>(rows, shape);
    file.begin_step();
    density.write(rows, part);
    EXPECT_THROW(static_cast<void>(session.open_file(path + ".missing")), Failure);
    if (leaves && by_exception) throw std::runtime_error("of the program");
    if (leaves) {
      session.abandon("negative pressure\nin cell 7");
      return;
    }
    for (int call = 0; call < 2; ++call) {
      // The first call waits for the rank, or comes when the rank has left; the second one is
      // later.
      EXPECT_EQ(weir_write(density.get(), rows.get(), part.data()), WEIR_E_BROKEN);
      const std::string text = weir_last_error();
      for (const std::string& word :
           {std::string("rank 1: gave the session up in step 0 of '" + path + "': "),
            std::string(by_exception ? "C++ exception; the latest call that failed: "
                                     : "negative pressure in cell 7"),
            std::string(by_exception ? ".missing" : "")}) {
        EXPECT_NE(text.find(word), std::string::npos) << text;
      }
    }
    EXPECT_THROW(session.close(), Failure);
  };
  try {
    // A session that is broken stays, and a file in it: nothing of them can be freed.
    Session session(MPI_COMM_WORLD, options);
    work(session);
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(leaves && by_exception) << error.what();
  }
  meet();
}

TEST_F(Agreement, AReasonToGiveUpReachesAllRanks) {
  for (const std::int64_t ranks_per_node : {0, 1}) {
    for (const bool by_exception : {false, true}) {
      SCOPED_TRACE(std::to_string(ranks_per_node) + (by_exception ? ", by an exception" : ""));
      expect_reason_on_other_ranks(path("plot.zarr"), ranks_per_node, by_exception);
    }
  }
  weir_session* none = nullptr;
  weir_session_abandon_because(&none, "nothing is there");
  weir_session_abandon_because(nullptr, nullptr);
}

// The last test of the program: its messages stay under way.
TEST_F(Agreement, ZARankThatDoesNotCome) {
  weir_session_options options = {};
  options.deadline_seconds = 0.5;
  weir_session* session = nullptr;
  ASSERT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), 0) << weir_last_error();
  weir_distribution* rows = nullptr;
  const auto create = [&] {
    return weir_distribution_create(session, 2, shape_.data(), "BLOCK, *", nullptr, &rows);
  };
  if (!odd_) {
    EXPECT_EQ(create(), WEIR_E_DEADLINE);
    expect_text("deadline");
    EXPECT_EQ(create(), WEIR_E_BROKEN);
    expect_text("close it");
    EXPECT_EQ(weir_session_close(&session), WEIR_E_BROKEN);
    EXPECT_EQ(session, nullptr);
  } else {
    weir_session_abandon(&session);
    EXPECT_EQ(session, nullptr);
  }
}

}  // namespace
}  // namespace weir::test
