// The settings of the metadata workload, and the configurations that follow from their lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/core_settings.hpp"
#include "workloads/metadata/action.hpp"
#include "workloads/metadata/mix.hpp"
#include "workloads/metadata/tree.hpp"

namespace weir::bench::metadata {

[[nodiscard]] std::string_view name_of(Sharing sharing);  // shared, per-rank, one-file

enum class SizeRule { constant, uniform, exponential };

struct Kinds {
  bool files = true;
  bool directories = true;
  friend bool operator==(const Kinds&, const Kinds&) = default;
};

// Says what mdtest's table is printed for, instead of Weir's.
struct MdtestTable {
  bool rates = false;
  bool times = false;  // in seconds
  [[nodiscard]] bool any() const { return rates || times; }
  friend bool operator==(const MdtestTable&, const MdtestTable&) = default;
};

// One configuration.
struct Variant {
  const Interface* api = interface_named("posix");
  TreeShape shape;
  std::string label = {};  // "POSIX shared 1000 items, depth 2 of 10"
  std::string slug = {};   // unique among the configurations of a job
};

// Says what a repetition has figures of: a phase, or one of the operations of a mix.
struct Measured {
  Action action = Action::create;
  bool of_mix = false;
  // Returns the name in results: "create", "mix", "mix/create".
  [[nodiscard]] std::string name() const;
};

// The options that all configurations of a job share.
struct Options {
  std::vector<Action> actions;      // measured, in the order in which they run
  std::vector<Action> named;        // those actions that the user named individually
  std::vector<MixPart> mix;         // measured instead of actions; empty: none
  std::int64_t mix_operations = 0;  // of every rank; 0: as many as the rank has items
  bool shift_given = false;         // --rank-shift
  bool random_order = false;        // visit existing items in random order
  bool one_creator = false;         // rank 0 creates and removes everything
  std::int64_t bytes = 0;           // of a file; the mean of a distribution
  SizeRule size_rule = SizeRule::constant;
  std::int64_t read_bytes = -1;  // of a file; -1: its whole content
  std::int64_t truncate_to = 0;
  double delay_seconds = 0;
  bool sync_phases = false;
  int queue_depth = 1;           // of io_uring
  double stonewall_seconds = 0;  // 0: phases end with their items
  std::string stonewall_file;    // empty: no file
  bool make_directory = false;
  bool keep = false;
  bool existing = false;
  Kinds kinds;  // with `existing`: the kinds that an earlier run kept
  std::string prefix;
  std::int64_t name_length = 0;
  MdtestTable mdtest;
  bool metarates = false;  // print metarates' table

  // Returns the size of a rank's file.
  [[nodiscard]] std::int64_t size_of(std::uint64_t seed, std::int64_t rank,
                                     std::int64_t item) const;
  // Returns the largest size that size_of() can return.
  [[nodiscard]] std::int64_t largest_size() const;
};

// Returns the settings that differ between configurations.
[[nodiscard]] FieldSettings<Variant> variant_table();
// Returns the declarations of the workload's own settings and of the core settings.
[[nodiscard]] std::vector<Setting> declarations();

[[nodiscard]] Result<Options> options_of(const Settings& settings);
// Returns the combinations of --api and --sharing.
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings,
                                                       std::int64_t ranks);
// Checks every rule between options, core settings and configurations. The error names the first
// broken rule.
[[nodiscard]] Status check_combination(const Options& options, const CoreSettings& core,
                                       const std::vector<Variant>& variants);
// Returns the actions that a configuration measures. It omits those of `mdtest` and `all` that are
// impossible in its tree or through its interface.
[[nodiscard]] std::vector<Action> actions_on(const Options& options, const Variant& variant);
// Returns the calls by which a configuration does what it measures.
[[nodiscard]] NameCallSet calls_on(const Options& options, const Variant& variant);
// Returns the figures of a repetition in order: those actions; or the mix, then each of its
// operations.
[[nodiscard]] std::vector<Measured> measured_on(const Options& options, const Variant& variant);

}  // namespace weir::bench::metadata
