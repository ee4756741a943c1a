// Every action on every shape of tree, shared or not, through both interfaces: the run checks
// itself after every phase. Here, what it leaves is counted as `find` would. What must fail is made
// to in metadata_failure_test.cpp.
//
//   metadata_test DIRECTORY      under an MPI launcher
//
// Exit status 0 when all agree.
#include "metadata_test.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measurement/aggregate.hpp"
#include "workloads/metadata/item_ring.hpp"

namespace weir::bench::metadata {
namespace {

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

// Files of more than one piece, made durable, through what moves them piece by piece.
void test_content(Test& test) {
  test.core().durability = storage::Durability::data;
  for (const Api api : {Api::posix, Api::ring, Api::mpi}) {
    if (api == Api::ring && !make_item_ring(1, {})) continue;
    Options options = test.options();
    options.actions = {Action::create, Action::write, Action::read};
    options.bytes = ItemCalls::most_at_once + 3;
    options.queue_depth = 2;
    test.expect_right(test.variant({.total = 3}, api), options,
                      fmt::format("content by {}", name_of(api)));
  }
  test.core().durability = storage::Durability::none;
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
      {Sharing::shared, Api::ring, true,
       "mkdir=2,directory-stat=1,rmdir=1,create=3,stat=1,lstat=1,write=2,read=2,unlink=2"},
      {Sharing::per_rank, Api::mpi, false, "create=2,write=1,read=1,unlink=1"},
  };
  for (const Case& one : cases) {
    if (one.api == Api::ring && !make_item_ring(1, {})) continue;
    Options options = test.options();
    options.queue_depth = 4;
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

  // A tree that is there cannot be made again.
  options.actions = {Action::tree_create};
  test.expect_failure(variant, options, "tree-create",
                      fmt::format("/weir-tree.{}", test.job().rank));
  options.existing = true;
  options.actions = {Action::directory_stat, Action::rmdir, Action::read, Action::unlink,
                     Action::tree_remove};
  test.expect_right(variant, options, "what was kept");
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

// Ranks that run one after the other, as they do where they share few processors.
void test_span(Test& test) {
  constexpr std::int64_t second = 1'000'000'000;
  const Job& job = test.job();
  // Each has a clock of its own, acts for 5 s, and begins 10 s after the one before it.
  const ClockOffset offset{.offset_ns = -job.rank * 100 * second};
  const std::int64_t start = (job.rank * 10 + 1000) * second - offset.offset_ns;
  const ActivePeriod acted{.start_ns = start, .end_ns = start + 5 * second};
  const auto expect = [&](double found, double right, const char* what) {
    test.expect(job.rank != 0 || std::abs(found - right) < 1e-9,
                fmt::format("{}: {} s", what, found));
  };
  const auto last = static_cast<double>(job.size - 1);
  expect(span_over_ranks(job, &acted, offset), 10 * last + 5, "from first start to last end");
  const ActivePeriod pausing{start, start + 5 * second, (job.rank + 1) * second};
  expect(span_over_ranks(job, &pausing, offset), 10 * last + 4, "less the shortest pause");
  const bool is_last = job.rank == job.size - 1;
  expect(span_over_ranks(job, is_last ? &acted : nullptr, offset), 5, "of one rank");
  expect(span_over_ranks(job, nullptr, offset), 0, "of no rank");
  // Each rank of a node acts after the one before it: together they take as long as all of them.
  const std::int64_t begin = 100 * job.node_rank;
  const ActivePeriod in_turn{.start_ns = begin, .end_ns = begin + 100, .paused_ns = 0};
  const double node_span = span_over_node(job, &in_turn);
  const double turns = job.node_rank == 0 ? 100.0 * job.node_size : 0;
  test.expect(std::abs(node_span * 1e9 - turns) < 0.5, "a node's span from start to end");
}

// Each rank begins one item and is past the stonewall then: one item of each is left for all that
// follows, and the next run finds how many.
void test_stonewall(Test& test) {
  const Job& job = test.job();
  const std::string file = test.root() + ".stonewall";
  Options options = test.options();
  options.actions = {Action::create, Action::stat};
  options.stonewall_seconds = 1e-9;
  options.stonewall_file = file;
  options.keep = true;
  for (const Api api : {Api::posix, Api::relative, Api::mpi}) {
    if (api == Api::mpi) options.actions = {Action::create};
    const auto record = test.run(test.variant({.depth = 2}, api), options);
    test.expect(record.ok(), "stonewall: " + (record ? "" : record.error().text()));
    if (!record) continue;
    for (const ActionRecord& phase : record.value().phases) {
      test.expect(phase.operations == 1, fmt::format("{} operations of {} behind a stonewall",
                                                     phase.operations, phase.measured.name()));
    }
    if (job.rank == 0) {
      std::int64_t items = 0;
      std::ifstream(file) >> items;
      test.expect(items == 1, fmt::format("the stonewall's file holds {}", items));
      std::int64_t files = 0;
      for (const auto& entry : fs::recursive_directory_iterator(test.root())) {
        files += entry.is_regular_file() ? 1 : 0;
      }
      test.expect(files == job.size, fmt::format("find sees {} files", files));
      fs::remove(file);
    }
    test.clear();
  }
  options.actions = {Action::create, Action::stat, Action::unlink};
  options.stonewall_seconds = 3600;
  options.keep = false;
  options.stonewall_file.clear();
  test.expect_right(test.variant({.depth = 1}), options, "before the stonewall");
}

// Counters of a network file system's client that stand still: every phase says so, on one rank of
// a node, and where there are none nobody says anything.
void test_server_calls(Test& test) {
  const Job& job = test.job();
  const std::string counters = test.root() + ".mountstats";
  if (job.rank == 0) {
    std::ofstream(counters) << "device server:/e mounted on /m with fstype nfs4 statvers=1.1\n"
                               "\tper-op statistics\n\t GETATTR: 3 3 0 1 1 0 0 0 0\n";
  }
  MPI_Barrier(job.world);
  Options options = test.options();
  options.actions = {Action::create, Action::stat};
  for (const char* point : {"/m", "/other"}) {
    const bool counted = std::string_view(point) == "/m";
    Executor executor(job, test.guard(), test.core(), options, test.root(), Test::seed,
                      ClientCalls(counters, point));
    test.expect(executor.counts_server_calls() == counted, "who counts");
    const auto record = executor.run(test.variant({}));
    test.expect(record.ok() && record.value().phases.size() == 2, "a counted run");
    if (!record) continue;
    for (const ActionRecord& phase : record.value().phases) {
      const bool tells = counted && job.node_rank == 0;
      test.expect(phase.server_calls.has_value() == tells, "who tells");
      const auto all = sum_over_nodes(job, phase.server_calls);
      test.expect(all.has_value() == (counted && job.rank == 0), "what rank 0 knows");
      test.expect(!all || all->empty(), "calls that nobody made");
    }
  }
  const auto sum = sum_over_nodes(job, CallCounts{{"GETATTR", 2}, {"LOOKUP", 1}});
  test.expect(job.rank != 0 || (sum && sum->at("GETATTR") == 2 * job.nodes), "a sum over nodes");
  MPI_Barrier(job.world);
  if (job.rank == 0) fs::remove(counters);
  test.clear();
}

// Returns how much was wrong on all ranks.
int test_in(const std::string& parent) {
  const Job job = Job::create(Test::deadline_seconds);
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
    test_content(test);
    test_shift_after_preparation(test);
    test_mix(test);
    test_long_and_foreign_names(test);
    test_kept(test);
    test_shift_of_what_was_kept(test);
    test_server_calls(test);
    test_span(test);
    test_stonewall(test);
    test_failures(test);
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
