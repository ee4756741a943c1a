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
       .help = "storage targets that have parts of each test file, on Lustre and CephFS [as the "
               "directory has it]"},
      {.name = "stripe-size",
       .kind = Kind::bytes,
       .metavar = "SIZE",
       .help = "what lies at once on one of them, a multiple of 64k [as the directory has it]"},
      {.name = "first-target",
       .kind = Kind::integer,
       .metavar = "INDEX",
       .help = "the first of them, on Lustre [any]"},
      {.name = "pool",
       .metavar = "NAME",
       .help = "the pool of targets that they are of [as the directory has it]"},
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
      return invalid_argument(fmt::format("--first-target: there is no target {}", index));
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
      fmt::format("{}: {}, or name another --directory", given(striping), error.message);
  return error;
}

Status refuse_striping(const storage::Striping& striping, const char* option) {
  if (striping.empty()) return {};
  return invalid_argument(fmt::format(
      "{}: only files in the job's own folder get a layout, and {} names others; set it of the "
      "folder that they are made in (lfs setstripe, setfattr -n ceph.dir.layout...)",
      given(striping), option));
}

}  // namespace weir::bench
