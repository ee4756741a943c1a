// Settings: each is declared once, and can be given on the command line, in the environment or in a
// TOML file.
//
// A declaration defines the long option `--NAME`, the environment variable `WEIR_NAME` (upper case,
// dashes as underscores), the TOML key `NAME` and a line of the help text. The precedence is:
// command line, environment, file (`--settings FILE` or WEIR_SETTINGS), default. Every value keeps
// its origin, which is recorded with the result.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"

namespace weir {

enum class SettingKind {
  text,
  integer,  // >= 0, 64 bits
  real,     // >= 0
  bytes,    // an integer with an optional suffix k, m, g, t (powers of 1024), also KiB or K
  flag,     // --name sets it to true, --no-name to false
  choice,   // one of `choices`
  choices,  // one or more of `choices`, separated by commas
  sizes,    // one or more values of kind `bytes`, or ranges such as 2k:4m:*2, separated by commas
};

// The values of a number, or of each number in a list.
struct SettingRange {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;  // `least` itself is not allowed
};

struct Setting {
  std::string_view name = {};  // lower case, words joined by dashes
  SettingKind kind = SettingKind::text;
  std::string_view default_value = {};  // empty: no value unless given
  std::string_view metavar = {};        // how the help names the value, such as SECONDS
  std::string_view help = {};
  std::vector<std::string_view> choices = {};
  std::string_view alias = {};     // a second environment variable, read after WEIR_NAME
  std::string_view position = {};  // not empty: also the positional argument of this name
  std::string_view letter = {};    // not empty: also the short option -LETTER; flags can be bundled
  // Names of this setting in other programs, where users are used to them; they are for code that
  // translates foreign options.
  std::vector<std::string_view> foreign = {};
  SettingRange range = {};
  // Returns what is wrong with a text, such as "is not a colour"; nothing if it is valid.
  std::function<std::optional<std::string>(const std::string& text)> complaint = {};
  std::string_view recorded = {};  // its name in results, if that is not `name`, by underscores
};

enum class SettingOrigin { command_line, environment, file, default_value };
[[nodiscard]] const char* name_of(SettingOrigin origin);  // the spelling in run.json

struct SettingValue {
  std::string text;
  SettingOrigin origin = SettingOrigin::default_value;
  SettingKind kind = SettingKind::text;
  std::string recorded = {};  // the setting's name in results
};

// Looks up a variable; returns nothing if it is not set. Tests pass a lookup of their own.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string&)>;
[[nodiscard]] std::optional<std::string> process_environment(const std::string& name);

class Settings {
 public:
  // Returns true if the setting was given or has a default that is not empty.
  [[nodiscard]] bool has(std::string_view name) const;
  // Returns true if the setting was given.
  [[nodiscard]] bool given(std::string_view name) const;
  // The following functions return typed values; the text was checked when it was resolved. Asking
  // for a setting that was not declared, or for one without a value, is a programming error and
  // ends the program.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;  // kinds integer and bytes
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> list(std::string_view name) const;    // choices, sizes
  [[nodiscard]] std::vector<std::int64_t> sizes(std::string_view name) const;  // kind sizes
  [[nodiscard]] const std::map<std::string, SettingValue, std::less<>>& values() const {
    return values_;
  }

 private:
  friend struct SettingsResolver;
  [[nodiscard]] const SettingValue& at(std::string_view name) const;
  std::map<std::string, SettingValue, std::less<>> values_;
};

struct ResolvedSettings {
  Settings settings;
  std::optional<std::string> help;  // the help text, if --help was given
};

// Resolves `arguments` (without the names of the program and the workload). An error is one line
// that names the setting, where it was given, its value and the allowed values.
[[nodiscard]] Result<ResolvedSettings> resolve_settings(std::string_view program,
                                                        std::string_view description,
                                                        std::span<const Setting> declarations,
                                                        std::span<const std::string> arguments,
                                                        const EnvironmentLookup& environment);

// Returns the name of a setting in results, with underscores.
[[nodiscard]] std::string recorded_name(const Setting& setting);

// Returns the name that switches a flag off: no-verify for verify, fill-values for no-fill-values.
[[nodiscard]] std::string negation_of(std::string_view flag);

// Parses a size such as "64m" (67108864). Returns nothing if `text` is not a size or exceeds 63
// bits.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(std::string_view text);

}  // namespace weir
