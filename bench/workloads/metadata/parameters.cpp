#include "workloads/metadata/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "measurement/striping_settings.hpp"
#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

constexpr std::int64_t default_items = 1000;
constexpr std::int64_t most_depth = 64;
constexpr std::int64_t most_operations = 1'000'000'000'000;  // of one rank in a mix
constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
constexpr std::int64_t longest_name_bytes = 255;
constexpr std::int64_t most_queue_depth = 4096;
constexpr double exponential_limit = 16;  // times the mean

Error refuse_setting(const std::string& rule) { return invalid_argument("metadata: " + rule); }

// The actions that mdtest measures on each kind.
constexpr Action mdtest_actions[] = {Action::tree_create, Action::mkdir,  Action::directory_stat,
                                     Action::rmdir,       Action::create, Action::stat,
                                     Action::read,        Action::unlink, Action::tree_remove};

bool is_of_kind(Action action, const std::string& kind) {
  const Subject subject = facts_of(action).subject;
  if (kind == "files") return subject != Subject::directory;
  if (kind == "directories") return subject == Subject::directory || subject == Subject::tree;
  return true;
}

Status read_actions(const Settings& settings, Options* options) {
  const std::string& text = settings.text("actions");
  const std::string& kind = settings.text("kind");
  std::set<Action> chosen;
  std::stringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "mdtest") {
      for (const Action action : mdtest_actions) {
        if (is_of_kind(action, kind)) chosen.insert(action);
      }
    } else if (name == "all") {
      for (const ActionFacts& facts : all_actions()) {
        if (is_of_kind(facts.action, kind)) chosen.insert(facts.action);
      }
    } else if (const auto action = action_named(name)) {
      chosen.insert(*action);
      options->named.push_back(*action);
    } else {
      return refuse_setting(
          fmt::format("--actions: unknown action '{}'; --help lists the actions", name));
    }
  }
  if (chosen.empty()) return refuse_setting("--actions is empty: give at least one action");
  // The order of the enumeration is that of the phases.
  options->actions.assign(chosen.begin(), chosen.end());
  return {};
}

bool has_call(Action action, const Interface& api) {
  return facts_of(action).subject == Subject::tree || api.can.name_calls.has(facts_of(action).call);
}

bool has_place(Action action, const TreeShape& shape) {
  if (action == Action::rename_across) {
    return shape.sharing != Sharing::one_file && shape.holders() > 1;
  }
  if (shape.sharing != Sharing::one_file) return true;
  if (facts_of(action).subject == Subject::directory) return false;
  return action != Action::rename && action != Action::link && action != Action::symlink &&
         action != Action::readlink;
}

Result<std::int64_t> bounded(const Settings& settings, const char* name, std::int64_t least,
                             std::int64_t most) {
  if (!settings.has(name)) return std::int64_t{0};
  const std::int64_t value = settings.integer(name);
  if (value >= least && value <= most) return value;
  return refuse_setting(
      fmt::format("--{} must be between {} and {}; given: {}", name, least, most, value));
}

Result<TreeShape> shape_of(const Settings& settings, std::int64_t ranks) {
  TreeShape shape;
  shape.ranks = ranks;
  shape.leaf_only = settings.flag("leaf-only");
  constexpr std::int64_t most = 1'000'000'000'000;
  struct Bound {
    const char* name;
    std::int64_t least;
    std::int64_t most;
    std::int64_t* value;
  } bounds[] = {{"branching", 1, 1'000'000, &shape.branching},
                {"depth", 0, most_depth, &shape.depth},
                {"items", 1, most, &shape.items_per_rank},
                {"total", 1, most, &shape.total},
                {"items-per-directory", 1, most, &shape.items_per_directory}};
  for (const Bound& bound : bounds) {
    const auto value = bounded(settings, bound.name, bound.least, bound.most);
    if (!value) return value.error();
    *bound.value = value.value();
  }
  if (shape.items_per_rank > 0 && shape.total > 0) {
    return refuse_setting(
        "--items and --total are both given: give --items for weak scaling, or --total for strong "
        "scaling");
  }
  if (shape.items_per_rank == 0 && shape.total == 0 && shape.items_per_directory == 0) {
    shape.items_per_rank = default_items;
  }
  return shape;
}

std::string size_text(const TreeShape& shape) {
  std::string text = shape.total > 0 ? fmt::format("{} items in all", shape.total)
                                     : fmt::format("{} items per rank", shape.items_per_rank);
  if (shape.depth > 0) text += fmt::format(", depth {} of {}", shape.depth, shape.branching);
  return text;
}

bool was_given(const Settings& settings, const char* name) {
  return settings.values().find(name)->second.origin != SettingOrigin::default_value;
}

Status read_mix(const Settings& settings, Options* options) {
  const auto operations = bounded(settings, "mix-operations", 1, most_operations);
  if (!operations) return operations.error();
  options->mix_operations = operations.value();
  if (!settings.has("mix")) {
    return options->mix_operations == 0 ? Status() : refuse_setting("--mix-operations needs --mix");
  }
  if (was_given(settings, "actions")) {
    return refuse_setting("--mix and --actions are both given: give one of them");
  }
  auto mix = mix_of(settings.text("mix"));
  if (!mix) return mix.error();
  options->mix = std::move(mix).value();
  options->actions.clear();
  options->named.clear();
  return {};
}

// Checks what the interface of a configuration lacks.
Status check_api(const Options& options, const Variant& variant) {
  const Interface& api = *variant.api;
  if (Status there = check_available(api, fmt::format("metadata: --api {}", api.title)); !there) {
    return there;
  }
  for (const MixPart& part : options.mix) {
    if (has_call(part.action, api)) continue;
    return refuse_setting(
        fmt::format("--mix: --api {} does not support {}", api.title, facts_of(part.action).name));
  }
  if (api.can.queue && variant.shape.sharing == Sharing::one_file) {
    return refuse_setting(fmt::format(
        "--api {} needs separate files for every rank: leave --sharing one-file out", api.title));
  }
  return {};
}

Status check_mix(const Options& options, const std::vector<Variant>& variants) {
  if (options.keep || options.existing || options.one_creator || options.mdtest_rates ||
      options.mdtest_times || options.metarates) {
    return refuse_setting(
        "--mix creates and removes its own files: leave --keep, --existing, --one-creator and the "
        "tables of other programs out");
  }
  for (const Variant& variant : variants) {
    if (variant.shape.sharing == Sharing::one_file) {
      return refuse_setting(
          "--mix needs separate files for every rank: leave --sharing one-file out");
    }
  }
  return {};
}

// Checks the restrictions of a stonewall, which leaves every rank as many items as the furthest
// rank has made.
Status check_stonewall(const Options& options, const std::vector<Variant>& variants) {
  const auto makes = [&](Action action) {
    return std::count(options.actions.begin(), options.actions.end(), action) > 0;
  };
  if (options.existing || !options.mix.empty()) {
    return refuse_setting(
        "--stonewall applies to mkdir and create: leave --existing and --mix out");
  }
  if (makes(Action::mkdir) == makes(Action::create)) {
    return refuse_setting(
        "--stonewall needs either files or directories: give --kind files (mdtest's -F) or --kind "
        "directories (-D)");
  }
  if (options.one_creator) {
    return refuse_setting(
        "--stonewall needs ranks that create their own items: leave --one-creator out");
  }
  for (const Variant& variant : variants) {
    if (variant.api->can.queue || variant.shape.sharing == Sharing::one_file ||
        variant.shape.total > 0) {
      return refuse_setting(
          "--stonewall needs the same --items for every rank, separate files for every rank, and "
          "an --api other than IO_URING");
    }
  }
  return {};
}

}  // namespace

const char* name_of(Sharing sharing) {
  switch (sharing) {
    case Sharing::per_rank:
      return "per-rank";
    case Sharing::one_file:
      return "one-file";
    case Sharing::shared:
      break;
  }
  return "shared";
}

std::string Measured::name() const {
  const std::string own = facts_of(action).name;
  return of_mix ? "mix/" + own : own;
}

std::int64_t Options::size_of(std::uint64_t seed, std::int64_t rank, std::int64_t item) const {
  if (size_rule == SizeRule::constant || bytes == 0) return bytes;
  const std::uint64_t word =
      mixed(mixed(seed, static_cast<std::uint64_t>(rank)), static_cast<std::uint64_t>(item));
  const double share = static_cast<double>(word >> 11U) * 0x1p-53;  // 0 ≤ share < 1
  const auto mean = static_cast<double>(bytes);
  if (size_rule == SizeRule::uniform) return static_cast<std::int64_t>(share * (2 * mean + 1));
  const double drawn = -mean * std::log1p(-share);
  return std::min(static_cast<std::int64_t>(drawn), largest_size());
}

std::int64_t Options::largest_size() const {
  switch (size_rule) {
    case SizeRule::uniform:
      return 2 * bytes;
    case SizeRule::exponential:
      return static_cast<std::int64_t>(exponential_limit) * bytes;
    case SizeRule::constant:
      break;
  }
  return bytes;
}

Result<Options> options_of(const Settings& settings) {
  Options options;
  if (Status status = read_actions(settings, &options); !status) return status.error();
  if (Status status = read_mix(settings, &options); !status) return status.error();
  options.shift_given = was_given(settings, "rank-shift");
  options.random_order = settings.text("order") == "random";
  options.one_creator = settings.flag("one-creator");
  const auto bytes = bounded(settings, "bytes", 0, most_bytes);
  if (!bytes) return bytes.error();
  options.bytes = bytes.value();
  const std::string& rule = settings.text("sizes");
  options.size_rule = rule == "uniform"       ? SizeRule::uniform
                      : rule == "exponential" ? SizeRule::exponential
                                              : SizeRule::constant;
  if (settings.has("read-bytes")) options.read_bytes = settings.integer("read-bytes");
  options.truncate_to = settings.integer("truncate-to");
  options.delay_seconds = settings.real("delay");
  options.sync_phases = settings.flag("sync-phases");
  const auto depth = bounded(settings, "queue-depth", 1, most_queue_depth);
  if (!depth) return depth.error();
  options.queue_depth = static_cast<int>(depth.value());
  options.stonewall_seconds = settings.real("stonewall");
  if (settings.has("stonewall-file")) options.stonewall_file = settings.text("stonewall-file");
  options.make_directory = settings.flag("make-directory");
  options.keep = settings.flag("keep");
  options.existing = settings.flag("existing");
  options.files = settings.text("kind") != "directories";
  options.directories = settings.text("kind") != "files";
  if (settings.has("prefix")) options.prefix = settings.text("prefix");
  if (options.prefix.find('/') != std::string::npos || options.prefix.starts_with("d.") ||
      options.prefix.find('\0') != std::string::npos) {
    return refuse_setting(
        "--prefix must not contain '/' or begin with 'd.', as the names of the tree's directories "
        "do");
  }
  const auto length = bounded(settings, "name-length", 1, longest_name_bytes);
  if (!length) return length.error();
  options.name_length = length.value();
  const std::string& table = settings.text("mdtest-table");
  options.mdtest_rates = table == "rates" || table == "both";
  options.mdtest_times = table == "times" || table == "both";
  options.metarates = settings.flag("metarates-table");
  if (options.metarates && table != "none") {
    return refuse_setting("--mdtest-table and --metarates-table are both given: give one of them");
  }
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings, std::int64_t ranks) {
  const auto shape = shape_of(settings, ranks);
  if (!shape) return shape.error();
  std::vector<Variant> variants;
  std::set<std::string> slugs;
  for (const std::string& api : settings.list("api")) {
    for (const std::string& sharing : settings.list("sharing")) {
      Variant variant;
      variant.api = interface_named(api);
      TreeShape own = shape.value();
      own.sharing = sharing == "per-rank"   ? Sharing::per_rank
                    : sharing == "one-file" ? Sharing::one_file
                                            : Sharing::shared;
      auto checked = checked_shape(own);
      if (!checked) return checked.error();
      variant.shape = checked.value();
      variant.label = fmt::format("{} {} {}", api, sharing, size_text(variant.shape));
      variant.slug = fmt::format("{}-{}", variant.api->name, sharing);
      std::replace(variant.slug.begin(), variant.slug.end(), '_', '-');
      if (!slugs.insert(variant.slug).second) {
        return refuse_setting(fmt::format("the configuration '{}' is given twice", variant.label));
      }
      variants.push_back(std::move(variant));
    }
  }
  return variants;
}

std::vector<Action> actions_on(const Options& options, const Variant& variant) {
  std::vector<Action> possible;
  for (const Action action : options.actions) {
    if (has_place(action, variant.shape) && has_call(action, *variant.api)) {
      possible.push_back(action);
    }
  }
  return possible;
}

NameCallSet calls_on(const Options& options, const Variant& variant) {
  NameCallSet calls;
  for (const MixPart& part : options.mix) calls.add(facts_of(part.action).call);
  for (const Action action : actions_on(options, variant)) calls.add(facts_of(action).call);
  return calls;
}

std::vector<Measured> measured_on(const Options& options, const Variant& variant) {
  std::vector<Measured> measured;
  if (!options.mix.empty()) measured.push_back({.action = Action::mix});
  for (const MixPart& part : options.mix) {
    measured.push_back({.action = part.action, .of_mix = true});
  }
  for (const Action action : actions_on(options, variant)) measured.push_back({.action = action});
  return measured;
}

Status check_combination(const Options& options, const CoreSettings& core,
                         const std::vector<Variant>& variants) {
  if (core.direct || core.drop_cache || core.compressible_percent != 0 ||
      core.memory_hog_bytes != 0 || core.memory_hog_fraction != 0) {
    return refuse_setting(
        "--direct, --drop-cache, --compressible and --memory-hog apply to data only: leave them "
        "out");
  }
  const bool once = core.repetitions.warmups == 0 && core.repetitions.maximum == 1;
  if ((options.keep || options.existing) && (!once || variants.size() > 1)) {
    return refuse_setting(
        "--keep and --existing need one configuration and one repetition: give --warmups 0 "
        "--repetitions 1 --max-repetitions 1");
  }
  if (options.keep || options.existing) {
    if (Status status = refuse_striping(core.striping, "--keep or --existing"); !status) {
      return status;
    }
  }
  if (options.existing && options.size_rule != SizeRule::constant && !core.seed_given) {
    return refuse_setting(
        "--existing with random --sizes needs the --seed of the run that kept the files");
  }
  if (!options.mix.empty()) {
    if (Status status = check_mix(options, variants); !status) return status;
  }
  if (options.stonewall_seconds > 0) {
    if (Status status = check_stonewall(options, variants); !status) return status;
  }
  for (const Variant& variant : variants) {
    const TreeShape& shape = variant.shape;
    if (Status status = check_api(options, variant); !status) return status;
    const NameRules rules{.prefix = options.prefix};
    const std::int64_t longest = longest_name(rules, shape);
    const std::int64_t allowed = options.name_length > 0 ? options.name_length : longest_name_bytes;
    if (longest > allowed) {
      return refuse_setting(
          fmt::format("names need up to {} bytes, but {} are allowed: shorten --prefix, or raise "
                      "--name-length (at most {})",
                      longest, allowed, longest_name_bytes));
    }
    if (shape.sharing == Sharing::one_file && options.size_rule != SizeRule::constant) {
      return refuse_setting("--sharing one-file has only one size: leave --sizes out");
    }
    for (const Action action : options.named) {
      if (!has_call(action, *variant.api)) {
        return refuse_setting(
            fmt::format("--api {} does not support {}", variant.api->title, facts_of(action).name));
      }
      if (has_place(action, shape)) continue;
      return refuse_setting(fmt::format("{} is not possible with --sharing {} in a tree of {} {}",
                                        facts_of(action).name, name_of(shape.sharing),
                                        shape.holders(),
                                        shape.holders() == 1 ? "directory" : "directories"));
    }
    if (measured_on(options, variant).empty()) {
      return refuse_setting(fmt::format("no action is possible with --sharing {} and --api {}",
                                        name_of(shape.sharing), variant.api->title));
    }
  }
  return {};
}

}  // namespace weir::bench::metadata
