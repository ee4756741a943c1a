#include "workloads/flash/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace weir::bench::flash {
namespace {

constexpr std::int64_t most_count = 2147483647;  // of the int counts of MPI
constexpr std::int64_t most_blocks = 1 << 20;    // every rank makes the tree, in a few seconds
constexpr double most_along = 1024;
constexpr double most_variables = 100;
constexpr double most_files = 1000;
constexpr double longest_work = 86'400;

Error refuse(const std::string& rule) { return invalid_argument("flash: " + rule); }

std::vector<Word<const Interface*>> api_words() {
  return interface_words([](const Capabilities& can) { return can.many_arrays; }, &Interface::name);
}

Result<std::vector<std::int64_t>> parse_variables(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data() + at, text.data() + end, number);
    if (error != std::errc() || rest != text.data() + end || number < 1) {
      return invalid_argument("is not a list of numbers of variables, from 1 on");
    }
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) {
      return invalid_argument(fmt::format("has {} twice", number));
    }
    numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

FieldSettings<Options> options_table() {
  return {
      {&Options::blocks,
       "blocks",
       "blocks per rank, on average; the ranks have this number rounded down or up",
       {.default_value = "9.6", .metavar = "NUMBER", .range = {1, most_blocks}}},
      {&Options::block_seed,
       "block-seed",
       "seed that decides which ranks have one block more",
       {.default_value = "1", .metavar = "N"}},
      {&Options::nxb,
       "nxb",
       "cells of a block along x",
       {.default_value = "16", .metavar = "N", .range = {1, most_along}}},
      {&Options::nyb,
       "nyb",
       "cells of a block along y",
       {.default_value = "16", .metavar = "N", .range = {1, most_along}}},
      {&Options::nzb,
       "nzb",
       "cells of a block along z",
       {.default_value = "16", .metavar = "N", .range = {1, most_along}}},
      {&Options::variables,
       "variables",
       "variables of a checkpoint, in double precision",
       {.default_value = "10", .metavar = "N", .range = {1, most_variables}}},
      {&Options::plot_variables,
       parse_variables,
       "plot-variables",
       "numbers of the variables of a plot file, in single precision",
       {.default_value = "1,6,7", .metavar = "LIST"}},
      {&Options::checkpoints,
       "checkpoints",
       "checkpoint files of a repetition",
       {.default_value = "5", .metavar = "N", .range = {0, most_files}}},
      {&Options::plots,
       "plots",
       "plot files of a repetition",
       {.default_value = "6", .metavar = "N", .range = {0, most_files}}},
      {&Options::work_seconds,
       "work",
       "time of busy work after each output step, which writes a checkpoint and a plot file",
       {.default_value = "0", .metavar = "SECONDS", .range = {0, longest_work}}},
      {&Options::keep, "keep", "keep the files of the last repetition"},
      {&Options::hints_file,
       "hints",
       "hdf5, pnetcdf: file with MPI-IO hints, one NAME = VALUE per line",
       {.metavar = "FILE", .letter = "U"}},
  };
}

Status check_api(const Options& options, const Variant& variant, std::int64_t blocks_of_rank) {
  const Capabilities& can = variant.api->can;
  if (!can.mpi_io) {
    if (options.hints_file.empty()) return {};
    return refuse(
        fmt::format("--hints applies only to hdf5 and pnetcdf; given: {}", variant.api->name));
  }
  const std::int64_t elements = blocks_of_rank * options.cells();
  if (elements <= most_count) return {};
  return refuse(fmt::format("--blocks: a rank has {} cells, but {} allows at most {}", elements,
                            variant.api->name, most_count));
}

}  // namespace

std::string Variant::label() const {
  return fmt::format("{}{}", api->name, staged ? " staged" : "");
}

std::string Variant::slug() const {
  return fmt::format("{}{}", api->name, staged ? "-staged" : "");
}

FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::api,
       api_words(),
       "api",
       "interface; several make several configurations, interleaved",
       {.default_value = "weir-hdf5", .metavar = "LIST", .letter = "a"}},
      {&Variant::staged,
       {{"none", false}, {"node", true}},
       "staging",
       "weir-hdf5, weir-cdf5: who stores the files: the ranks (none), or a process of the node "
       "while the ranks go on (node)",
       {.default_value = "none", .metavar = "LIST"}},
  });
}

std::vector<Setting> declarations() {
  return with_core_settings(
      declarations_of(variant_table(), options_table()),
      {{.name = "sync", .help = "make each file durable before it is closed, timed"},
       {.name = "verify", .help = "read every file back and compare every element"},
       {.name = "direct", .help = "not allowed for this workload"},
       {.name = "drop-cache", .help = "not allowed for this workload, which times no reading"},
       {.name = "rank-shift", .help = "not allowed for this workload"}});
}

Options options_of(const Settings& settings) {
  Options options;
  fill(settings, options_table(), &options);
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings) {
  std::vector<Variant> variants = combinations(settings, variant_table());
  const bool some_unstaged = std::ranges::any_of(variants, [](auto& one) { return !one.staged; });
  if (!some_unstaged) {
    for (const Variant& variant : variants) {
      if (variant.api->can.stages) continue;
      return refuse(fmt::format(
          "--staging node: {} cannot be staged: use weir-hdf5 or weir-cdf5, or --staging none,node",
          variant.api->name));
    }
  }
  std::erase_if(variants, [](const Variant& one) { return one.staged && !one.api->can.stages; });
  std::set<std::string> seen;
  for (const Variant& variant : variants) {
    if (seen.insert(variant.slug()).second) continue;
    return refuse(fmt::format("--api and --staging: '{}' is given twice", variant.label()));
  }
  return variants;
}

Status check_combination(const Options& options, const CoreSettings& core,
                         const std::vector<Variant>& variants, std::int64_t ranks) {
  if (core.direct)
    return refuse("--direct: this workload always uses the page cache: leave it out");
  if (core.drop_cache) return refuse("--drop-cache: this workload times no reading: leave it out");
  if (core.rank_shift != 0) {
    return refuse("--rank-shift: every rank reads back its own blocks: leave it out");
  }
  if (options.checkpoints + options.plots == 0) {
    return refuse("--checkpoints and --plots are both 0: there is nothing to write");
  }
  for (const std::int64_t number : options.plot_variables) {
    if (options.plots == 0 || number <= options.variables) continue;
    return refuse(fmt::format("--plot-variables: {} is beyond the {} variables (--variables)",
                              number, options.variables));
  }
  const Deal deal(options.blocks, ranks, options.block_seed);
  if (deal.blocks() > most_blocks) {
    return refuse(fmt::format("--blocks: {} blocks on {} ranks; at most {} are allowed",
                              deal.blocks(), ranks, most_blocks));
  }
  for (const Variant& variant : variants) {
    if (Status status = check_api(options, variant, deal.most()); !status) return status;
  }
  return {};
}

}  // namespace weir::bench::flash
