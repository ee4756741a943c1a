#include "capi/session_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/session.hpp"
#include "stored/file_description.hpp"

namespace weir::capi {
namespace {

constexpr double default_deadline_seconds = 600;
constexpr double longest_deadline_seconds = 1e9;
// The largest stripe, lock block and alignment, so that their multiples do not overflow.
constexpr std::int64_t largest_block = std::int64_t{1} << 40;
constexpr std::int64_t most_targets = 1 << 20;
constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

// An option that is a number; 0 leaves it open.
struct NumberOption {
  const char* field;         // field of weir_session_options
  std::string_view setting;  // name in session_settings()
  std::int64_t weir_session_options::*value;
  std::int64_t most;
};
constexpr std::array<NumberOption, 8> number_options = {{
    {"aggregators", "aggregators", &weir_session_options::aggregators, any},
    {"buffer_bytes", "buffer-bytes", &weir_session_options::buffer_bytes, any},
    {"buffers", "buffers", &weir_session_options::buffers, any},
    {"ranks_per_node", "ranks-per-node", &weir_session_options::ranks_per_node, any},
    {"alignment_bytes", "alignment-bytes", &weir_session_options::alignment_bytes, largest_block},
    {"stripe_bytes", "stripe-bytes", &weir_session_options::stripe_bytes, largest_block},
    {"lock_bytes", "lock-bytes", &weir_session_options::lock_bytes, largest_block},
    {"targets", "targets", &weir_session_options::targets, most_targets},
}};

template <typename Names>
std::vector<std::string_view> automatic_or(const Names& names) {
  std::vector<std::string_view> choices = {"automatic"};
  for (const auto one : names) choices.push_back(plan::name_of(one));
  return choices;
}

std::string variable_of(std::string_view setting) {
  std::string name = "WEIR_";
  for (const char letter : setting) {
    name += letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  }
  return name;
}

// Returns "options.buffers", or the name of the environment variable that gives the value.
using NameOf = std::string (*)(const char* field, std::string_view setting);
std::string name_in_options(const char* field, std::string_view /*setting*/) {
  return fmt::format("options.{}", field);
}
std::string name_in_environment(const char* /*field*/, std::string_view setting) {
  return fmt::format("{} of rank 0's environment", variable_of(setting));
}

template <typename Value, typename Parse>
Outcome read_choice(const char* name, const std::string& from,
                    const std::vector<std::string_view>& choices, Parse parse,
                    std::optional<Value>& value) {
  if (name == nullptr || std::string_view(name) == choices.front()) return {};
  auto known = parse(name);
  if (known) {
    value = known.value();
    return {};
  }
  return bad_argument(
      fmt::format("{} is '{}': give one of {}", from, name, fmt::join(choices, ", ")));
}

// A text for thousands of nodes is not repeated in full.
std::string excerpt(std::string text) {
  constexpr std::size_t longest_excerpt = 60;
  text = storage::printable(std::move(text));
  return text.size() <= longest_excerpt ? text : text.substr(0, longest_excerpt) + "…";
}

Outcome read_io_groups(const char* text, const std::string& from, SessionOptions& options) {
  if (text == nullptr) return {};
  auto parsed = topology::IoGroupsChoice::parse(text);
  if (!parsed) {
    return bad_argument(fmt::format("{} is '{}': {}", from, excerpt(text), parsed.error().message));
  }
  options.io_groups = std::move(parsed).value();
  return {};
}

Outcome read_staging(const char* text, const std::string& from,
                     topology::StagerPlacement& staging) {
  if (text == nullptr) return {};
  const auto parsed = topology::StagerPlacement::parse(text);
  if (!parsed) {
    return bad_argument(fmt::format("{} is '{}': {}", from, excerpt(text), parsed.error().message));
  }
  staging = parsed.value();
  return {};
}

Outcome read_staging_lost(const char* name, const std::string& from,
                          aggregation::StagingLost& choice) {
  if (name == nullptr) return {};
  const auto known = aggregation::parse_staging_lost(name);
  if (!known) {
    return bad_argument(fmt::format("{} is '{}': give one of {}", from, name,
                                    fmt::join(aggregation::staging_lost_names(), ", ")));
  }
  choice = *known;
  return {};
}

Outcome read_session_durability(const char* name, const std::string& from,
                                aggregation::FileDurability& durability) {
  if (name == nullptr) return {};
  const auto known = aggregation::parse_durability(name);
  if (!known) {
    return bad_argument(fmt::format("{} is '{}': give one of {}", from, name,
                                    fmt::join(aggregation::durability_names(), ", ")));
  }
  durability = *known;
  return {};
}

Outcome read_placement(const char* name, const std::string& from,
                       topology::PlacementRule& placement) {
  if (name == nullptr) return {};
  const auto known = topology::parse_placement_rule(name);
  if (!known) {
    return bad_argument(fmt::format("{} is '{}': give one of {}", from, name,
                                    fmt::join(topology::placement_rule_names(), ", ")));
  }
  placement = known.value();
  return {};
}

// No option of the program has the network, which is a property of the machine.
Outcome read_network(const Settings& settings, std::optional<topology::Network>& network) {
  if (!settings.has("network")) return {};
  const std::string& text = settings.text("network");
  auto parsed = topology::Network::parse(text);
  if (!parsed) {
    return bad_argument(fmt::format("{} is '{}': {}", name_in_environment("", "network"),
                                    excerpt(text), parsed.error().message));
  }
  network = std::move(parsed).value();
  return {};
}

// No option of the program has this: it is about files that are not opened through a session.
void read_staging_close(const Settings& settings, aggregation::StagingClose& choice) {
  if (!settings.has("staging-close")) return;
  choice = aggregation::parse_staging_close(settings.text("staging-close")).value_or(choice);
}

// Takes the given values. An invalid value is refused under the name by which it was given.
Outcome take(const weir_session_options& given, NameOf name_of, SessionOptions& options) {
  aggregation::CollectiveSettings& settings = options.settings;
  const double deadline = given.deadline_seconds;
  if (std::isnan(deadline) || deadline < 0 || deadline > longest_deadline_seconds) {
    return bad_argument(fmt::format("{} is {}: give 0 to {}",
                                    name_of("deadline_seconds", "deadline"), deadline,
                                    longest_deadline_seconds));
  }
  if (deadline > 0) settings.deadline_seconds = deadline;
  const std::array<std::int64_t*, number_options.size()> targets = {
      &settings.aggregators,    &settings.buffer_bytes,   &settings.buffers,
      &settings.ranks_per_node, &options.alignment_bytes, &options.stripe_bytes,
      &options.lock_bytes,      &options.targets};
  for (std::size_t i = 0; i < number_options.size(); ++i) {
    const NumberOption& option = number_options.at(i);
    const std::int64_t value = given.*option.value;
    if (value < 0 || value > option.most) {
      return bad_argument(fmt::format(
          "{} is {}: give 0 to let Weir choose, or {}", name_of(option.field, option.setting),
          value, value < 0 ? std::string("more") : fmt::format("at most {}", option.most)));
    }
    if (value > 0) *targets.at(i) = value;
  }
  if (given.buffers == 1) {
    return bad_argument(
        fmt::format("{} is 1: give at least 2, so that one is filled while another is written",
                    name_of("buffers", "buffers")));
  }
  auto taken =
      read_choice(given.strategy, name_of("strategy", "strategy"),
                  automatic_or(plan::all_strategies), plan::parse_strategy, settings.strategy);
  if (taken.ok()) {
    taken = read_choice(given.engine, name_of("engine", "engine"), automatic_or(plan::all_engines),
                        plan::parse_engine, settings.engine);
  }
  if (taken.ok()) {
    taken = read_staging(given.staging, name_of("staging", "staging"), settings.staging);
  }
  if (taken.ok()) {
    taken = read_staging_lost(given.staging_lost, name_of("staging_lost", "staging-lost"),
                              settings.staging_lost);
  }
  if (taken.ok()) {
    taken = read_session_durability(given.durability, name_of("durability", "durability"),
                                    settings.durability);
  }
  if (taken.ok()) {
    taken = read_io_groups(given.io_groups, name_of("io_groups", "io-groups"), options);
  }
  return taken.ok() ? read_placement(given.aggregator_placement,
                                     name_of("aggregator_placement", "aggregator-placement"),
                                     settings.placement)
                    : taken;
}

// Returns rank 0's variables that are set and not empty, each as NAME=VALUE and a zero byte.
std::string variables_in(const EnvironmentLookup& environment) {
  std::string all;
  for (const Setting& setting : session_settings()) {
    if (setting.name == "platform") continue;
    const std::string name = variable_of(setting.name);
    const auto value = environment(name);
    if (value && !value->empty()) all += fmt::format("{}={}", name, *value) + '\0';
  }
  return all;
}

std::map<std::string, std::string> parse_variables(const std::string& text) {
  std::map<std::string, std::string> variables;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\0', at);
    const std::size_t equals = text.find('=', at);
    variables[text.substr(at, equals - at)] = text.substr(equals + 1, end - equals - 1);
    at = end + 1;
  }
  return variables;
}

}  // namespace

void SessionOptions::override(topology::FileTargets& described) const {
  if (stripe_bytes > 0) described.stripe_bytes = stripe_bytes;
  if (lock_bytes > 0) described.lock_bytes = lock_bytes;
  if (targets > 0) described.count = targets;
}

std::string SessionOptions::text() const {
  return fmt::format(
      "deadline_seconds {}, strategy {}, aggregators {}, buffer_bytes {}, buffers {}, "
      "ranks_per_node {}, alignment_bytes {}, stripe_bytes {}, lock_bytes {}, targets {}, engine "
      "{}, staging {}, staging_lost {}, durability {}, io_groups '{}', aggregator_placement {}",
      settings.deadline_seconds, aggregation::name_of(settings.strategy), settings.aggregators,
      settings.buffer_bytes, settings.buffers, settings.ranks_per_node, alignment_bytes,
      stripe_bytes, lock_bytes, targets, aggregation::name_of(settings.engine),
      settings.staging.text(), aggregation::name_of(settings.staging_lost),
      aggregation::name_of(settings.durability), io_groups.text(),
      topology::name_of(settings.placement));
}

Outcome read_options(const weir_session_options* given, SessionOptions& options) {
  options.settings.deadline_seconds = default_deadline_seconds;
  if (given == nullptr) return {};
  auto outcome = check_reserved("weir_session_options", std::data(given->reserved),
                                std::size(given->reserved));
  return outcome.ok() ? take(*given, name_in_options, options) : outcome;
}

double opening_deadline(const weir_session_options* given, const EnvironmentLookup& environment) {
  if (given != nullptr && given->deadline_seconds > 0) return given->deadline_seconds;
  const auto lookup = [&](const std::string& name) {
    return name == "WEIR_DEADLINE" ? environment(name) : std::nullopt;
  };
  const auto resolved = resolve_settings("", "", session_settings(), {}, lookup);
  // An invalid value is refused later, when rank 0's environment is read.
  const bool is_told = resolved && resolved.value().settings.has("deadline");
  const double told = is_told ? resolved.value().settings.real("deadline") : 0;
  return told > 0 && told <= longest_deadline_seconds ? told : default_deadline_seconds;
}

Outcome read_environment(Ranks& ranks, const weir_session_options* given,
                         const EnvironmentLookup& environment, SessionOptions& options) {
  std::string text = ranks.rank() == 0 ? variables_in(environment) : std::string();
  if (auto shared = ranks.share(text); !shared.ok()) return shared;
  if (text.empty()) return {};
  auto variables = parse_variables(text);
  const weir_session_options passed = given == nullptr ? weir_session_options{} : *given;
  // The program's options take precedence over the environment.
  if (passed.deadline_seconds > 0) variables.erase("WEIR_DEADLINE");
  if (passed.strategy != nullptr) variables.erase("WEIR_STRATEGY");
  if (passed.engine != nullptr) variables.erase("WEIR_ENGINE");
  if (passed.staging != nullptr) variables.erase("WEIR_STAGING");
  if (passed.staging_lost != nullptr) variables.erase("WEIR_STAGING_LOST");
  if (passed.durability != nullptr) variables.erase("WEIR_DURABILITY");
  if (passed.io_groups != nullptr) variables.erase("WEIR_IO_GROUPS");
  if (passed.aggregator_placement != nullptr) variables.erase("WEIR_AGGREGATOR_PLACEMENT");
  for (const NumberOption& option : number_options) {
    if (passed.*option.value != 0) variables.erase(variable_of(option.setting));
  }
  const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  auto resolved = resolve_settings("weir_session_open", "", session_settings(), {}, lookup);
  if (!resolved) return outcome_of(resolved.error(), "rank 0");
  const Settings& settings = resolved.value().settings;
  weir_session_options told = {};
  if (settings.has("deadline")) told.deadline_seconds = settings.real("deadline");
  if (settings.has("strategy")) told.strategy = settings.text("strategy").c_str();
  if (settings.has("engine")) told.engine = settings.text("engine").c_str();
  if (settings.has("staging")) told.staging = settings.text("staging").c_str();
  if (settings.has("staging-lost")) told.staging_lost = settings.text("staging-lost").c_str();
  if (settings.has("durability")) told.durability = settings.text("durability").c_str();
  if (settings.has("io-groups")) told.io_groups = settings.text("io-groups").c_str();
  if (settings.has("aggregator-placement")) {
    told.aggregator_placement = settings.text("aggregator-placement").c_str();
  }
  for (const NumberOption& option : number_options) {
    if (settings.has(option.setting)) told.*option.value = settings.integer(option.setting);
  }
  if (auto read = read_network(settings, options.network); !read.ok()) return read;
  read_staging_close(settings, options.settings.staging_close);
  return take(told, name_in_environment, options);
}

std::span<const Setting> session_settings() {
  static const std::vector<Setting> settings = {
      {.name = "deadline",
       .kind = SettingKind::real,
       .metavar = "seconds",
       .help = "longest time for which a rank that others wait for may be silent; 0: 600"},
      {.name = "strategy",
       .kind = SettingKind::choice,
       .help = "which ranks write and read files, and how data reaches them",
       .choices = automatic_or(plan::all_strategies)},
      {.name = "aggregators",
       .kind = SettingKind::integer,
       .metavar = "number",
       .help = "aggregators per node: ranks that gather data and open files; 0: automatic"},
      {.name = "buffer-bytes",
       .kind = SettingKind::bytes,
       .metavar = "bytes",
       .help = "size of one buffer of an aggregator; 0: automatic"},
      {.name = "buffers",
       .kind = SettingKind::integer,
       .metavar = "number",
       .help = "buffers per aggregator, at least 2; 0: automatic"},
      {.name = "ranks-per-node",
       .kind = SettingKind::integer,
       .metavar = "number",
       .help =
           "treats this many consecutive ranks as a node; 0: ranks that share memory form a node"},
      {.name = "platform",
       .kind = SettingKind::text,
       .metavar = "path",
       .help = "file with the platform's description"},
      {.name = "alignment-bytes",
       .kind = SettingKind::bytes,
       .metavar = "bytes",
       .help = "file domains of aggregators end at multiples of this; 0: automatic"},
      {.name = "stripe-bytes",
       .kind = SettingKind::bytes,
       .metavar = "bytes",
       .help = "bytes that lie together on one target; 0: as the file system reports"},
      {.name = "lock-bytes",
       .kind = SettingKind::bytes,
       .metavar = "bytes",
       .help = "part of a file that one node at a time may write; 0: as the file system reports"},
      {.name = "targets",
       .kind = SettingKind::integer,
       .metavar = "number",
       .help = "number of targets that hold parts of one file; 0: as the file system reports"},
      {.name = "engine",
       .kind = SettingKind::choice,
       .help = "how bytes are moved between buffers and files",
       // A variable that is still set in somebody's job must not drop data: no `null`.
       .choices = automatic_or(plan::storing_engines)},
      {.name = "staging",
       .kind = SettingKind::text,
       .metavar = "`none`, `node`, `ranks`, `ranks:2`, `ranks:1/8`, `service:FILE`",
       .help = "who writes the steps of files: the ranks, or behind them a stager: of their node, "
               "or of the last ranks or one in so many ranks of each node, or those on other nodes "
               "that a file or folder names"},
      {.name = "staging-lost",
       .kind = SettingKind::choice,
       .help = "after a stager was lost: the session's calls fail, or the ranks write the next "
               "steps directly",
       .choices = aggregation::staging_lost_names()},
      {.name = "staging-close",
       .kind = SettingKind::choice,
       .help = "closing a file of an unchanged program whose MPI-IO is taken over returns when the "
               "stager has stored it, or when the stager has all of it",
       .choices = aggregation::staging_close_names()},
      {.name = "durability",
       .kind = SettingKind::choice,
       .help =
           "from when on a step survives, where the file's own option does not say: a crash of "
           "the system from its end, from each write, or whenever the system writes it; "
           "`journal`: the end of its stagers, too, which have it in their journals when it ends",
       .choices = aggregation::durability_names()},
      {.name = "io-groups",
       .kind = SettingKind::text,
       .metavar = "`4`, `0,0,1,1`, `0*2,1*2`, `description:FILE`, `slurm`, `discover`",
       .help =
           "nodes that share a way to the storage: how many consecutive ones, or the group of "
           "every node; no data is exchanged between groups; `description:FILE`: as a platform's "
           "description names the hosts of each group; `slurm`, `lnet`, `cray`: by the leaf "
           "switches that Slurm tells each node, its routers to Lustre, or its chassis; "
           "`infiniband:FILE`: by the leaf switches in a record of ibnetdiscover; `discover`, "
           "`discover:FILE`: the first of these that makes groups; unset: as the platform is "
           "described, or one group"},
      {.name = "aggregator-placement",
       .kind = SettingKind::choice,
       .help = "on which nodes of a group its aggregators are: spread over them, nearest to their "
               "data, on the first nodes, or where bytes × hops and shares of the way out cost "
               "least",
       .choices = topology::placement_rule_names()},
      {.name = "network",
       .kind = SettingKind::text,
       .metavar = "`8x8x16`, `mesh:8x8`, `switches:16`, `fat-tree:16x8`, `dragonfly:4x8x2x9`",
       .help =
           "network between the nodes, by which aggregators are placed: a torus, a mesh, a tree "
           "of switches or a dragonfly; unset: as the platform is described"}};
  return settings;
}

std::string session_settings_table() {
  std::string table = "| variable | option | value | what |\n|---|---|---|---|\n";
  for (const Setting& setting : session_settings()) {
    std::string field(setting.name == "deadline" ? "deadline_seconds" : setting.name);
    std::replace(field.begin(), field.end(), '-', '_');
    const bool is_variable_alone = setting.name == "network" || setting.name == "staging-close";
    const std::string option = is_variable_alone ? "" : fmt::format("`{}`", field);
    const std::string value = setting.kind == SettingKind::choice
                                  ? fmt::format("`{}`", fmt::join(setting.choices, "`, `"))
                              : setting.kind == SettingKind::bytes
                                  ? std::string("bytes, `64k`, `4m`, `1g`")
                                  : std::string(setting.metavar);
    table += fmt::format("| `{}` | {} | {} | {} |\n", variable_of(setting.name), option, value,
                         setting.help);
  }
  return table;
}

}  // namespace weir::capi
