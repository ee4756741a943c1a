// Every action on every shape of tree, shared or not, through both interfaces: the run checks
// itself after every phase. Here, what it leaves is counted as `find` would, and what must fail is
// made to.
//
//   metadata_test DIRECTORY      under an MPI launcher
//
// Exit status 0 when all agree.
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "faulty_calls.h"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "workloads/metadata/execute.hpp"
#include "workloads/metadata/item_ring.hpp"
#include "workloads/metadata/parameters.hpp"
#include "workloads/metadata/patient_barrier.hpp"
#include "workloads/metadata/plan.hpp"
#include "workloads/metadata/verify.hpp"

namespace weir::bench::metadata {
namespace {

namespace fs = std::filesystem;
constexpr double deadline_seconds = 60;
constexpr std::uint64_t seed = 11;
constexpr std::int64_t items = 7;

class Test {
 public:
  Test(const Job& job, FailureGuard& guard, std::string root)
      : job_(job), guard_(guard), root_(std::move(root)) {
    core_.deadline_seconds = deadline_seconds;
    core_.durability = storage::Durability::none;
    core_.rank_shift = 1;
    for (const ActionFacts& facts : all_actions()) options_.actions.push_back(facts.action);
    options_.shift_given = true;
    options_.bytes = 500;
    options_.truncate_to = 70;
  }

  void expect(bool holds, const std::string& what) {
    if (holds) return;
    ++failures_;
    fmt::print(stderr, "WRONG on rank {}: {}\n", job_.rank, what);
  }

  [[nodiscard]] Variant variant(TreeShape shape, Api api = Api::posix) {
    shape.ranks = job_.size;
    if (shape.total == 0) shape.items_per_rank = items;
    const auto checked = checked_shape(shape);
    expect(checked.ok(), "the shape is refused");
    return {.api = api, .shape = checked.value(), .label = "", .slug = ""};
  }

  Result<RepetitionRecord> run(const Variant& variant, const Options& options) {
    Executor executor(job_, guard_, core_, options, root_, seed);
    auto record = executor.run(variant);
    MPI_Barrier(job_.world);
    return record;
  }

  // Everything is done, and nothing is left.
  void expect_right(const Variant& variant, const Options& options, const std::string& what) {
    const auto record = run(variant, options);
    expect(record.ok(), what + ": " + (record ? "" : record.error().text()));
    expect(fs::is_empty(root_), what + ": something is left");
    if (record) expect_counts(record.value(), variant, options, what);
    clear();
  }

  // Fails on every rank, where it happens with `operation` on a path that ends in `end`.
  void expect_failure(const Variant& variant, const Options& options, const std::string& operation,
                      const std::string& end) {
    const auto record = run(variant, options);
    expect(!record.ok(), operation + " did not fail");
    if (record) return;
    const Error& error = record.error();
    if (error.code == ErrorCode::peer) return;
    expect(error.operation == operation && error.file.ends_with(end) && error.rank == job_.rank,
           "wrong failure: " + error.text());
    expect(error.text().find('\n') == std::string::npos, "more than a line: " + error.text());
  }

  void clear() {
    MPI_Barrier(job_.world);
    if (job_.rank == 0) {
      for (const auto& entry : fs::directory_iterator(root_)) fs::remove_all(entry.path());
    }
    MPI_Barrier(job_.world);
  }

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] FailureGuard& guard() { return guard_; }
  [[nodiscard]] Options options() const { return options_; }
  [[nodiscard]] CoreSettings& core() { return core_; }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  void expect_counts(const RepetitionRecord& record, const Variant& variant, const Options& options,
                     const std::string& what) {
    const auto actions = actions_on(options, variant);
    expect(record.phases.size() == actions.size(), what + ": phases");
    std::vector<std::int64_t> mine;
    for (const ActionRecord& phase : record.phases) {
      mine.push_back(phase.operations);
      expect(phase.elapsed_ns >= 0 && phase.busy_ns >= 0, what + ": times");
      if (facts_of(phase.measured.action).subject != Subject::listing) {
        expect(phase.latencies.count() == static_cast<std::uint64_t>(phase.operations),
               what + ": latencies");
      }
    }
    std::vector<std::int64_t> all(mine.size());
    MPI_Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_INT64_T, MPI_SUM,
                  job_.world);
    const auto plan = plan_json(variant, options)["metadata"];
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int64_t expected = plan[i]["operations"];
      expect(all[i] == expected, fmt::format("{}: {} did {} operations instead of {}", what,
                                             facts_of(actions[i]).name, all[i], expected));
    }
  }

  const Job& job_;
  FailureGuard& guard_;
  std::string root_;
  CoreSettings core_;
  Options options_;
  int failures_ = 0;
};

void test_everything(Test& test) {
  struct Case {
    Sharing sharing;
    Api api;
    std::int64_t depth;
    bool leaf_only;
    bool random;
    bool one_creator;
    std::int64_t total;
  };
  constexpr Case cases[] = {
      {Sharing::shared, Api::posix, 0, false, true, false, 0},
      {Sharing::shared, Api::relative, 2, false, false, true, 0},
      {Sharing::shared, Api::posix, 1, true, true, false, 9},
      {Sharing::per_rank, Api::relative, 0, false, true, false, 9},
      {Sharing::per_rank, Api::posix, 2, true, false, true, 0},
      {Sharing::one_file, Api::posix, 0, false, false, false, 0},
      {Sharing::one_file, Api::relative, 1, false, true, true, 0},
      {Sharing::shared, Api::ring, 1, false, true, false, 9},
      {Sharing::per_rank, Api::ring, 0, false, false, true, 0},
      {Sharing::shared, Api::mpi, 1, false, true, false, 9},
      {Sharing::one_file, Api::mpi, 0, false, false, false, 0},
  };
  for (const Case& one : cases) {
    if (one.api == Api::ring && !make_item_ring(1, {})) {
      if (test.job().rank == 0) fmt::print("no io_uring here: not tried\n");
      continue;
    }
    Options options = test.options();
    if (one.api == Api::ring || one.api == Api::mpi) options.bytes = 0;
    options.queue_depth = 3;
    options.random_order = one.random;
    options.one_creator = one.one_creator;
    if (one.leaf_only) options.size_rule = SizeRule::exponential;
    const Variant variant = test.variant({.branching = 2,
                                          .depth = one.depth,
                                          .leaf_only = one.leaf_only,
                                          .sharing = one.sharing,
                                          .total = one.total},
                                         one.api);
    test.expect_right(variant, options,
                      fmt::format("{} {} depth {}{}", name_of(one.api), name_of(one.sharing),
                                  one.depth, one.leaf_only ? " leaves" : ""));
  }
}

// Each action alone makes what it needs and takes it away.
void test_one_by_one(Test& test) {
  const Variant variant = test.variant({.branching = 2, .depth = 1});
  for (const ActionFacts& facts : all_actions()) {
    Options options = test.options();
    options.actions = {facts.action};
    test.expect_right(variant, options, std::string(facts.name));
  }
}

// What a rank has made, the next one measures, also where the making was no measured phase.
void test_shift_after_preparation(Test& test) {
  const Job& job = test.job();
  // The first rank has one item more, so that counts tell whose items were visited.
  const Variant variant = test.variant({.total = job.size + 1});
  for (const Action action :
       {Action::directory_stat, Action::stat, Action::open, Action::getxattr, Action::readlink}) {
    Options options = test.options();
    options.actions = {action};
    const auto record = test.run(variant, options);
    const std::string name(facts_of(action).name);
    test.expect(record.ok(), name + ": " + (record ? "" : record.error().text()));
    if (!record) continue;
    test.expect(
        record.value().phases.front().operations == variant.shape.items((job.rank + 1) % job.size),
        name + " visits what the rank itself has made");
  }
}

// What a mix did adds up, checks itself and leaves nothing.
void test_mix(Test& test) {
  struct Case {
    Sharing sharing;
    Api api;
    bool random;
    const char* mix;
  };
  constexpr Case cases[] = {
      {Sharing::shared, Api::posix, true, "create=30,stat=50,unlink=20"},
      {Sharing::per_rank, Api::relative, false,
       "mkdir=2,directory-stat=1,rmdir=1,create=2,lstat=1,utime=1,chmod=1,write=1,read=1,unlink=1"},
      {Sharing::shared, Api::relative, false, "unlink=1"},
  };
  for (const Case& one : cases) {
    Options options = test.options();
    options.actions.clear();
    options.random_order = one.random;
    options.size_rule = SizeRule::uniform;
    auto mix = mix_of(one.mix);
    test.expect(mix.ok(), one.mix);
    if (!mix) continue;
    options.mix = std::move(mix).value();
    options.mix_operations = 60;
    const Variant variant = test.variant(
        {.branching = 2, .depth = 1, .sharing = one.sharing, .total = 5 * test.job().size + 1},
        one.api);
    const auto record = test.run(variant, options);
    test.expect(record.ok(), fmt::format("{}: {}", one.mix, record ? "" : record.error().text()));
    test.expect(fs::is_empty(test.root()), fmt::format("{} leaves something", one.mix));
    MPI_Barrier(test.job().world);
    if (!record) continue;
    const std::vector<ActionRecord>& phases = record.value().phases;
    test.expect(phases.size() == 1 + options.mix.size() && phases[0].measured.name() == "mix" &&
                    phases[1].measured.name() ==
                        fmt::format("mix/{}", facts_of(options.mix[0].action).name),
                fmt::format("{}: figures of other things", one.mix));
    std::int64_t parts = 0;
    for (std::size_t i = 1; i < phases.size(); ++i) parts += phases[i].operations;
    // What only removes ends when the next rank's items are gone.
    const std::int64_t next = variant.shape.items((test.job().rank + 1) % test.job().size);
    const std::int64_t expected = options.mix.size() == 1 ? next : options.mix_operations;
    test.expect(
        parts == phases[0].operations && parts == expected &&
            phases[0].latencies.count() == static_cast<std::uint64_t>(parts),
        fmt::format("{}: {} operations, {} of its parts", one.mix, phases[0].operations, parts));
  }
}

// The check after a mix: what is missing, what is too much and wrong counts are told.
void test_check_of_mix(Test& test) {
  Options options = test.options();
  const Variant variant = test.variant({});
  const NameRules names{.root = test.root()};
  PathWriter path(names, variant.shape);
  ItemCalls calls(options.bytes, seed, storage::Durability::none);
  const int rank = test.job().rank;
  TreeCheck check(test.job(), options, variant.shape, names, seed, [] {});
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

void test_long_and_foreign_names(Test& test) {
  Options options = test.options();
  options.prefix = "Ünï ☃\n-*?";
  options.name_length = 255;
  options.actions = {Action::mkdir, Action::directory_rename, Action::rename, Action::symlink,
                     Action::readdir};
  test.expect_right(test.variant({.branching = 3, .depth = 1}), options, "names of 255 bytes");
}

// What is kept is what `find` counts, and a later run finds it.
void test_kept(Test& test) {
  const Variant variant = test.variant({.branching = 3, .depth = 2, .sharing = Sharing::per_rank});
  Options options = test.options();
  options.actions = {Action::tree_create, Action::mkdir, Action::create};
  options.keep = true;
  const auto kept = test.run(variant, options);
  test.expect(kept.ok(), "kept: " + (kept ? "" : kept.error().text()));
  std::int64_t files = 0;
  std::int64_t directories = 0;
  for (const auto& entry : fs::recursive_directory_iterator(test.root())) {
    files += entry.is_regular_file() ? 1 : 0;
    directories += entry.is_directory() ? 1 : 0;
  }
  test.expect(files == variant.shape.all_items(), fmt::format("find sees {} files", files));
  test.expect(directories == variant.shape.all_items() + variant.shape.trees() * 13,
              fmt::format("find sees {} directories", directories));
  MPI_Barrier(test.job().world);

  // The same tree cannot be made again.
  options.actions = {Action::tree_create};
  test.expect_failure(variant, options, "tree-create",
                      fmt::format("/weir-tree.{}", test.job().rank));
  options.existing = true;
  options.actions = {Action::directory_stat, Action::rmdir, Action::read, Action::unlink,
                     Action::tree_remove};
  test.expect_right(variant, options, "what was kept");
}

void make_tree(Test& test, const Variant& variant) {
  Options options = test.options();
  options.actions = {Action::create};
  options.keep = true;
  test.expect(test.run(variant, options).ok(), "a tree of files");
}

// Of what an earlier run kept, too, a rank handles the next one's items.
void test_shift_of_what_was_kept(Test& test) {
  const Job& job = test.job();
  const Variant variant = test.variant({.total = job.size + 1});
  Options options = test.options();
  options.actions = {Action::create};
  options.keep = true;
  test.expect(test.run(variant, options).ok(), "files are kept");
  options.existing = true;
  options.keep = false;
  options.directories = false;
  options.actions = {Action::stat};
  const auto record = test.run(variant, options);
  test.expect(record.ok() && record.value().phases.front().operations ==
                                 variant.shape.items((job.rank + 1) % job.size),
              "what was kept is not looked up by the next rank");
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
  Executor executor(test.job(), test.guard(), test.core(), options, test.root() + "/file", seed);
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
      .sign_after_ns = 0, .give_up_after_ns = static_cast<std::int64_t>(deadline_seconds * 1e9)};
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

// Returns how much was wrong on all ranks.
int test_in(const std::string& parent) {
  const Job job = Job::create(deadline_seconds);
  const std::string root = fmt::format("{}/weir-metadata-test-{}", parent, job.size);
  if (job.rank == 0) {
    fs::remove_all(root);
    fs::create_directories(root);
  }
  MPI_Barrier(job.world);
  int mine = 0;
  {
    FailureGuard guard(job, root, {});
    Test test(job, guard, root);
    test_everything(test);
    if (job.size == 2) test_one_by_one(test);
    test_shift_after_preparation(test);
    test_mix(test);
    test_check_of_mix(test);
    test_long_and_foreign_names(test);
    test_kept(test);
    test_shift_of_what_was_kept(test);
    test_disturbed(test);
    test_unwritable(test);
    if (job.size == 2) test_unequal_work(test);
    if (job.size == 2) test_failing_calls(test);
    mine = test.failures();
  }
  MPI_Barrier(job.world);
  if (job.rank == 0) fs::remove_all(root);
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, job.world);
  if (job.rank == 0) fmt::print("{} ranks, {} wrong\n", job.size, all);
  return all;
}

}  // namespace
}  // namespace weir::bench::metadata

int main(int argc, char** argv) {
  weir::bench::prepare_signals();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const int wrong = weir::bench::metadata::test_in(argc > 1 ? argv[1] : ".");
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
