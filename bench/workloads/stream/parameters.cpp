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

Result<std::vector<std::string>> split_targets(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('@', begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::vector<Word<Pattern>> pattern_words() {
  return {{"segmented", Pattern::segmented},
          {"interleaved", Pattern::interleaved},
          {"strided", Pattern::strided},
          {"random", Pattern::random}};
}

std::vector<Word<Reorder>> reorder_words() {
  return {{"none", Reorder::none}, {"constant", Reorder::constant}, {"random", Reorder::random}};
}

// The settings of a configuration that do not differ between configurations.
FieldSettings<Variant> fixed_table() {
  return {
      {&Variant::file_per_rank,
       "file-per-rank",
       "use one file per rank instead of one for all",
       {.letter = "F", .foreign = {"filePerProc"}}},
      {&Variant::collective,
       "collective",
       "use collective calls (MPIIO, HDF5, PNETCDF)",
       {.letter = "c", .foreign = {"collective"}}},
  };
}

FieldSettings<Options> options_table() {
  return {
      {&Options::stride,
       "stride",
       "strided: distance between transfers, in transfers",
       {.default_value = "16", .metavar = "N"}},
      {&Options::write,
       "write",
       "write; without any of -w -r -W -R both write and read",
       {.letter = "w", .foreign = {"writeFile"}}},
      {&Options::read,
       "read",
       "read the written data, or with -o the data that an earlier run kept",
       {.letter = "r", .foreign = {"readFile"}}},
      {&Options::check_write,
       "check-write",
       "after writing, read back and check, outside the timed part; also without a read phase",
       {.letter = "W", .foreign = {"checkWrite"}}},
      {&Options::sync_each,
       "sync-each",
       "call fsync after every write (POSIX)",
       {.letter = "Y", .foreign = {"fsyncPerWrite"}}},
      {&Options::stonewall_seconds,
       "stonewall",
       "begin no transfer of a phase after this time; 0: no limit",
       {.default_value = "0",
        .metavar = "SECONDS",
        .letter = "D",
        .foreign = {"deadlineForStonewalling"}}},
      {&Options::wear_out,
       "wear-out",
       "after the stonewall, let every rank continue to the transfer count of the furthest "
       "rank",
       {.foreign = {"stoneWallingWearOut"}}},
      {&Options::stonewall_file,
       "stonewall-file",
       "file to which that count is written, and from which a run with only -r reads it",
       {.metavar = "FILE", .foreign = {"stoneWallingStatusFile"}}},
      {&Options::delay_seconds,
       "delay",
       "seconds to wait before every write or read phase",
       {.default_value = "0", .metavar = "SECONDS", .letter = "d", .foreign = {"interTestDelay"}}},
      {&Options::reorder,
       reorder_words(),
       "reorder",
       "read the data of another rank: --task-offset further, or a random one",
       {.default_value = "none", .metavar = "HOW"}},
      {&Options::task_offset,
       "task-offset",
       "for --reorder constant: number of nodes (on one node: ranks) further",
       {.default_value = "1", .metavar = "N", .letter = "Q", .foreign = {"taskPerNodeOffset"}}},
      {&Options::reorder_seed,
       "reorder-seed",
       "seed of --reorder random; 0: another order in every repetition",
       {.default_value = "0",
        .metavar = "N",
        .letter = "X",
        .foreign = {"reorderTasksRandomSeed"}}},
      {&Options::outlier_seconds,
       "outlier",
       "warn if a rank's I/O time exceeds the mean by this many seconds; 0: never",
       {.default_value = "0",
        .metavar = "SECONDS",
        .letter = "j",
        .foreign = {"outlierThreshold"}}},
      {&Options::test_files,
       split_targets,
       "test-file",
       "test file, or a directory for it; several are distributed over the ranks "
       "round-robin (with -F)",
       {.metavar = "PATH[@PATH...]", .letter = "o", .foreign = {"testFile"}}},
      {&Options::use_existing,
       "existing",
       "write into existing files instead of creating new ones",
       {.letter = "E", .foreign = {"useExistingTestFile"}}},
      {&Options::keep,
       "keep",
       "keep the files (with -o)",
       {.letter = "k", .foreign = {"keepFile"}}},
      {&Options::keep_with_errors,
       "keep-with-errors",
       "keep the files if the run fails",
       {.letter = "K", .foreign = {"keepFileWithError"}}},
      {&Options::unique_directories,
       "unique-directories",
       "with -F: put every file into a separate directory",
       {.letter = "u", .foreign = {"uniqueDir"}}},
      {&Options::multi_file,
       "multi-file",
       "use separate files for every repetition",
       {.letter = "m", .foreign = {"multiFile"}}},
      {&Options::preallocate,
       "preallocate",
       "allocate the whole file when it is opened for writing",
       {.letter = "p", .foreign = {"preallocate"}}},
      {&Options::file_view,
       "file-view",
       "MPIIO: set the layout as a file view",
       {.letter = "V", .foreign = {"useFileView"}}},
      {&Options::no_fill,
       "no-fill-values",
       "HDF5: never write fill values",
       {.letter = "n", .foreign = {"noFill"}}},
      {&Options::alignment,
       "alignment",
       "HDF5: objects start at multiples of this size",
       {.kind = SettingKind::bytes,
        .default_value = "1",
        .metavar = "BYTES",
        .letter = "J",
        .foreign = {"setAlignment"}}},
      {&Options::collective_metadata,
       "collective-metadata",
       "HDF5: use collective metadata operations",
       {.foreign = {"collectiveMetadata", "hdf5.collectiveMetadata"}}},
      {&Options::hints_file,
       "hints",
       "file with MPI-IO hints, one NAME = VALUE per line",
       {.metavar = "FILE", .letter = "U", .foreign = {"hintsFileName"}}},
      {&Options::tasks,
       "tasks",
       "refuse to run on any other number of ranks; 0: any number",
       {.default_value = "0", .metavar = "N", .letter = "N", .foreign = {"numTasks"}}},
      {&Options::reference_number,
       "reference-number",
       "a number for your own use, which is kept in the results",
       {.default_value = "0", .metavar = "N", .letter = "A", .foreign = {"refNum"}}},
      {&Options::verbose,
       "verbose",
       "print the options before the table",
       {.letter = "v", .foreign = {"verbose"}}},
      {&Options::trace_events,
       "trace-events",
       "largest number of operations of a rank and phase in the trace; beyond it every k-th",
       {.default_value = "5000", .metavar = "N"}},
      {&Options::summary_format,
       {{"default", SummaryFormat::text},
        {"JSON", SummaryFormat::json},
        {"CSV", SummaryFormat::csv}},
       "summary-format",
       "form of the printed results",
       {.default_value = "default", .metavar = "FORM", .foreign = {"summaryFormat"}}},
      {&Options::summary_file,
       "summary-file",
       "file for the printed results instead of standard output",
       {.metavar = "FILE", .foreign = {"summaryFile"}}},
  };
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

// Each setting has IOR's letter and directive.
FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::api,
       interface_words([](const Capabilities& can) { return can.ranges || can.queue; },
                       &Interface::title),
       "api",
       "interface; each of several is a configuration",
       {.default_value = "POSIX", .metavar = "LIST", .letter = "a", .foreign = {"api"}}},
      {&Variant::pattern,
       pattern_words(),
       "pattern",
       "order of the transfers: blocks in order, ranks in turn, blocks with strides, or "
       "blocks in random order",
       {.default_value = "segmented", .metavar = "LIST"}},
      {&Variant::block_bytes,
       "block",
       "contiguous bytes of a rank in each segment",
       {.default_value = "1m",
        .metavar = "LIST",
        .letter = "b",
        .foreign = {"blockSize"},
        .recorded = "block_bytes"}},
      {&Variant::transfer_bytes,
       "transfer",
       "bytes that one call transfers",
       {.default_value = "256k",
        .metavar = "LIST",
        .letter = "t",
        .foreign = {"transferSize"},
        .recorded = "transfer_bytes"}},
      {&Variant::segments,
       "segments",
       "number of segments, each with one block of every rank",
       {.default_value = "1", .metavar = "LIST", .letter = "s", .foreign = {"segmentCount"}}},
      {&Variant::queue_depth,
       "queue-depth",
       "IO_URING: number of transfers in flight",
       {.default_value = "16", .metavar = "LIST"}},
  });
}

std::vector<Setting> declarations() {
  return with_core_settings(
      declarations_of(variant_table(), fixed_table(), options_table(), targets_table()),
      {{.name = "direct", .letter = "B", .foreign = {"useO_DIRECT", "posix.odirect"}},
       {.name = "memory-hog", .letter = "M", .foreign = {"memoryPerNode"}},
       {.name = "seed", .letter = "G", .foreign = {"setTimeStampSignature"}},
       {.name = "sync",
        .default_value = "none",
        .help = "make all written data durable at the end of the write phase, timed"},
       {.name = "rank-shift", .help = "read the data of the rank that is N ranks further"}});
}

std::string_view name_of(Pattern pattern) { return word_for(pattern_words(), pattern); }

std::string_view name_of(Reorder reorder) { return word_for(reorder_words(), reorder); }

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
  fill(settings, options_table(), &options);
  if (!options.write && !options.read && !options.check_write) options.write = options.read = true;
  if (options.tasks != 0 && options.tasks != ranks) {
    return refuse(fmt::format("-N (--tasks) {} on {} ranks: start exactly as many ranks",
                              options.tasks, ranks));
  }
  const bool offset_given =
      settings.values().find("task-offset")->second.origin == SettingOrigin::command_line;
  if (offset_given && options.reorder != Reorder::constant) {
    return refuse("-Q (--task-offset) has no effect without -C (--reorder constant)");
  }
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings) {
  Variant start;
  fill(settings, fixed_table(), &start);
  std::vector<Variant> all = combinations(settings, variant_table(), start);
  std::vector<Variant> variants;
  std::set<std::string> slugs;
  const std::size_t depths = settings.list("queue-depth").size();  // which vary fastest
  for (std::size_t i = 0; i < all.size(); ++i) {
    Variant& variant = all[i];
    if (!variant.api->can.queue) {
      if (i % depths != 0) continue;  // without a queue its depths make no difference
      variant.queue_depth = 1;
    }
    name_variant(variant, settings);
    if (!slugs.insert(variant.slug).second) {
      return refuse(fmt::format("the configuration '{}' is given twice", variant.label));
    }
    variants.push_back(variant);
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
    if (!core.targets.empty()) {
      return refuse("-o (--test-file) and --targets both choose where files lie: give one of them");
    }
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
  if (reads_old_files && core.verify && !core.seed) {
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
