#include "workloads/sink/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "common/checked.hpp"
#include "interfaces/node_settings.hpp"
#include "plan/parameters.hpp"
#include "topology/aggregator_placement.hpp"
#include "workloads/array/geometry.hpp"

namespace weir::bench::sink {
namespace {

constexpr double most_iterations = 1e7;
constexpr double most_aggregators = 4096;  // of a node, as in the library
constexpr double most_stagers = 64;
constexpr double most_receivers = 64;  // as the stager takes

Error refuse(const std::string& rule) { return invalid_argument("sink: " + rule); }

// Returns the interfaces that take a rank's message as its part of an array, and whose files hold
// nothing but the elements; those that plan first.
std::vector<Word<const Interface*>> api_words() {
  auto words = interface_words(
      [](const Capabilities& can) { return can.parts && can.names && !can.objects && !can.netcdf; },
      &Interface::name);
  std::stable_partition(words.begin(), words.end(),
                        [](const auto& one) { return one.value->can.plans; });
  return words;
}

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kibi = 1024;
  if (bytes >= kibi * kibi && bytes % (kibi * kibi) == 0) {
    return fmt::format("{} MiB", bytes / (kibi * kibi));
  }
  return bytes >= kibi && bytes % kibi == 0 ? fmt::format("{} KiB", bytes / kibi)
                                            : fmt::format("{} B", bytes);
}

std::vector<std::string_view> strategy_names() {
  std::vector<std::string_view> names{"automatic"};
  for (const auto value : plan::all_strategies) names.push_back(plan::name_of(value));
  return names;
}

bool has_aggregators(const Interface& api) { return api.can.plans || api.can.mpi_io; }

FieldSettings<Options> options_table() {
  return {
      {&Options::iterations,
       "iterations",
       "messages of each rank in a repetition",
       {.default_value = "1000", .metavar = "N", .letter = "i", .range = {1, most_iterations}}},
      {&Options::rank_bytes,
       "rank-bytes",
       "send fewer messages where a rank would send more bytes than these in a repetition; 0: any",
       {.kind = SettingKind::bytes, .default_value = "256m", .metavar = "BYTES"}},
      {&Options::into_file,
       {{"null", false}, {"file", true}},
       "into",
       "null: the messages are dropped (weir: engine null; posix, mpiio: /dev/null); file: they "
       "overwrite one file in place",
       {.default_value = "null", .metavar = "WHERE"}},
      {&Options::strategy,
       "strategy",
       "weir: strategy of collective requests",
       {.default_value = "automatic", .metavar = "HOW", .choices = strategy_names()}},
      {&Options::ranks_per_node, "ranks-per-node", ranks_per_node_help, ranks_per_node_setting()},
      {&Options::io_groups, "io-groups", io_groups_help, io_groups_setting()},
      {&Options::placement,
       "placement",
       "weir: nodes on which aggregators are [spread]",
       {.metavar = "HOW", .choices = topology::placement_rule_names()}},
      {&Options::hints_file,
       "hints",
       "mpiio: file with MPI-IO hints, one NAME = VALUE per line",
       {.metavar = "FILE", .letter = "U"}},
  };
}

// Fails for options that the interface of a configuration does not have; none is ignored.
Status check_api(const Options& options, const Interface& api) {
  const auto only = [&](const char* option, const char* whose) {
    return refuse(fmt::format("{} applies only to {}; given: {}", option, whose, api.name));
  };
  if (!api.can.plans) {
    if (options.strategy != "automatic") return only("--strategy", "weir");
    if (options.ranks_per_node != 0) return only("--ranks-per-node", "weir");
    if (!options.io_groups.empty()) return only("--io-groups", "weir");
    if (!options.placement.empty()) return only("--placement", "weir");
  }
  if (!api.can.mpi_io && !options.hints_file.empty()) return only("--hints", "mpiio");
  return {};
}

}  // namespace

std::string Variant::route() const {
  std::string text{api->name};
  if (staging == Staging::node) text += " staged";
  if (staging == Staging::service) {
    text += fmt::format(" {} stager{} {} receiver{}", stagers, stagers == 1 ? "" : "s", receivers,
                        receivers == 1 ? "" : "s");
  }
  if (aggregators != 0) {
    text += fmt::format(" {} aggregator{}", aggregators, aggregators == 1 ? "" : "s");
  }
  return text;
}

std::string Variant::label() const {
  return fmt::format("{} {}", route(), size_text(message_bytes));
}

std::string Variant::slug() const {
  std::string text{api->name};
  if (is_staged()) text += "-" + stagers_slug();
  if (aggregators != 0) text += fmt::format("-a{}", aggregators);
  return fmt::format("{}-{}", text, message_bytes);
}

std::string Variant::stagers_slug() const {
  if (staging == Staging::service) return fmt::format("s{}-r{}", stagers, receivers);
  return staging == Staging::node ? "staged" : "";
}

std::int64_t Options::messages(const Variant& variant) const {
  if (rank_bytes == 0) return iterations;
  return std::clamp<std::int64_t>(rank_bytes / variant.message_bytes, 1, iterations);
}

FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::api,
       api_words(),
       "api",
       "interface; each of several is a configuration, and all are interleaved",
       {.default_value = "weir", .metavar = "LIST", .letter = "a"}},
      {&Variant::staging,
       own_staging_words(),
       "staging",
       "weir: the ranks drop the messages (none), or a process of the node to which they hand them "
       "over by shared memory (node), or processes to which they send them over TCP (service)",
       {.default_value = "none", .metavar = "LIST"}},
      {&Variant::stagers,
       "stagers",
       "service: number of these processes, each of which serves an equal part of the ranks",
       {.default_value = "1", .metavar = "LIST", .range = {1, most_stagers}}},
      {&Variant::receivers,
       "receivers",
       "service: threads of each of them that receive",
       {.default_value = "4", .metavar = "LIST", .range = {1, most_receivers}}},
      {&Variant::aggregators,
       "aggregators",
       "weir: aggregators per node; mpiio: aggregators of the job (hint cb_nodes); 0: automatic",
       {.default_value = "0", .metavar = "LIST", .range = {0, most_aggregators}}},
      {&Variant::message_bytes,
       "message-bytes",
       "size of a rank's message, such as 64k,1m or 2k:4m:*2",
       {.default_value = "2k:4m:*2",
        .metavar = "LIST",
        .letter = "m",
        .range = {1, static_cast<double>(most_message_bytes)}}},
  });
}

std::vector<Setting> declarations() {
  return with_core_settings(
      declarations_of(variant_table(), options_table()),
      {{.name = "sync", .default_value = "none", .help = "not allowed for this workload"},
       {.name = "verify",
        .help =
            "compare every byte of one more message of each rank, sent the same way into a file"},
       {.name = "direct", .help = "not allowed for this workload"},
       {.name = "drop-cache", .help = "not allowed for this workload, which times no reading"},
       {.name = "rank-shift", .help = "not allowed for this workload"}});
}

Options options_of(const Settings& settings) {
  Options options;
  fill(settings, options_table(), &options);
  return options;
}

// An interface without staging or aggregators takes part once, whatever is asked of the others.
Result<std::vector<Variant>> variants_of(const Settings& settings) {
  std::vector<Variant> all = combinations(settings, variant_table());
  const auto any = [&](auto&& holds) { return std::ranges::any_of(all, holds); };
  if (any([](auto& one) { return one.is_staged(); }) &&
      !any([](auto& one) { return one.api->can.plans; })) {
    return refuse("--staging: only weir hands over to a stager: add weir to --api");
  }
  if (!any([](auto& one) { return one.staging == Staging::service; }) &&
      any([](auto& one) { return one.stagers != 1 || one.receivers != 4; })) {
    return refuse("--stagers and --receivers are those of a service: add service to --staging");
  }
  if (any([](auto& one) { return one.aggregators != 0; }) &&
      !any([](auto& one) { return has_aggregators(*one.api); })) {
    return refuse("--aggregators: posix has none: add weir or mpiio to --api");
  }
  std::set<std::string> seen;
  for (const Variant& one : all) {
    if (seen.insert(fmt::format("{} {} {}", one.slug(), one.stagers, one.receivers)).second) {
      continue;
    }
    return refuse(fmt::format("the configuration '{}' is given twice", one.label()));
  }
  seen.clear();
  std::vector<Variant> kept;
  for (Variant& one : all) {
    if (!one.api->can.plans) one.staging = Staging::none;
    if (one.staging != Staging::service) one.stagers = one.receivers = 0;
    if (!has_aggregators(*one.api)) one.aggregators = 0;
    if (seen.insert(one.slug()).second) kept.push_back(one);
  }
  return kept;
}

Status check_combination(const Options& options, const CoreSettings& core,
                         const std::vector<Variant>& variants, std::int64_t ranks) {
  if (core.durability != storage::Durability::none) {
    return refuse("--sync: what is dropped or overwritten is not made durable: leave it out");
  }
  if (core.direct) return refuse("--direct: this workload measures no storage: leave it out");
  if (core.drop_cache) return refuse("--drop-cache: this workload reads nothing: leave it out");
  if (core.rank_shift != 0)
    return refuse("--rank-shift: this workload reads nothing: leave it out");
  for (const Variant& variant : variants) {
    if (Status fits = check_api(options, *variant.api); !fits) return fits;
    if (variant.is_staged() && options.into_file) {
      return refuse(
          "--staging: its stagers drop everything, so --into file does not apply; "
          "flash and s3d measure stagers that store");
    }
    auto bytes = checked_multiply(variant.message_bytes, ranks);
    if (bytes) bytes = checked_multiply(*bytes, options.messages(variant));
    if (!bytes) {
      return refuse(
          fmt::format("{} messages of {} on {} ranks are more than 2^63 bytes: give fewer "
                      "--iterations or smaller --rank-bytes",
                      options.messages(variant), size_text(variant.message_bytes), ranks));
    }
  }
  return {};
}

Result<Part> message_of(std::int64_t message_bytes, std::int64_t ranks, std::int64_t rank) {
  constexpr const char* rows = "BLOCK,*";
  const auto shape = array::Shape::create({ranks, message_bytes});
  if (!shape) return shape.error();
  const auto type = array::ElementType::parse("uint8");
  if (!type) return type.error();
  auto by = array_io::distribution_of({"", rows, "", ""}, shape.value(), ranks);
  if (!by) return by.error();
  return Part(type.value(), by.value(), rows, array::Section::of(shape.value().box()), rank);
}

}  // namespace weir::bench::sink
