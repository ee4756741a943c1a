#include "measurement/striping_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <system_error>

#include "system/striped_system.hpp"

namespace weir::bench {
namespace {

Result<std::int64_t> targets_of(const std::string& text) {
  std::int64_t count = storage::Striping::all_targets;
  if (text == "all") return count;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc{} && stop == end && count >= 1) return count;
  return invalid_argument("is neither a number of targets, 1 or more, nor 'all'");
}

std::string given(const storage::Striping& striping) {
  return fmt::format("{}", fmt::join(striping_arguments(striping), " "));
}

}  // namespace

FieldSettings<storage::Striping> striping_table() {
  using storage::Striping;
  return {
      {&Striping::count,
       targets_of,
       "stripe-count",
       "number of storage targets of each test file, on Lustre and CephFS [as for the "
       "directory]",
       {.metavar = "N|all"}},
      {&Striping::stripe_bytes,
       "stripe-size",
       "bytes that lie together on one target, a multiple of 64k [as for the directory]",
       {.kind = SettingKind::bytes,
        .metavar = "SIZE",
        .range = {1},
        .recorded = "stripe_size_bytes"}},
      {&Striping::first_target,
       "first-target",
       "index of the first target, on Lustre [any]",
       {.metavar = "INDEX", .range = {0, 1e15}}},
      {&Striping::pool,
       "pool",
       "pool from which the targets are taken [as for the directory]",
       {.metavar = "NAME"}},
  };
}

Result<storage::Striping> striping_of(const Settings& settings) {
  storage::Striping striping;
  fill(settings, striping_table(), &striping);
  if (settings.has("first-target")) ++striping.first_target;  // in which 0 means any target
  if (Status possible = striping.check(); !possible) {
    Error error = possible.error();
    error.message = fmt::format("{}: {}", given(striping), error.message);
    return error;
  }
  return striping;
}

std::vector<std::string> striping_arguments(const storage::Striping& striping) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (striping.count == storage::Striping::all_targets) {
    add("--stripe-count", "all");
  } else if (striping.count != 0) {
    add("--stripe-count", fmt::format("{}", striping.count));
  }
  if (striping.stripe_bytes != 0) add("--stripe-size", fmt::format("{}", striping.stripe_bytes));
  if (striping.first_target != 0) {
    add("--first-target", fmt::format("{}", striping.first_target - 1));
  }
  if (!striping.pool.empty()) add("--pool", striping.pool);
  return words;
}

Status check_striping(const std::string& directory, const storage::Striping& striping) {
  if (striping.empty()) return {};
  const auto system = storage::striped_system_of(directory, striping);
  if (system) return {};
  Error error = system.error();
  error.message =
      fmt::format("{}: {}, or give another --directory", given(striping), error.message);
  return error;
}

Status refuse_striping(const storage::Striping& striping, const char* option) {
  if (striping.empty()) return {};
  return invalid_argument(fmt::format(
      "{}: weir-bench can set the layout only for files in the job's own folder, but {} names "
      "other files; set it for their folder (lfs setstripe, setfattr -n ceph.dir.layout...)",
      given(striping), option));
}

}  // namespace weir::bench
