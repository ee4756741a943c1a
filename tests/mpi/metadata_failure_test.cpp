// What must fail is made to: by calls that fail, by changing the tree behind the run's back, and by
// giving the checks what is wrong.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <ostream>
#include <string>
#include <thread>

#include "faulty_calls.h"
#include "metadata.hpp"
#include "workloads/metadata/patient_barrier.hpp"
#include "workloads/metadata/verify.hpp"

namespace weir::bench::metadata {
namespace {

class MetadataFailures : public Metadata {};

TEST_F(MetadataFailures, TheCheckAfterAMixTellsWhatIsMissingTooMuchOrMiscounted) {
  const Variant shape = variant({});
  const NameRules names{.root = folder()};
  PathWriter path(names, shape.shape);
  FileContent content(options_.bytes, seed);
  auto opened = OpenCalls::open(*interface_named("posix"), {}, content, {});
  ASSERT_TRUE(is_ok(opened));
  NameCalls& calls = *opened.value().calls;
  const int rank = job().rank;
  TreeCheck check(job(), options_, shape.shape, names, seed, [] {});
  if (rank == 0) fs::create_directory(path.directory(0, 0));
  MPI_Barrier(job().world);
  const std::string file = path.item(Kind::file, rank, 0, false, false);
  const auto found = [&](std::int64_t item, bool there) {
    return check.mixed_item(Kind::file, rank, item, there, calls, path);
  };
  EXPECT_EQ(calls.make({.call = NameCall::create,
                        .place = {AT_FDCWD, file.c_str()},
                        .bytes = options_.bytes,
                        .exclusive = true}),
            0);
  EXPECT_TRUE(is_ok(found(0, true)));
  EXPECT_TRUE(is_ok(found(1, false)));
  for (const Status& wrong : {found(0, false), found(1, true)}) {
    EXPECT_FALSE(wrong.ok());
    if (wrong) continue;
    EXPECT_EQ(wrong.error().operation, "mix");
    EXPECT_EQ(wrong.error().code, ErrorCode::corrupt);
  }
  std::ofstream(file) << std::string(static_cast<std::size_t>(options_.bytes), 'x');
  EXPECT_FALSE(found(0, true).ok()) << "other content is passed over";
  const TreeState state{.tree = true, .files = true};
  MPI_Barrier(job().world);
  EXPECT_TRUE(is_ok(check.listings(Action::mix, state, path)));
  EXPECT_TRUE(is_ok(check.mixed_totals(1, 0)));
  EXPECT_FALSE(check.mixed_totals(2, 0).ok());
  EXPECT_FALSE(check.mixed_totals(1, 1).ok());
  clear();
}

// A tree of files that an earlier run kept.
class DisturbedTrees : public Metadata {
 protected:
  // `change` is made on rank 0.
  template <typename Change>
  void expect_failure_after(Change change, Action action, const std::string& operation,
                            const std::string& end) {
    const Variant kept = variant({.branching = 2, .depth = 1});
    options_.actions = {Action::create};
    options_.keep = true;
    ASSERT_TRUE(is_ok_on_all_ranks(run(kept, options_)));
    if (job().rank == 0) change();
    MPI_Barrier(job().world);
    options_.existing = true;
    options_.kinds.directories = false;
    options_.actions = {action};
    expect_failure(kept, options_, operation, end);
    clear();
  }
  // The first file of the last rank.
  [[nodiscard]] std::string file() const { return fmt::format("/file.{}.0", job().size - 1); }
  [[nodiscard]] std::string file_path() const { return path("weir-tree") + file(); }
};

TEST_F(DisturbedTrees, AFileThatIsGoneIsNamed) {
  expect_failure_after([&] { fs::remove(file_path()); }, Action::stat, "stat", file());
}

TEST_F(DisturbedTrees, AFileOfAnotherSizeIsNamed) {
  expect_failure_after([&] { fs::resize_file(file_path(), 3); }, Action::stat, "stat", file());
}

TEST_F(DisturbedTrees, AFileThatNobodyMadeIsNamed) {
  const std::string stranger = "/weir-tree/d.1/stranger";
  expect_failure_after([&] { std::ofstream(folder() + stranger) << "x"; }, Action::stat, "stat",
                       stranger);
}

TEST_F(DisturbedTrees, AFileThatEndsTooEarlyIsNamedWhenItIsRead) {
  expect_failure_after([&] { fs::resize_file(file_path(), 3); }, Action::read, "read", file());
}

struct FailingCall {
  Action action = Action::create;
  const char* call = "";
  int error = EIO;

  friend void PrintTo(const FailingCall& one, std::ostream* out) { *out << one.call; }
};

class FailingCalls : public Metadata, public ::testing::WithParamInterface<FailingCall> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, FailingCalls,
    ::testing::Values(
        FailingCall{Action::tree_create, "mkdirat"}, FailingCall{Action::mkdir, "mkdirat"},
        FailingCall{Action::directory_stat, "fstatat"},
        FailingCall{Action::directory_rename, "renameat"}, FailingCall{Action::rmdir, "unlinkat"},
        FailingCall{Action::create, "openat"}, FailingCall{Action::create, "write"},
        FailingCall{Action::create, "close"}, FailingCall{Action::open, "openat"},
        FailingCall{Action::close, "close"}, FailingCall{Action::stat, "fstatat"},
        FailingCall{Action::lstat, "fstatat"}, FailingCall{Action::utime, "utimensat"},
        FailingCall{Action::chmod, "fchmodat"}, FailingCall{Action::write, "openat"},
        FailingCall{Action::write, "write"}, FailingCall{Action::read, "read"},
        FailingCall{Action::read, "close"}, FailingCall{Action::truncate, "truncate"},
        FailingCall{Action::setxattr, "setxattr"}, FailingCall{Action::getxattr, "getxattr"},
        FailingCall{Action::rename, "renameat"}, FailingCall{Action::rename_across, "renameat"},
        FailingCall{Action::link, "linkat"}, FailingCall{Action::symlink, "symlinkat"},
        FailingCall{Action::readlink, "readlinkat"}, FailingCall{Action::readdir, "opendir"},
        FailingCall{Action::readdir, "readdir"}, FailingCall{Action::create, "openat", EDQUOT},
        FailingCall{Action::mkdir, "mkdirat", EDQUOT}, FailingCall{Action::unlink, "unlinkat"},
        FailingCall{Action::tree_remove, "unlinkat"}),
    [](const auto& tested) {
      const FailingCall& one = tested.param;
      return short_name(std::string(facts_of(one.action).name)) + "By" + one.call +
             (one.error == EDQUOT ? "OverQuota" : "");
    });

TEST_P(FailingCalls, AreToldWithOperationFileCauseAndRank) {
  if (job().size != 2) GTEST_SKIP() << "two ranks show it";
  const FailingCall& one = GetParam();
  const ActionFacts& facts = facts_of(one.action);
  const bool of_directories = facts.subject == Subject::directory;
  const Variant tree = variant({.branching = 2, .depth = 1});
  Options options = options_;
  if (!facts.makes && facts.subject != Subject::tree) {
    options.actions = {of_directories ? Action::mkdir : Action::create};
    options.keep = true;
    ASSERT_TRUE(is_ok_on_all_ranks(run(tree, options)));
    options.existing = true;
    options.kinds = {.files = !of_directories, .directories = of_directories};
  }
  options.actions = {one.action};
  // The tree that all share is made by rank 0.
  const bool here = job().rank == (facts.subject == Subject::tree ? 0 : 1);
  if (here) fail_next(one.call, "/weir-tree", one.error);
  const auto record = run(tree, options);
  EXPECT_EQ(has_failed() != 0, here) << "whether the call is made";
  clear();
  ASSERT_FALSE(record.ok());
  if (!here) return;
  const Error& error = record.error();
  EXPECT_EQ(error.operation, facts.name);
  EXPECT_EQ(error.system_error, one.error);
  EXPECT_EQ(error.rank, job().rank);
  EXPECT_NE(error.file.find("/weir-tree"), std::string::npos) << error.text();
  EXPECT_EQ(error.text().find('\n'), std::string::npos) << error.text();
}

// Root may write everywhere but below what is no directory.
TEST_F(MetadataFailures, NothingIsMadeBelowAFile) {
  const std::string file = path("file");
  if (job().rank == 0) std::ofstream(file) << "x";
  MPI_Barrier(job().world);
  options_.actions = {Action::create};
  Executor executor(job(), guard(), core_, options_, file, seed);
  const auto record = executor.run(variant({}));
  clear();
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(executor.failed_rank(), 0);
  if (job().rank == 0) {
    EXPECT_EQ(record.error().system_error, ENOTDIR) << record.error().text();
  }
}

// One rank works on while the other waits: each of its signs is a round, in which patience begins
// anew; the barrier is passed after its last, and a failure is told all the same.
TEST_F(MetadataFailures, ARankThatWorksOnIsWaitedForAndItsFailureIsTold) {
  if (job().size != 2) GTEST_SKIP() << "two ranks show it";
  constexpr std::int64_t signs = 20;
  constexpr Patience patience{
      .sign_after_ns = 0, .give_up_after_ns = static_cast<std::int64_t>(deadline_seconds * 1e9)};
  const std::string finished = path("finished");
  PatientBarrier barrier(job().world, patience);
  if (job().rank == 0) {
    while (barrier.rounds() < signs) {
      barrier.still_working();
      std::this_thread::yield();
    }
    std::ofstream(finished) << "x";
  }
  const auto met = barrier.wait(job().rank == 0 ? 0 : none_failed);
  EXPECT_TRUE(fs::exists(finished)) << "the barrier is passed while a rank works";
  EXPECT_TRUE(is_ok(met));
  if (met) {
    EXPECT_EQ(met.value().failed_rank, 0);
  }
  std::int64_t most = barrier.rounds();
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, job().world);
  EXPECT_EQ(barrier.rounds(), most);
  EXPECT_GT(most, signs);
  clear();
}

}  // namespace
}  // namespace weir::bench::metadata
