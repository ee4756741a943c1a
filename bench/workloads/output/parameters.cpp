#include "workloads/output/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace weir::bench::output {
namespace {

constexpr std::int64_t most_count = 2147483647;  // of the int counts of MPI
constexpr double longest_work = 86'400;

std::vector<Word<const Interface*>> api_words() {
  return interface_words([](const Capabilities& can) { return can.many_arrays; }, &Interface::name);
}

}  // namespace

Error refuse(const char* workload, const std::string& rule) {
  return invalid_argument(fmt::format("{}: {}", workload, rule));
}

std::string Variant::label() const {
  return fmt::format("{}{}{}", api->name, is_staged() ? " staged" : "",
                     staging == Staging::service ? " by a service"
                     : staging == Staging::ranks ? " by ranks"
                                                 : "");
}

std::string Variant::slug() const {
  return fmt::format("{}{}{}", api->name, is_staged() ? "-staged" : "",
                     staging == Staging::service ? "-service"
                     : staging == Staging::ranks ? "-ranks"
                                                 : "");
}

FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::api,
       api_words(),
       "api",
       "interface; several make several configurations, interleaved",
       {.default_value = "weir-hdf5", .metavar = "LIST", .letter = "a"}},
      {&Variant::staging,
       staging_words(),
       "staging",
       "weir-hdf5, weir-cdf5: who stores the files: the ranks (none), or while the ranks go on a "
       "process of the node (node), one in the place of the node's last rank (ranks), or stagers "
       "on "
       "other nodes (service)",
       {.default_value = "none", .metavar = "LIST"}},
  });
}

FieldSettings<Options> options_table() {
  return {
      {&Options::work_seconds,
       "work",
       "time of busy work after each output step",
       {.default_value = "0", .metavar = "SECONDS", .range = {0, longest_work}}},
      {&Options::service,
       "service",
       "service: file or folder by which its stagers are found, as they got it by --rendezvous",
       {.metavar = "PLACE"}},
      {&Options::in_journal,
       {{"step", false}, {"journal", true}},
       "durability",
       "configurations with staging: what a step's end waits for: its stagers have it (step), or "
       "have it in their journals, so that it survives them (journal)",
       {.default_value = "step", .metavar = "WORD"}},
      {&Options::keep, "keep", "keep the files of the last repetition"},
      {&Options::hints_file,
       "hints",
       "hdf5, pnetcdf, mpiio: file with MPI-IO hints, one NAME = VALUE per line",
       {.metavar = "FILE", .letter = "U"}},
  };
}

std::vector<Setting> declarations(const std::vector<Setting>& own) {
  std::vector<Setting> all = declarations_of(variant_table());
  all.insert(all.end(), own.begin(), own.end());
  for (const Setting& one : declarations_of(options_table())) all.push_back(one);
  return with_core_settings(
      std::move(all),
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

Result<std::vector<Variant>> variants_of(const char* workload, const Settings& settings) {
  std::vector<Variant> variants = combinations(settings, variant_table());
  const bool some_unstaged =
      std::ranges::any_of(variants, [](auto& one) { return !one.is_staged(); });
  if (!some_unstaged) {
    for (const Variant& variant : variants) {
      if (variant.api->can.stages) continue;
      return refuse(workload, fmt::format("--staging: {} cannot be staged: use weir-hdf5 or "
                                          "weir-cdf5, or --staging none,node",
                                          variant.api->name));
    }
  }
  std::erase_if(variants,
                [](const Variant& one) { return one.is_staged() && !one.api->can.stages; });
  std::set<std::string> seen;
  for (const Variant& variant : variants) {
    if (seen.insert(variant.slug()).second) continue;
    return refuse(workload,
                  fmt::format("--api and --staging: '{}' is given twice", variant.label()));
  }
  return variants;
}

Status check_combination(const char* workload, const Options& options, const CoreSettings& core,
                         const std::vector<Variant>& variants) {
  if (core.direct) {
    return refuse(workload, "--direct: this workload always uses the page cache: leave it out");
  }
  if (core.drop_cache) {
    return refuse(workload, "--drop-cache: this workload times no reading: leave it out");
  }
  if (core.rank_shift != 0) {
    return refuse(workload,
                  "--rank-shift: the workload decides which rank reads what: leave it "
                  "out");
  }
  const bool has_service = std::ranges::any_of(
      variants, [](const Variant& one) { return one.staging == Staging::service; });
  if (has_service == options.service.empty()) {
    return refuse(workload,
                  has_service ? "--staging service: give the place of its stagers with --service"
                              : "--service is for stagers of a service: add service to --staging");
  }
  if (options.in_journal && std::ranges::none_of(variants, &Variant::is_staged)) {
    return refuse(workload,
                  "--durability journal is for staged files: add node or service to "
                  "--staging");
  }
  for (const Variant& variant : variants) {
    if (variant.api->can.mpi_io || options.hints_file.empty()) continue;
    return refuse(workload,
                  fmt::format("--hints applies only to hdf5, pnetcdf and mpiio; given: {}",
                              variant.api->name));
  }
  return {};
}

Status check_count(const char* workload, const char* option, std::int64_t elements,
                   const std::vector<Variant>& variants) {
  for (const Variant& variant : variants) {
    if (!variant.api->can.mpi_io || elements <= most_count) continue;
    return refuse(workload,
                  fmt::format("--{}: a rank has {} elements of an array, but {} allows at "
                              "most {}",
                              option, elements, variant.api->name, most_count));
  }
  return {};
}

}  // namespace weir::bench::output
