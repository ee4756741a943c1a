// What the metadata workload does: its settings, and the configurations that their lists make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "workloads/metadata/action.hpp"
#include "workloads/metadata/mix.hpp"
#include "workloads/metadata/tree.hpp"

namespace weir::bench::metadata {

// How the system is called: with whole paths, relative to the opened root of the tree, by io_uring,
// or by MPI-IO.
enum class Api { posix, relative, ring, mpi };
[[nodiscard]] const char* name_of(Api api);  // as users give them: POSIX, AT, io_uring, MPIIO
[[nodiscard]] const char* name_of(Sharing sharing);  // shared, per-rank, one-file

enum class SizeRule { constant, uniform, exponential };

// One configuration.
struct Variant {
  Api api = Api::posix;
  TreeShape shape;
  std::string label;  // "POSIX shared 1000 items, depth 2 of 10"
  std::string slug;   // no two configurations of a job share one
};

// What a repetition has figures of: a phase, or one of the operations that a mix is made of.
struct Measured {
  Action action = Action::create;
  bool of_mix = false;
  // As results spell it: "create", "mix", "mix/create".
  [[nodiscard]] std::string name() const;
};

// What all configurations of a job share.
struct Options {
  std::vector<Action> actions;      // measured, in the order in which they run
  std::vector<Action> named;        // those of them that were asked for by their own names
  std::vector<MixPart> mix;         // measured instead of actions; empty: none
  std::int64_t mix_operations = 0;  // of every rank; 0: as many as it has items
  bool shift_given = false;         // --rank-shift
  bool random_order = false;        // of what exists already
  bool one_creator = false;         // rank 0 makes and removes everything
  std::int64_t bytes = 0;           // of a file; the mean of a distribution
  SizeRule size_rule = SizeRule::constant;
  std::int64_t read_bytes = -1;  // of a file; -1: all it holds
  std::int64_t truncate_to = 0;
  double delay_seconds = 0;
  bool sync_phases = false;
  int queue_depth = 1;           // of io_uring
  double stonewall_seconds = 0;  // 0: phases end with their items
  std::string stonewall_file;    // empty: none
  bool make_directory = false;
  bool keep = false;
  bool existing = false;
  bool files = true;  // with `existing`: what an earlier run kept
  bool directories = true;
  std::string prefix;
  std::int64_t name_length = 0;
  bool mdtest_rates = false;  // print mdtest's table
  bool mdtest_times = false;  // print it in seconds
  bool metarates = false;     // print metarates' table

  // The size of a rank's file.
  [[nodiscard]] std::int64_t size_of(std::uint64_t seed, std::int64_t rank,
                                     std::int64_t item) const;
  // The largest that size_of() gives.
  [[nodiscard]] std::int64_t largest_size() const;
};

// The workload's own settings and the core's.
[[nodiscard]] std::vector<Setting> declarations();

[[nodiscard]] Result<Options> options_of(const Settings& settings);
// The product of the lists of --api and --sharing.
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings,
                                                       std::int64_t ranks);
// Every rule between options, core settings and configurations; the first that is broken is named.
[[nodiscard]] Status check_combination(const Options& options, const CoreSettings& core,
                                       const std::vector<Variant>& variants);
// The actions that a configuration measures: those of `mdtest` and `all` that its tree has no place
// for, or its interface no call, are left out.
[[nodiscard]] std::vector<Action> actions_on(const Options& options, const Variant& variant);
// In the order of a repetition's figures: those actions; or the mix, then each of its operations.
[[nodiscard]] std::vector<Measured> measured_on(const Options& options, const Variant& variant);

}  // namespace weir::bench::metadata
