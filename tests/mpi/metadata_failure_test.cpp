// What must fail is made to: by calls that fail, by changing the tree behind the run's back, and by
// giving the checks what is wrong.
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <thread>

#include "faulty_calls.h"
#include "metadata_test.hpp"
#include "workloads/metadata/patient_barrier.hpp"
#include "workloads/metadata/verify.hpp"

namespace weir::bench::metadata {
namespace {

// The check after a mix: what is missing, what is too much and wrong counts are told.
void test_check_of_mix(Test& test) {
  Options options = test.options();
  const Variant variant = test.variant({});
  const NameRules names{.root = test.root()};
  PathWriter path(names, variant.shape);
  ItemCalls calls(options.bytes, Test::seed, storage::Durability::none);
  const int rank = test.job().rank;
  TreeCheck check(test.job(), options, variant.shape, names, Test::seed, [] {});
  if (rank == 0) fs::create_directory(path.directory(0, 0));
  MPI_Barrier(test.job().world);
  const std::string file = path.item(Kind::file, rank, 0, false, false);
  const auto found = [&](std::int64_t item, bool there) {
    return check.mixed_item(Kind::file, rank, item, there, calls, path);
  };
  test.expect(calls.create({AT_FDCWD, file.c_str()}, options.bytes, true) == 0, "a file");
  test.expect(found(0, true).ok() && found(1, false).ok(), "what is as it should be is refused");
  for (const Status& wrong : {found(0, false), found(1, true)}) {
    test.expect(
        !wrong && wrong.error().operation == "mix" && wrong.error().code == ErrorCode::corrupt,
        "what is wrong after a mix is passed over");
  }
  std::ofstream(file) << std::string(static_cast<std::size_t>(options.bytes), 'x');
  test.expect(!found(0, true).ok(), "other content is passed over");
  const TreeState state{.tree = true, .files = true};
  MPI_Barrier(test.job().world);
  test.expect(check.listings(Action::mix, state, path).ok(), "the listing is refused");
  test.expect(check.mixed_totals(1, 0).ok(), "right counts are refused");
  test.expect(!check.mixed_totals(2, 0).ok() && !check.mixed_totals(1, 1).ok(),
              "wrong counts are passed over");
  test.clear();
}

void make_tree(Test& test, const Variant& variant) {
  Options options = test.options();
  options.actions = {Action::create};
  options.keep = true;
  test.expect(test.run(variant, options).ok(), "a tree of files");
}

// What is done to the tree behind the run's back is told by name.
void test_disturbed(Test& test) {
  const Variant variant = test.variant({.branching = 2, .depth = 1});
  const int last = test.job().size - 1;
  const std::string file = fmt::format("/file.{}.0", last);
  const std::string path = test.root() + "/weir-tree" + file;
  const auto disturb = [&](auto change) {
    make_tree(test, variant);
    if (test.job().rank == 0) change();
    MPI_Barrier(test.job().world);
  };
  Options options = test.options();
  options.existing = true;
  options.keep = true;
  options.directories = false;
  options.actions = {Action::stat};
  disturb([&] { fs::remove(path); });
  test.expect_failure(variant, options, "stat", file);
  test.clear();
  disturb([&] { fs::resize_file(path, 3); });
  test.expect_failure(variant, options, "stat", file);
  test.clear();
  disturb([&] { std::ofstream(test.root() + "/weir-tree/d.1/stranger") << "x"; });
  test.expect_failure(variant, options, "stat", "/weir-tree/d.1/stranger");
  test.clear();
  options.actions = {Action::read};
  disturb([&] { fs::resize_file(path, 3); });
  test.expect_failure(variant, options, "read", file);
  test.clear();
}

// Every call that fails is told with its operation, file, cause and rank, whatever the action.
void test_failing_calls(Test& test) {
  struct Case {
    Action action = Action::create;
    const char* call = "";
    int error = EIO;
  };
  constexpr Case cases[] = {
      {Action::tree_create, "mkdirat"},
      {Action::mkdir, "mkdirat"},
      {Action::directory_stat, "fstatat"},
      {Action::directory_rename, "renameat"},
      {Action::rmdir, "unlinkat"},
      {Action::create, "openat"},
      {Action::create, "write"},
      {Action::create, "close"},
      {Action::open, "openat"},
      {Action::close, "close"},
      {Action::stat, "fstatat"},
      {Action::lstat, "fstatat"},
      {Action::utime, "utimensat"},
      {Action::chmod, "fchmodat"},
      {Action::write, "openat"},
      {Action::write, "write"},
      {Action::read, "read"},
      {Action::read, "close"},
      {Action::truncate, "truncate"},
      {Action::setxattr, "setxattr"},
      {Action::getxattr, "getxattr"},
      {Action::rename, "renameat"},
      {Action::rename_across, "renameat"},
      {Action::link, "linkat"},
      {Action::symlink, "symlinkat"},
      {Action::readlink, "readlinkat"},
      {Action::readdir, "opendir"},
      {Action::readdir, "readdir"},
      {Action::create, "openat", EDQUOT},
      {Action::mkdir, "mkdirat", EDQUOT},
      {Action::unlink, "unlinkat"},
      {Action::tree_remove, "unlinkat"},
  };
  const Variant variant = test.variant({.branching = 2, .depth = 1});
  for (const Case& one : cases) {
    const ActionFacts& facts = facts_of(one.action);
    const bool of_directories = facts.subject == Subject::directory;
    Options options = test.options();
    if (!facts.makes && facts.subject != Subject::tree) {
      options.actions = {of_directories ? Action::mkdir : Action::create};
      options.keep = true;
      test.expect(test.run(variant, options).ok(), "what a failing call is tried on");
      options.existing = true;
      options.files = !of_directories;
      options.directories = of_directories;
    }
    options.actions = {one.action};
    // The tree that all share is made by rank 0.
    const bool here = test.job().rank == (facts.subject == Subject::tree ? 0 : 1);
    if (here) fail_next(one.call, "/weir-tree", one.error);
    const auto record = test.run(variant, options);
    const std::string what = fmt::format("{} with a failing {}", facts.name, one.call);
    test.expect((has_failed() != 0) == here, what + " does not call it");
    test.expect(!record.ok(), what + " passes");
    if (!record && here) {
      const Error& error = record.error();
      test.expect(error.operation == facts.name && error.system_error == one.error &&
                      error.rank == test.job().rank &&
                      error.file.find("/weir-tree") != std::string::npos &&
                      error.text().find('\n') == std::string::npos,
                  what + ": " + error.text());
    }
    test.clear();
  }
}

// Nothing can be made where nothing may be; root may everywhere but below what is no directory.
void test_unwritable(Test& test) {
  if (test.job().rank == 0) std::ofstream(test.root() + "/file") << "x";
  MPI_Barrier(test.job().world);
  Options options = test.options();
  options.actions = {Action::create};
  Executor executor(test.job(), test.guard(), test.core(), options, test.root() + "/file",
                    Test::seed);
  const auto record = executor.run(test.variant({}));
  test.expect(!record.ok() && executor.failed_rank() == 0, "a directory that is a file");
  if (!record && test.job().rank == 0) {
    test.expect(record.error().system_error == ENOTDIR, record.error().text());
  }
  test.clear();
}

// One rank works on while the other waits: each of its signs is a round, in which patience begins
// anew; the barrier is passed after its last, and a failure is told all the same.
void test_unequal_work(Test& test) {
  constexpr std::int64_t signs = 20;
  constexpr Patience patience{
      .sign_after_ns = 0,
      .give_up_after_ns = static_cast<std::int64_t>(Test::deadline_seconds * 1e9)};
  const Job& job = test.job();
  const std::string finished = test.root() + "/finished";
  PatientBarrier barrier(job.world, patience);
  if (job.rank == 0) {
    while (barrier.rounds() < signs) {
      barrier.still_working();
      std::this_thread::yield();
    }
    std::ofstream(finished) << "x";
  }
  const auto met = barrier.wait(job.rank == 0 ? 0 : none_failed);
  test.expect(fs::exists(finished), "the barrier is passed while a rank works");
  test.expect(met.ok() && met.value().failed_rank == 0,
              "a barrier after unequal work: " + (met ? "" : met.error().text()));
  std::int64_t most = barrier.rounds();
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, job.world);
  test.expect(barrier.rounds() == most && most > signs,
              fmt::format("{} rounds of at most {}", barrier.rounds(), most));
  test.clear();
}

}  // namespace

void test_failures(Test& test) {
  test_check_of_mix(test);
  test_disturbed(test);
  test_unwritable(test);
  if (test.job().size == 2) test_unequal_work(test);
  if (test.job().size == 2) test_failing_calls(test);
}

}  // namespace weir::bench::metadata
