#include "workloads/open/parameters.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "interfaces/node_settings.hpp"
#include "topology/io_groups_choice.hpp"

namespace weir::bench::opening {
namespace {

constexpr double most_ranks = 1e9;

Error refuse(const std::string& rule) { return invalid_argument("open: " + rule); }

std::vector<Word<Layout>> layout_words() {
  return {
      {"shared", Layout::shared}, {"per-rank", Layout::per_rank}, {"subfiled", Layout::subfiled}};
}

FieldSettings<Options> options_table() {
  return {
      {&Options::one_file_per_rank, "one-file-per-rank",
       "measure a creation storm: the same as --layout per-rank,subfiled,shared"},
      {&Options::ranks_per_file,
       "ranks-per-file",
       "number of ranks that share a subfile; Weir's library has one subfile per aggregator",
       {.default_value = "8", .metavar = "N", .range = {1, most_ranks}}},
      {&Options::bytes,
       "bytes",
       "bytes of every rank, written and read collectively once the file is open; a "
       "multiple of 8",
       {.kind = SettingKind::bytes,
        .default_value = "64",
        .metavar = "SIZE",
        .recorded = "bytes_bytes"}},
      {&Options::mpi_io,
       {{"default", ""}, {"ompio", "ompio"}, {"romio", "romio"}},
       "mpi-io",
       "implementation of MPI-IO in Open MPI, which HDF5 and PnetCDF use too; one for a job",
       {.default_value = "default", .metavar = "NAME"}},
      {&Options::ranks_per_node, "ranks-per-node", ranks_per_node_help, ranks_per_node_setting()},
      {&Options::io_groups, "io-groups", io_groups_help, io_groups_setting()},
      {&Options::count,
       "count",
       "before the timed part, count the metadata operations of each step on 1, 2, 4 and "
       "so on, up to all ranks",
       {.default_value = "true"}},
      {&Options::operations_per_second,
       "operations-per-second",
       "metadata operations that the file system serves per second, to estimate the time "
       "on more ranks [as weir platform probe found it, otherwise no estimate]",
       {.metavar = "RATE", .range = {.above_least = true}}},
  };
}

void name_variant(Variant& variant, const std::string& mpi_io) {
  const Interface& api = *variant.api;
  variant.label = api.title;
  variant.slug = api.title;
  for (char& letter : variant.slug) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  if (api.can.mpi_io && !mpi_io.empty()) {
    variant.label += fmt::format(" ({})", mpi_io);
    variant.slug += "-" + mpi_io;
  }
  variant.label += fmt::format(" {}", word_for(layout_words(), variant.layout));
  variant.slug += fmt::format("-{}", word_for(layout_words(), variant.layout));
}

}  // namespace

FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::api,
       interface_words([](const Capabilities& can) { return can.names; }, &Interface::title),
       "api",
       "interface that opens the file: open on every rank, MPI_File_open, parallel HDF5, "
       "PnetCDF, Weir's library; each is a configuration",
       {.default_value = "POSIX,MPIIO,HDF5,PNETCDF,WEIR", .metavar = "LIST"}},
      {&Variant::layout,
       layout_words(),
       "layout",
       "one file for all ranks, one for every rank, or one for a group of ranks, with the "
       "same data; each is a configuration",
       {.default_value = "shared", .metavar = "LIST"}},
  });
}

std::vector<Setting> declarations() {
  return with_core_settings(
      declarations_of(variant_table(), options_table()),
      {{.name = "sync",
        .default_value = "none",
        .help = "applies to data only: none is the only value here"},
       {.name = "verify",
        .help = "check that every rank opened the file with its data, and that nothing else "
                "remains"},
       {.name = "precision",
        .help = "repeat until the 95 % confidence interval of the median time is within this "
                "fraction of it"}});
}

Result<Options> options_of(const Settings& settings) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 30U;
  Options options;
  fill(settings, options_table(), &options);
  if (options.bytes < 8 || options.bytes > most_bytes || options.bytes % 8 != 0) {
    return refuse(fmt::format("--bytes must be a multiple of 8 from 8 to {}; given: {}", most_bytes,
                              options.bytes));
  }
  if (options.one_file_per_rank && settings.given("layout")) {
    return refuse("--one-file-per-rank and --layout are both given: give one of them");
  }
  const auto choice = topology::IoGroupsChoice::parse(options.io_groups);
  if (options.count && choice && choice.value().groups && choice.value().groups->is_list()) {
    return refuse(fmt::format(
        "--io-groups {}: counting is done on fewer ranks, which may be on fewer nodes than the "
        "list has: give a number of nodes for each group, or --no-count",
        options.io_groups));
  }
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings, const Options& options) {
  std::vector<Variant> variants;
  std::set<std::string> slugs;
  for (Variant& one : combinations(settings, variant_table())) {
    const std::string option = fmt::format("open: --api {}", one.api->title);
    if (Status there = check_available(*one.api, option); !there) {
      if (settings.given("api")) return there.error();
      continue;
    }
    std::vector<Layout> its_layouts{one.layout};
    if (options.one_file_per_rank) {
      its_layouts = {Layout::per_rank, Layout::subfiled, Layout::shared};
    }
    for (const Layout layout : its_layouts) {
      one.layout = layout;
      name_variant(one, options.mpi_io);
      if (!slugs.insert(one.slug).second) {
        return refuse(fmt::format("the configuration '{}' is given twice", one.label));
      }
      variants.push_back(one);
    }
  }
  return variants;
}

std::int64_t sharers_of(const Variant& variant, const Options& options, std::int64_t ranks) {
  if (variant.layout == Layout::shared || variant.api->can.layouts) return ranks;
  return variant.layout == Layout::per_rank ? 1 : std::min(options.ranks_per_file, ranks);
}

Status choose_mpi_io(const std::string& name) {
  if (name.empty()) return {};
#if defined(OMPI_MAJOR_VERSION)
  const char* romio = OMPI_MAJOR_VERSION >= 5 ? "romio341" : "romio321";
  // The process still has only one thread.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (setenv("OMPI_MCA_io", name == "romio" ? romio : "ompio", 1) == 0) return {};
  return system_failure("setenv", "OMPI_MCA_io", -1, errno);
#else
  if (name == "romio") return {};
  return refuse(
      "--mpi-io ompio: only Open MPI has it, but this weir-bench was built with another MPI");
#endif
}

}  // namespace weir::bench::opening
