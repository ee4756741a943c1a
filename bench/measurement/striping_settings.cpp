#include "measurement/striping_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>
#include <system_error>

#include "system/striped_system.hpp"

namespace weir::bench {
namespace {

using Kind = SettingKind;

std::string given(const storage::Striping& striping) {
  return fmt::format("{}", fmt::join(striping_arguments(striping), " "));
}

}  // namespace

std::vector<Setting> striping_declarations() {
  return {
      {.name = "stripe-count",
       .metavar = "N|all",
       .help = "number of storage targets of each test file, on Lustre and CephFS [as for the "
               "directory]"},
      {.name = "stripe-size",
       .kind = Kind::bytes,
       .metavar = "SIZE",
       .help = "bytes that lie together on one target, a multiple of 64k [as for the directory]"},
      {.name = "first-target",
       .kind = Kind::integer,
       .metavar = "INDEX",
       .help = "index of the first target, on Lustre [any]"},
      {.name = "pool",
       .metavar = "NAME",
       .help = "pool from which the targets are taken [as for the directory]"},
  };
}

Result<storage::Striping> striping_of(const Settings& settings) {
  storage::Striping striping;
  if (settings.has("stripe-count")) {
    const std::string& text = settings.text("stripe-count");
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, striping.count);
    if (text == "all") {
      striping.count = storage::Striping::all_targets;
    } else if (error != std::errc{} || stop != end || striping.count < 1) {
      return invalid_argument(fmt::format(
          "--stripe-count: '{}' is neither a number of targets, 1 or more, nor 'all'", text));
    }
  }
  if (settings.has("stripe-size")) {
    striping.stripe_bytes = settings.integer("stripe-size");
    if (striping.stripe_bytes == 0) {
      return invalid_argument("--stripe-size must be at least 64k; given: 0");
    }
  }
  if (settings.has("first-target")) {
    const std::int64_t index = settings.integer("first-target");
    if (index == std::numeric_limits<std::int64_t>::max()) {
      return invalid_argument(fmt::format("--first-target: target {} does not exist", index));
    }
    striping.first_target = index + 1;
  }
  if (settings.has("pool")) striping.pool = settings.text("pool");
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
