#include "workloads/metadata/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "measurement/striping_settings.hpp"
#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

constexpr std::int64_t default_items = 1000;
constexpr double most_asked_items = 1e12;  // of one rank
constexpr double most_operations = 1e12;   // of one rank in a mix
constexpr double most_bytes = 1U << 30U;
constexpr std::int64_t longest_name_bytes = 255;
constexpr double most_queue_depth = 4096;
constexpr double exponential_limit = 16;  // times the mean

Error refuse_setting(const std::string& rule) { return invalid_argument("metadata: " + rule); }

// The actions and their mix as the user gave them.
struct ActionWords {
  std::string actions;
  std::optional<std::string> mix;
};

std::vector<Word<Sharing>> sharing_words() {
  return {{"shared", Sharing::shared},
          {"per-rank", Sharing::per_rank},
          {"one-file", Sharing::one_file}};
}

FieldSettings<ActionWords> action_table() {
  return {
      {&ActionWords::actions,
       "actions",
       "actions to measure: names separated by commas (tree-create, mkdir, directory-stat, "
       "directory-rename, rmdir, create, open, close, stat, lstat, utime, chmod, write, "
       "read, truncate, setxattr, getxattr, rename, rename-across, link, symlink, "
       "readlink, readdir, readdir-attributes, unlink, tree-remove), mdtest, or all",
       {.default_value = "mdtest", .metavar = "LIST"}},
      {&ActionWords::mix,
       "mix",
       "measure a mix in one phase instead of --actions: every rank chooses at random with "
       "these weights (create=30,stat=50,unlink=20) from mkdir, directory-stat, rmdir, "
       "create, stat, lstat, utime, chmod, write, read, setxattr, unlink",
       {.metavar = "LIST"}},
  };
}

FieldSettings<Options> options_table() {
  return {
      {&Options::mix_operations,
       "mix-operations",
       "number of operations of every rank in a mix [as many as it has items]",
       {.metavar = "N", .range = {1, most_operations}}},
      {&Options::kinds,
       {{"both", {}}, {"files", {.directories = false}}, {"directories", {.files = false}}},
       "kind",
       "measure only those actions of `mdtest` and `all` that are on these",
       {.default_value = "both", .metavar = "KIND"}},
      {&Options::queue_depth,
       "queue-depth",
       "number of operations that a rank keeps in flight with io_uring",
       {.default_value = "32", .metavar = "N", .range = {1, most_queue_depth}}},
      {&Options::random_order,
       {{"sequential", false}, {"random", true}},
       "order",
       "order in which a rank visits existing items; in a mix, also the order of their "
       "places",
       {.default_value = "sequential", .metavar = "ORDER"}},
      {&Options::one_creator, "one-creator", "rank 0 creates and removes the items of all ranks"},
      {&Options::delay_seconds,
       "delay",
       "seconds to wait before every repetition",
       {.default_value = "0", .metavar = "SECONDS"}},
      {&Options::stonewall_seconds,
       "stonewall",
       "after this time, mkdir and create continue only to the count of the furthest rank, "
       "which then holds for every rank; for files only or directories only [0: never]",
       {.default_value = "0", .metavar = "SECONDS"}},
      {&Options::stonewall_file,
       "stonewall-file",
       "file to which that count is written, and from which a run with --existing reads it",
       {.metavar = "FILE"}},
      {&Options::sync_phases, "sync-phases",
       "call syncfs at the end of every phase, inside its timed part"},
      {&Options::prefix, "prefix", "prefix of the name of every item", {.metavar = "TEXT"}},
      {&Options::name_length,
       "name-length",
       "number of bytes of every item's name, padded [no padding]",
       {.metavar = "N", .range = {1, longest_name_bytes}}},
      {&Options::bytes,
       "bytes",
       "number of bytes that create and write write to every file, and that read reads",
       {.kind = SettingKind::bytes,
        .default_value = "0",
        .metavar = "SIZE",
        .range = {0, most_bytes},
        .recorded = "bytes_bytes"}},
      {&Options::size_rule,
       {{"constant", SizeRule::constant},
        {"uniform", SizeRule::uniform},
        {"exponential", SizeRule::exponential}},
       "sizes",
       "sizes of the files: --bytes for each, or random with that mean: uniform up to "
       "twice as much, or exponential up to 16 times",
       {.default_value = "constant", .metavar = "RULE"}},
      {&Options::read_bytes,
       "read-bytes",
       "number of bytes that read reads from every file [all bytes that create and write "
       "wrote]",
       {.kind = SettingKind::bytes, .metavar = "SIZE", .recorded = "read_bytes_bytes"}},
      {&Options::truncate_to,
       "truncate-to",
       "size that truncate sets",
       {.kind = SettingKind::bytes,
        .default_value = "0",
        .metavar = "SIZE",
        .recorded = "truncate_to_bytes"}},
      {&Options::keep, "keep",
       "keep the items that no action removes, in DIRECTORY/weir-metadata; one repetition"},
      {&Options::existing, "existing",
       "use the items that --keep left there, with the same shape of tree; one repetition"},
      {&Options::make_directory, "make-directory",
       "create --directory and its parents if they do not exist; they are not removed"},
      {&Options::mdtest,
       {{"none", {}},
        {"rates", {.rates = true}},
        {"times", {.times = true}},
        {"both", {.rates = true, .times = true}}},
       "mdtest-table",
       "print mdtest's table instead of Weir's",
       {.default_value = "none", .metavar = "CONTENT"}},
      {&Options::metarates, "metarates-table",
       "print create, utime and stat in metarates' terms instead of Weir's table"},
  };
}

FieldSettings<TreeShape> shape_table() {
  return {
      {&TreeShape::items_per_rank,
       "items",
       "number of files, and of directories, of every rank [1000, or as "
       "--items-per-directory implies]",
       {.metavar = "N", .range = {1, most_asked_items}}},
      {&TreeShape::total,
       "total",
       "number of files, and of directories, of all ranks together, instead of --items",
       {.metavar = "N", .range = {1, most_asked_items}}},
      {&TreeShape::items_per_directory,
       "items-per-directory",
       "number of items of every rank in every directory with items [the smallest number "
       "that holds --items]",
       {.metavar = "N", .range = {1, most_asked_items}}},
      {&TreeShape::branching,
       "branching",
       "number of subdirectories of every directory of the tree",
       {.default_value = "1", .metavar = "N", .range = {1, 1e6}}},
      {&TreeShape::depth,
       "depth",
       "number of levels of the tree below its root",
       {.default_value = "0", .metavar = "N", .range = {0, 64}}},
      {&TreeShape::leaf_only, "leaf-only", "create items only in the lowest directories"},
  };
}

// The actions that mdtest measures on each kind.
constexpr Action mdtest_actions[] = {Action::tree_create, Action::mkdir,  Action::directory_stat,
                                     Action::rmdir,       Action::create, Action::stat,
                                     Action::read,        Action::unlink, Action::tree_remove};

bool is_of_kind(Action action, const Kinds& kinds) {
  const Subject subject = facts_of(action).subject;
  if (!kinds.directories) return subject != Subject::directory;
  if (!kinds.files) return subject == Subject::directory || subject == Subject::tree;
  return true;
}

Status read_actions(const std::string& text, Options* options) {
  std::set<Action> chosen;
  std::stringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "mdtest") {
      for (const Action action : mdtest_actions) {
        if (is_of_kind(action, options->kinds)) chosen.insert(action);
      }
    } else if (name == "all") {
      for (const ActionFacts& facts : all_actions()) {
        if (is_of_kind(facts.action, options->kinds)) chosen.insert(facts.action);
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

Result<TreeShape> shape_of(const Settings& settings, std::int64_t ranks) {
  TreeShape shape;
  shape.ranks = ranks;
  fill(settings, shape_table(), &shape);
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

Status read_mix(const std::optional<std::string>& text, bool actions_given, Options* options) {
  if (!text) {
    return options->mix_operations == 0 ? Status() : refuse_setting("--mix-operations needs --mix");
  }
  if (actions_given) {
    return refuse_setting("--mix and --actions are both given: give one of them");
  }
  auto mix = mix_of(*text);
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
  if (options.keep || options.existing || options.one_creator || options.mdtest.any() ||
      options.metarates) {
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

FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::api,
       interface_words([](const Capabilities& can) { return !can.name_calls.empty(); },
                       &Interface::title),
       "api",
       "calls with whole paths, *at calls relative to the open root of the tree, io_uring, "
       "or MPI-IO; each of several is a configuration",
       {.default_value = "POSIX", .metavar = "LIST"}},
      {[](Variant& variant) -> Sharing& { return variant.shape.sharing; },
       sharing_words(),
       "sharing",
       "one tree for all ranks, one for every rank, or one file for all; each of several "
       "is a configuration",
       {.default_value = "shared", .metavar = "LIST"}},
  });
}

std::vector<Setting> declarations() {
  return with_core_settings(
      declarations_of(variant_table(), action_table(), options_table(), shape_table()),
      {{.name = "sync",
        .default_value = "none",
        .help = "when written files are made durable; the time counts as part of the write"},
       {.name = "rank-shift",
        .help = "in each later phase use the items of the rank that is N ranks further; by default "
                "those of the next node, if there are several nodes"},
       {.name = "verify",
        .help = "after every phase, check that all items that should exist do, and no others"}});
}

std::string_view name_of(Sharing sharing) { return word_for(sharing_words(), sharing); }

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
  ActionWords words;
  Options options;
  fill(settings, action_table(), &words);
  fill(settings, options_table(), &options);
  options.shift_given = settings.given("rank-shift");
  if (Status status = read_actions(words.actions, &options); !status) return status.error();
  if (Status status = read_mix(words.mix, settings.given("actions"), &options); !status) {
    return status.error();
  }
  if (options.prefix.find('/') != std::string::npos || options.prefix.starts_with("d.") ||
      options.prefix.find('\0') != std::string::npos) {
    return refuse_setting(
        "--prefix must not contain '/' or begin with 'd.', as the names of the tree's directories "
        "do");
  }
  if (options.metarates && options.mdtest.any()) {
    return refuse_setting("--mdtest-table and --metarates-table are both given: give one of them");
  }
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings, std::int64_t ranks) {
  const auto shape = shape_of(settings, ranks);
  if (!shape) return shape.error();
  std::vector<Variant> variants =
      combinations(settings, variant_table(), Variant{.shape = shape.value()});
  std::set<std::string> slugs;
  for (Variant& variant : variants) {
    auto checked = checked_shape(variant.shape);
    if (!checked) return checked.error();
    variant.shape = checked.value();
    const std::string_view sharing = name_of(variant.shape.sharing);
    variant.label = fmt::format("{} {} {}", variant.api->title, sharing, size_text(variant.shape));
    variant.slug = fmt::format("{}-{}", variant.api->name, sharing);
    std::replace(variant.slug.begin(), variant.slug.end(), '_', '-');
    if (!slugs.insert(variant.slug).second) {
      return refuse_setting(fmt::format("the configuration '{}' is given twice", variant.label));
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
      !core.memory_hog.empty()) {
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
  if (options.existing && options.size_rule != SizeRule::constant && !core.seed) {
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
