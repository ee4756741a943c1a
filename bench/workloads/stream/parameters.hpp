// The settings of a stream, and the configurations that follow from their lists.
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
#include "workloads/stream/layout.hpp"

namespace weir::bench::stream {

[[nodiscard]] std::string_view name_of(Pattern pattern);  // segmented, …
[[nodiscard]] std::string_view name_of(Reorder reorder);

// One configuration.
struct Variant {
  const Interface* api = interface_named("posix");  // one that moves ranges of bytes
  Pattern pattern = Pattern::segmented;
  std::int64_t block_bytes = 0;
  std::int64_t transfer_bytes = 0;
  std::int64_t segments = 1;
  std::int64_t queue_depth = 1;  // of an interface with a queue; otherwise 1
  bool file_per_rank = false;
  bool collective = false;
  std::string label;  // "POSIX shared segmented 256 KiB"
  std::string slug;   // "posix-shared-segmented-256k"; unique among the configurations of a job
};

enum class SummaryFormat { text, json, csv };

// The options that all configurations of a job share.
struct Options {
  bool write = true;
  bool read = true;
  bool check_write = false;  // read back and check after writing, untimed
  bool keep = false;
  bool keep_with_errors = false;
  bool use_existing = false;
  bool sync_each = false;
  double stonewall_seconds = 0;  // 0: no stonewall
  bool wear_out = false;
  std::string stonewall_file;  // empty: no file
  double delay_seconds = 0;
  double outlier_seconds = 0;           // 0: no warning
  std::vector<std::string> test_files;  // -o, one for each target; empty: use --directory
  bool unique_directories = false;
  bool multi_file = false;
  bool preallocate = false;
  bool file_view = false;
  bool no_fill = false;
  bool collective_metadata = false;
  std::int64_t alignment = 1;  // HDF5
  std::string hints_file;
  Reorder reorder = Reorder::none;
  std::int64_t task_offset = 1;
  std::uint64_t reorder_seed = 0;  // 0: a different order in every repetition
  std::int64_t stride = 16;
  std::int64_t trace_events = 0;
  bool verbose = false;
  std::int64_t tasks = 0;  // the number of ranks that is needed; 0: any
  std::int64_t reference_number = 0;
  SummaryFormat summary_format = SummaryFormat::text;
  std::string summary_file;
};

// Returns the settings that differ between configurations.
[[nodiscard]] FieldSettings<Variant> variant_table();
// Returns the declarations of the workload's own settings and of the core settings, with IOR's
// letters and names.
[[nodiscard]] std::vector<Setting> declarations();

[[nodiscard]] Result<Options> options_of(const Settings& settings, std::int64_t ranks);
// Returns the combinations of --api, --pattern, --block, --transfer, --segments and --queue-depth.
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings);
[[nodiscard]] Layout layout_of(const Variant& variant, const Options& options, std::int64_t ranks);

// Checks every rule between options, core settings and configurations. The error names the first
// broken rule.
[[nodiscard]] Status check_combination(const Options& options, const CoreSettings& core,
                                       const std::vector<Variant>& variants, std::int64_t ranks);

// Returns "256k", "1m" or "1000": the exact size in the form that a setting accepts.
[[nodiscard]] std::string short_size(std::int64_t bytes);

}  // namespace weir::bench::stream
