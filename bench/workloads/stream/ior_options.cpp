#include "workloads/stream/ior_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

namespace weir::bench::stream {
namespace {

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

bool same_word(std::string_view a, std::string_view b) { return lower(a) == lower(b); }

// IOR options that set a particular value or several settings, or that request what Weir does
// anyway.
enum class Meaning {
  repetitions,   // exactly N, without warm-up
  minutes,       // --time-limit in minutes
  fsync,         // --sync fsync
  random_order,  // --pattern random
  reorder_constant,
  reorder_random,
  check_read,  // --read --verify
  packet,  // the payload is always incompressible and identifies its position and the run's seed
  always,  // done in every run
};

struct Special {
  std::string_view letter;
  std::string_view directive;
  Meaning meaning;
  bool takes_value;
};

constexpr Special specials[] = {
    {"i", "repetitions", Meaning::repetitions, true},
    {"T", "maxTimeDuration", Meaning::minutes, true},
    {"e", "fsync", Meaning::fsync, false},
    {"z", "randomOffset", Meaning::random_order, false},
    {"C", "reorderTasksConstant", Meaning::reorder_constant, false},
    {"Z", "reorderTasksRandom", Meaning::reorder_random, false},
    {"R", "checkRead", Meaning::check_read, false},
    {"l", "dataPacketType", Meaning::packet, true},
    {"q", "quitOnError", Meaning::always, false},
    {"g", "intraTestBarriers", Meaning::always, false},
};

struct Refused {
  std::string_view letter;
  std::string_view directive;
  std::string_view instead;
};

constexpr Refused refused[] = {
    {"f", "scriptFile", "write a campaign file: `weir campaign FILE.toml`"},
    {"H", "showHints", "the MPI library's own tools show hints; -U gives them"},
    {"I", "individualDataSets", "IOR does not support it either; use -F for separate data"},
    {"P", "useSharedFilePointer", "IOR does not support it either; use --pattern interleaved"},
    {"S", "useStridedDatatype", "IOR does not support it either; use -V with -a MPIIO"},
    {"x", "singleXferAttempt", "leave it out: a partial transfer is completed, or the run fails"},
    {"", "memoryPerTask", "use -M (--memory-hog), which takes the memory of a node"},
    {"", "storeFileOffset", "leave it out: the payload always contains its place in the file"},
    {"", "stoneWallingWearOutIterations",
     "use --wear-out, which continues to the count of the furthest rank"},
    {"", "minTimeDuration", "use -i or --repetitions for longer runs"},
    {"", "dryRun", "use --plan --ranks N"},
    {"", "summaryAlways", "leave it out: results are always written"},
    {"", "warningAsErrors", "read `warnings` in run.json"},
    {"", "allocateBufferOnGPU", "buffers lie in host memory"},
    {"", "lustreStripeCount", "use --stripe-count, or with -o `lfs setstripe` on the directory"},
    {"", "lustreStripeSize", "use --stripe-size, or with -o `lfs setstripe` on the directory"},
    {"", "lustreStartOST", "use --first-target, or with -o `lfs setstripe` on the directory"},
    {"", "lustreIgnoreLocks", "Weir has no such option"},
    {"", "gpfsHintAccess", "Weir has no such option"},
    {"", "gpfsReleaseToken", "Weir has no such option"},
    {"", "multiReRead", "use -i N with -w -r"},
    {"", "randomPrefill", "write first with --pattern segmented"},
    {"", "custom", "Weir has no such option"},
};

std::optional<bool> truth(std::string_view text) {
  if (text == "1" || same_word(text, "true")) return true;
  if (text == "0" || same_word(text, "false")) return false;
  return std::nullopt;
}

// Weir's own names that a command line of IOR may contain; `weir` adds most of them.
constexpr std::string_view beside_ior[] = {"directory", "output", "expectation", "progress",
                                           "plan",      "ranks",  "seed"};

class Translation {
 public:
  Translation(std::span<const Setting> declarations, std::span<const std::string> arguments)
      : declarations_(declarations), arguments_(arguments) {}

  Status run() {
    while (at_ < arguments_.size()) {
      const std::string& argument = arguments_[at_++];
      Status status;
      if (argument.starts_with("--") && argument.size() > 2) {
        status = take_long(argument);
      } else if (argument.starts_with('-') && argument.size() > 1) {
        status = take_letters(argument);
      } else {
        status = invalid_argument(fmt::format(
            "stream: no option takes the value '{}'; --help lists all options", argument));
      }
      if (!status) return status;
    }
    return {};
  }

  std::vector<std::string> translated;
  bool has_iors_words = false;
  bool has_own_words = false;
  bool says_how_often = false;

 private:
  static bool is_flag(const Setting& setting) { return setting.kind == SettingKind::flag; }

  // Returns the value of an option: attached (with or without '='), or the next argument.
  Result<std::string> value_of(const std::string& option, std::string_view attached) {
    if (attached.starts_with('=')) attached.remove_prefix(1);
    if (!attached.empty()) return std::string(attached);
    if (at_ < arguments_.size()) return arguments_[at_++];
    return invalid_argument(fmt::format("stream: {} needs a value", option));
  }

  Status take_long(const std::string& argument) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const bool has_value = equals != std::string::npos;
    const std::string attached = has_value ? argument.substr(equals + 1) : std::string();
    if (name == "help" || name == "settings") return pass_on(argument, name, has_value);
    for (const Setting& setting : declarations_) {
      if (setting.name == name) {
        const auto* const beside = std::find(std::begin(beside_ior), std::end(beside_ior), name);
        has_own_words = has_own_words || beside == std::end(beside_ior);
        if (!has_value && !is_flag(setting)) {
          const auto value = value_of("--" + name, "");
          if (!value) return value.error();
          return give(setting, value.value(), "--" + name);
        }
        if (has_value) return give(setting, attached, "--" + name);
        translated.push_back(argument);
        return {};
      }
      if (is_flag(setting) && name == negation_of(setting.name)) {
        has_own_words = true;
        translated.push_back(argument);
        return {};
      }
    }
    return take_directive(name, has_value ? std::optional(attached) : std::nullopt, "--" + name);
  }

  Status pass_on(const std::string& argument, const std::string& name, bool has_value) {
    has_own_words = true;
    translated.push_back(argument);
    if (name == "settings" && !has_value && at_ < arguments_.size()) {
      translated.push_back(arguments_[at_++]);
    }
    return {};
  }

  Status take_letters(const std::string& argument) {
    has_iors_words = true;
    for (std::size_t i = 1; i < argument.size(); ++i) {
      const std::string_view letter(argument.data() + i, 1);
      const std::string_view rest = std::string_view(argument).substr(i + 1);
      const std::string option = fmt::format("-{}", letter);
      if (letter == "h") {
        translated.emplace_back("--help");
        continue;
      }
      if (letter == "O") {
        const auto value = value_of(option, rest);
        if (!value) return value.error();
        return take_directives(value.value());
      }
      bool used_rest = false;
      if (Status status = take_letter(letter, option, rest, &used_rest); !status) return status;
      if (used_rest) return {};
    }
    return {};
  }

  Status take_letter(std::string_view letter, const std::string& option, std::string_view rest,
                     bool* used_rest) {
    for (const Setting& setting : declarations_) {
      if (setting.letter != letter) continue;
      if (is_flag(setting)) return give(setting, "true", option);
      *used_rest = true;
      const auto value = value_of(option, rest);
      return value ? give(setting, value.value(), option) : Status(value.error());
    }
    for (const Special& special : specials) {
      if (special.letter != letter) continue;
      if (!special.takes_value) return mean(special, "1", option);
      *used_rest = true;
      const auto value = value_of(option, rest);
      return value ? mean(special, value.value(), option) : Status(value.error());
    }
    for (const Refused& one : refused) {
      if (one.letter == letter) return refuse(option, one);
    }
    return invalid_argument(
        fmt::format("stream: unknown option {}; --help lists all options", option));
  }

  Status take_directives(const std::string& text) {
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string part = text.substr(begin, end - begin);
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos || equals == 0) {
        return invalid_argument(fmt::format(
            "stream: -O '{}': give directives as NAME=VALUE, with commas between several", part));
      }
      const std::string name = part.substr(0, equals);
      if (Status status = take_directive(name, part.substr(equals + 1), "-O " + name); !status) {
        return status;
      }
      begin = end + 1;
    }
    return {};
  }

  Status take_directive(const std::string& name, std::optional<std::string> value,
                        const std::string& option) {
    has_iors_words = true;
    const auto valued = [&] { return value ? Result<std::string>(*value) : value_of(option, ""); };
    // These come before settings of the same name: `repetitions` means another number in IOR.
    for (const Special& special : specials) {
      if (!same_word(special.directive, name)) continue;
      if (!special.takes_value) return mean(special, value.value_or("1"), option);
      const auto given = valued();
      return given ? mean(special, given.value(), option) : Status(given.error());
    }
    for (const Setting& setting : declarations_) {
      const bool meant =
          std::any_of(setting.foreign.begin(), setting.foreign.end(),
                      [&](std::string_view other) { return same_word(other, name); });
      if (!meant && !same_word(setting.name, name)) continue;
      if (is_flag(setting)) return give(setting, value.value_or("true"), option);
      const auto given = valued();
      return given ? give(setting, given.value(), option) : Status(given.error());
    }
    for (const Refused& one : refused) {
      if (same_word(one.directive, name)) return refuse(option, one);
    }
    return invalid_argument(
        fmt::format("stream: unknown option {}; --help lists all options", option));
  }

  static Status refuse(const std::string& option, const Refused& one) {
    return invalid_argument(fmt::format("stream: {} ({} in IOR) is not supported: {}", option,
                                        one.directive, one.instead));
  }

  // Sets a setting to a value. Choices may have any case, and IOR's other names of interfaces are
  // accepted.
  Status give(const Setting& setting, const std::string& value, const std::string& option) {
    if (is_flag(setting)) {
      // IOR's value is the level of verbosity.
      const auto on =
          setting.name == "verbose" && value.find_first_not_of("0123456789") == std::string::npos
              ? std::optional(value != "0")
              : truth(value);
      if (!on) {
        return invalid_argument(fmt::format("stream: {}: '{}' is neither 0 nor 1", option, value));
      }
      translated.push_back(
          fmt::format("--{}", *on ? std::string(setting.name) : negation_of(setting.name)));
      return {};
    }
    std::string canonical = value;
    if (!setting.choices.empty()) canonical = in_the_case_of(setting, value);
    if (setting.name == "seed" && value == "0" && option != "--seed") return {};  // IOR: no seed
    translated.push_back(fmt::format("--{}={}", setting.name, canonical));
    return {};
  }

  static std::string in_the_case_of(const Setting& setting, const std::string& value) {
    std::string result;
    std::size_t begin = 0;
    while (begin <= value.size()) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      std::string part = value.substr(begin, end - begin);
      if (setting.name == "api" && same_word(part, "NCMPI")) part = "PNETCDF";
      for (const std::string_view choice : setting.choices) {
        if (same_word(choice, part)) part = choice;
      }
      result += (begin == 0 ? "" : ",") + part;
      begin = end + 1;
    }
    return result;
  }

  Status mean(const Special& special, const std::string& value, const std::string& option) {
    const auto add = [this](std::string argument) { translated.push_back(std::move(argument)); };
    if (special.meaning == Meaning::repetitions || special.meaning == Meaning::minutes) {
      const auto number = parse_bytes(value);
      if (!number || *number > 1'000'000) {
        return invalid_argument(
            fmt::format("stream: {}: '{}' is not a whole number", option, value));
      }
      if (special.meaning == Meaning::repetitions) {
        says_how_often = true;
        for (const char* name : {"repetitions", "max-repetitions"}) {
          add(fmt::format("--{}={}", name, *number));
        }
        add("--warmups=0");
      } else if (*number > 0) {
        add(fmt::format("--time-limit={}", *number * 60));
      }
      return {};
    }
    if (special.meaning == Meaning::packet) return check_packet(value, option);
    const auto on = truth(value);
    if (!on) {
      return invalid_argument(fmt::format("stream: {}: '{}' is neither 0 nor 1", option, value));
    }
    switch (special.meaning) {
      case Meaning::fsync:
        add(*on ? "--sync=fsync" : "--sync=none");
        break;
      case Meaning::random_order:
        if (*on) add("--pattern=random");
        break;
      case Meaning::reorder_constant:
        if (*on) add("--reorder=constant");
        break;
      case Meaning::reorder_random:
        if (*on) add("--reorder=random");
        break;
      case Meaning::check_read:
        add(*on ? "--verify" : "--no-verify");
        if (*on) add("--read");
        break;
      default:
        break;  // always
    }
    return {};
  }

  static Status check_packet(const std::string& value, const std::string& option) {
    for (const char* known : {"offset", "incompressible", "timestamp", "o", "i", "t"}) {
      if (same_word(known, value)) return {};
    }
    return invalid_argument(
        fmt::format("stream: {}: '{}' is not one of offset, incompressible, timestamp, o, i, t",
                    option, value));
  }

  std::span<const Setting> declarations_;
  std::span<const std::string> arguments_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<std::string>> translate_ior(std::span<const Setting> declarations,
                                               std::span<const std::string> arguments) {
  Translation translation(declarations, arguments);
  if (Status status = translation.run(); !status) return status.error();
  return std::move(translation.translated);
}

bool runs_once_in_ior(std::span<const Setting> declarations,
                      std::span<const std::string> arguments) {
  Translation line(declarations, arguments);
  return line.run().ok() && line.has_iors_words && !line.has_own_words && !line.says_how_often;
}

}  // namespace weir::bench::stream
