#include "workloads/stream/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "measurement/striping_settings.hpp"

namespace weir::bench::stream {
namespace {

constexpr std::int64_t direct_alignment = 4096;
constexpr std::int64_t most_depth = 4096;

Error refuse(const std::string& rule) { return invalid_argument("stream: " + rule); }

std::vector<std::string> split_targets(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('@', begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

Pattern pattern_of(std::string_view name) {
  if (name == "interleaved") return Pattern::interleaved;
  if (name == "strided") return Pattern::strided;
  if (name == "random") return Pattern::random;
  return Pattern::segmented;
}

// Names a variant by the most important settings and by those in which it differs from its
// siblings.
void name_variant(Variant& variant, const Settings& settings) {
  const char* files = variant.file_per_rank ? "per-rank" : "shared";
  variant.label = fmt::format("{} {} {} {}", variant.api->title, files, name_of(variant.pattern),
                              short_size(variant.transfer_bytes));
  if (settings.list("block").size() > 1) {
    variant.label += fmt::format(" block {}", short_size(variant.block_bytes));
  }
  if (settings.list("segments").size() > 1) {
    variant.label += fmt::format(" segments {}", variant.segments);
  }
  if (variant.api->can.queue && settings.list("queue-depth").size() > 1) {
    variant.label += fmt::format(" depth {}", variant.queue_depth);
  }
  if (variant.collective) variant.label += " collective";
  variant.slug = variant.label;
  for (char& c : variant.slug) {
    c = c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
}

Status check_api(const Options& options, const CoreSettings& core, const Variant& variant,
                 std::int64_t ranks) {
  const std::string_view api = variant.api->title;
  const Capabilities& can = variant.api->can;
  if (variant.collective && !can.collective) {
    return refuse(fmt::format(
        "-c (--collective): {} has no collective calls: use MPIIO, HDF5 or PNETCDF", api));
  }
  if (core.direct && !can.direct) {
    return refuse(fmt::format("--direct: {} has no portable O_DIRECT: use POSIX or IO_URING", api));
  }
  if (core.direct && variant.transfer_bytes % direct_alignment != 0) {
    return refuse(fmt::format("--direct: the transfer size must be a multiple of {}; given: {}",
                              direct_alignment, variant.transfer_bytes));
  }
  if (options.sync_each && !can.durable_writes) {
    return refuse(
        fmt::format("-Y (--sync-each): {} cannot make a single write durable: use POSIX", api));
  }
  if (options.file_view && !can.views) {
    return refuse(fmt::format("-V (--file-view) applies only to MPIIO; given: {}", api));
  }
  if (options.file_view && variant.pattern != Pattern::segmented &&
      variant.pattern != Pattern::interleaved) {
    return refuse("-V (--file-view) applies only to the patterns segmented and interleaved");
  }
  if (options.preallocate && !can.preallocates) {
    return refuse(fmt::format(
        "-p (--preallocate) applies only to POSIX, IO_URING and MPIIO; given: {}", api));
  }
  if ((options.no_fill || options.alignment > 1 || options.collective_metadata) && !can.objects) {
    return refuse(
        fmt::format("-n, -J and --collective-metadata (fill values, alignment, metadata) apply "
                    "only to HDF5; given: {}",
                    api));
  }
  if (!options.hints_file.empty() && !can.mpi_io) {
    return refuse(
        fmt::format("-U (--hints) applies only to MPIIO, HDF5 and PNETCDF; given: {}", api));
  }
  if (options.stonewall_seconds > 0 && variant.collective) {
    return refuse(
        "-D (--stonewall) with -c: collective calls need the same number of transfers on all "
        "ranks: give one of them");
  }
  const Layout layout = layout_of(variant, options, ranks);
  if (Status status = layout.check(); !status) return status;
  constexpr std::int64_t most = 2147483647;
  if (options.file_view && layout.piece_bytes() > most) {
    return refuse(fmt::format("-V (--file-view): a block must be below 2 GiB; given: {}",
                              layout.piece_bytes()));
  }
  return {};
}

}  // namespace

const char* name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::interleaved:
      return "interleaved";
    case Pattern::strided:
      return "strided";
    case Pattern::random:
      return "random";
    case Pattern::segmented:
      break;
  }
  return "segmented";
}

const char* name_of(Reorder reorder) {
  return reorder == Reorder::none ? "none" : reorder == Reorder::constant ? "constant" : "random";
}

std::string short_size(std::int64_t bytes) {
  constexpr std::string_view suffixes = "kmgt";
  std::int64_t value = bytes;
  std::size_t power = 0;
  while (value != 0 && value % 1024 == 0 && power < suffixes.size()) {
    value /= 1024;
    ++power;
  }
  return power == 0 ? fmt::format("{}", value) : fmt::format("{}{}", value, suffixes[power - 1]);
}

Result<Options> options_of(const Settings& settings, std::int64_t ranks) {
  Options options;
  const bool write = settings.flag("write");
  const bool read = settings.flag("read");
  options.check_write = settings.flag("check-write");
  if (write || read || options.check_write) {
    options.write = write;
    options.read = read;
  }
  options.keep = settings.flag("keep");
  options.keep_with_errors = settings.flag("keep-with-errors");
  options.use_existing = settings.flag("existing");
  options.sync_each = settings.flag("sync-each");
  options.stonewall_seconds = settings.real("stonewall");
  options.wear_out = settings.flag("wear-out");
  if (settings.has("stonewall-file")) options.stonewall_file = settings.text("stonewall-file");
  options.delay_seconds = settings.real("delay");
  options.outlier_seconds = settings.real("outlier");
  if (settings.has("test-file")) options.test_files = split_targets(settings.text("test-file"));
  options.unique_directories = settings.flag("unique-directories");
  options.multi_file = settings.flag("multi-file");
  options.preallocate = settings.flag("preallocate");
  options.file_view = settings.flag("file-view");
  options.no_fill = settings.flag("no-fill-values");
  options.alignment = settings.integer("alignment");
  options.collective_metadata = settings.flag("collective-metadata");
  if (settings.has("hints")) options.hints_file = settings.text("hints");
  const std::string& reorder = settings.text("reorder");
  options.reorder = reorder == "constant" ? Reorder::constant
                    : reorder == "random" ? Reorder::random
                                          : Reorder::none;
  options.task_offset = settings.integer("task-offset");
  options.reorder_seed = static_cast<std::uint64_t>(settings.integer("reorder-seed"));
  options.stride = settings.integer("stride");
  options.trace_events = settings.integer("trace-events");
  options.verbose = settings.flag("verbose");
  options.reference_number = settings.integer("reference-number");
  const std::string& format = settings.text("summary-format");
  options.summary_format = format == "JSON"  ? SummaryFormat::json
                           : format == "CSV" ? SummaryFormat::csv
                                             : SummaryFormat::text;
  if (settings.has("summary-file")) options.summary_file = settings.text("summary-file");
  const std::int64_t tasks = settings.integer("tasks");
  if (tasks != 0 && tasks != ranks) {
    return refuse(
        fmt::format("-N (--tasks) {} on {} ranks: start exactly as many ranks", tasks, ranks));
  }
  const bool offset_given =
      settings.values().find("task-offset")->second.origin == SettingOrigin::command_line;
  if (offset_given && options.reorder != Reorder::constant) {
    return refuse("-Q (--task-offset) has no effect without -C (--reorder constant)");
  }
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings) {
  std::vector<Variant> variants;
  std::set<std::string> slugs;
  Variant variant;
  variant.file_per_rank = settings.flag("file-per-rank");
  variant.collective = settings.flag("collective");
  const std::vector<std::int64_t> none{1};
  for (const std::string& api : settings.list("api")) {
    variant.api = interface_named(api);
    const auto depths = variant.api->can.queue ? settings.sizes("queue-depth") : none;
    for (const std::string& pattern : settings.list("pattern")) {
      variant.pattern = pattern_of(pattern);
      for (const std::int64_t block : settings.sizes("block")) {
        variant.block_bytes = block;
        for (const std::int64_t transfer : settings.sizes("transfer")) {
          variant.transfer_bytes = transfer;
          for (const std::int64_t segments : settings.sizes("segments")) {
            variant.segments = segments;
            for (const std::int64_t depth : depths) {
              variant.queue_depth = depth;
              name_variant(variant, settings);
              if (!slugs.insert(variant.slug).second) {
                return refuse(fmt::format("the configuration '{}' is given twice", variant.label));
              }
              variants.push_back(variant);
            }
          }
        }
      }
    }
  }
  return variants;
}

Layout layout_of(const Variant& variant, const Options& options, std::int64_t ranks) {
  return {.ranks = ranks,
          .block_bytes = variant.block_bytes,
          .transfer_bytes = variant.transfer_bytes,
          .segments = variant.segments,
          .pattern = variant.pattern,
          .file_per_rank = variant.file_per_rank,
          .stride = options.stride};
}

Status check_combination(const Options& options, const CoreSettings& core,
                         const std::vector<Variant>& variants, std::int64_t ranks) {
  const Variant& first = variants.front();
  const bool reads_old_files = !options.write;
  if (!options.test_files.empty()) {
    if (Status status = refuse_striping(core.striping, "-o (--test-file)"); !status) return status;
  }
  if (!options.write && !options.read) {
    return refuse(
        "-W (--check-write) without -w: use -r, which reads and checks the files that an earlier "
        "run kept");
  }
  if (options.keep && options.test_files.empty()) {
    return refuse(
        "-k (--keep) needs -o (--test-file), because the files in --directory are temporary");
  }
  if (reads_old_files && options.test_files.empty()) {
    return refuse(
        "-r without -w reads files that an earlier run kept: name them with -o (--test-file)");
  }
  if ((options.keep || reads_old_files) && variants.size() > 1) {
    return refuse(
        "-k and -r without -w allow only one configuration, because its files have one name");
  }
  if (reads_old_files && core.verify && !core.seed_given) {
    return refuse(
        "-r without -w needs the seed of the written data to check it: give the seed (-G), or "
        "--no-verify");
  }
  if (reads_old_files && options.stonewall_seconds > 0) {
    return refuse("-D (--stonewall) without -w is not supported: write and read in one run");
  }
  if (options.check_write && !core.verify) {
    return refuse("-W (--check-write) and --no-verify are both given: give one of them");
  }
  if (options.use_existing && options.test_files.empty()) {
    return refuse("-E (--existing) needs -o (--test-file)");
  }
  if (options.test_files.size() > 1 && !first.file_per_rank) {
    return refuse("several targets in -o need a file per rank (-F)");
  }
  if (static_cast<std::int64_t>(options.test_files.size()) > ranks) {
    return refuse(fmt::format("-o names {} targets for {} ranks: give at most one target per rank",
                              options.test_files.size(), ranks));
  }
  if (std::count(options.test_files.begin(), options.test_files.end(), "") > 0) {
    return refuse("-o: a name between two @ is empty: leave it out");
  }
  if (options.unique_directories && !first.file_per_rank) {
    return refuse("-u (--unique-directories) needs a file per rank (-F)");
  }
  if (options.wear_out && options.stonewall_seconds <= 0) {
    return refuse("--wear-out needs a stonewall (-D SECONDS)");
  }
  if (!options.stonewall_file.empty() && options.stonewall_seconds > 0 && !options.wear_out) {
    return refuse(
        "--stonewall-file holds one count for all ranks: give --wear-out (in IOR "
        "-O stoneWallingWearOut=1)");
  }
  if (core.rank_shift != 0 && options.reorder != Reorder::none) {
    return refuse(
        "--rank-shift and --reorder (-C, -Z) both choose whose data is read: give one of them");
  }
  for (const Variant& variant : variants) {
    if (variant.api->can.queue && (variant.queue_depth < 1 || variant.queue_depth > most_depth)) {
      return refuse(fmt::format("--queue-depth must be between 1 and {}; given: {}", most_depth,
                                variant.queue_depth));
    }
    if (Status status = check_api(options, core, variant, ranks); !status) return status;
  }
  return {};
}

}  // namespace weir::bench::stream
