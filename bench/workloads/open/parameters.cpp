#include "workloads/open/parameters.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <utility>

namespace weir::bench::opening {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 30U;
constexpr std::int64_t most_ranks = 1'000'000'000;

Error refuse(const std::string& rule) { return invalid_argument("open: " + rule); }

Layout layout_of(const std::string& name) {
  return name == "per-rank"   ? Layout::per_rank
         : name == "subfiled" ? Layout::subfiled
                              : Layout::shared;
}

bool given(const Settings& settings, const char* name) {
  return settings.values().find(name)->second.origin != SettingOrigin::default_value;
}

Variant variant_of(const Interface& api, Layout layout, const std::string& mpi_io) {
  Variant variant{.api = &api,
                  .layout = layout,
                  .label = std::string(api.title),
                  .slug = std::string(api.title)};
  for (char& letter : variant.slug) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  if (api.can.mpi_io && !mpi_io.empty()) {
    variant.label += fmt::format(" ({})", mpi_io);
    variant.slug += "-" + mpi_io;
  }
  variant.label += fmt::format(" {}", name_of(layout));
  variant.slug += fmt::format("-{}", name_of(layout));
  return variant;
}

}  // namespace

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::per_rank:
      return "per-rank";
    case Layout::subfiled:
      return "subfiled";
    case Layout::shared:
      break;
  }
  return "shared";
}

Result<Options> options_of(const Settings& settings) {
  Options options;
  options.bytes = settings.integer("bytes");
  if (options.bytes < 8 || options.bytes > most_bytes || options.bytes % 8 != 0) {
    return refuse(fmt::format("--bytes must be a multiple of 8 from 8 to {}; given: {}", most_bytes,
                              options.bytes));
  }
  options.ranks_per_file = settings.integer("ranks-per-file");
  if (settings.has("ranks-per-node")) options.ranks_per_node = settings.integer("ranks-per-node");
  for (const auto& [name, value] : {std::pair{"ranks-per-file", options.ranks_per_file},
                                    std::pair{"ranks-per-node", options.ranks_per_node}}) {
    if ((value >= 1 && value <= most_ranks) || !settings.has(name)) continue;
    return refuse(fmt::format("--{} must be between 1 and {}; given: {}", name, most_ranks, value));
  }
  if (settings.text("mpi-io") != "default") options.mpi_io = settings.text("mpi-io");
  options.count = settings.flag("count");
  if (settings.has("operations-per-second")) {
    options.operations_per_second = settings.real("operations-per-second");
    if (options.operations_per_second <= 0) {
      return refuse("--operations-per-second must be above 0");
    }
  }
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings) {
  std::vector<std::string> layouts = settings.list("layout");
  if (settings.flag("one-file-per-rank")) {
    if (given(settings, "layout")) {
      return refuse("--one-file-per-rank and --layout are both given: give one of them");
    }
    layouts = {"per-rank", "subfiled", "shared"};
  }
  const std::string& mpi_io = settings.text("mpi-io");
  std::vector<Variant> variants;
  std::set<std::string> slugs;
  for (const std::string& name : settings.list("api")) {
    const Interface& api = *interface_named(name);
    if (Status there = check_available(api, "open: --api " + name); !there) {
      if (given(settings, "api")) return there.error();
      continue;
    }
    for (const std::string& layout : layouts) {
      variants.push_back(variant_of(api, layout_of(layout), mpi_io == "default" ? "" : mpi_io));
      if (slugs.insert(variants.back().slug).second) continue;
      return refuse(fmt::format("the configuration '{}' is given twice", variants.back().label));
    }
  }
  return variants;
}

Status check_core(const CoreSettings& core) {
  if (core.durability == storage::Durability::none && !core.direct && !core.drop_cache &&
      core.compressible_percent == 0 && core.memory_hog_bytes == 0 &&
      core.memory_hog_fraction == 0 && core.rank_shift == 0) {
    return {};
  }
  return refuse(
      "--sync, --direct, --drop-cache, --compressible, --memory-hog and --rank-shift apply to data "
      "only: leave them out");
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
