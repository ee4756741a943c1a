#include "common/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "common/checked.hpp"
#include "common/setting_fields.hpp"

namespace weir {
namespace {

std::string environment_name(std::string_view setting) {
  std::string name = "WEIR_";
  for (const char c : setting) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= 0) || value > 1e300) return std::nullopt;
  return value;
}

std::optional<bool> parse_flag(std::string_view text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return std::nullopt;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// Finds a choice regardless of upper and lower case.
const std::string_view* choice_named(const Setting& setting, std::string_view value) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  for (const std::string_view& choice : setting.choices) {
    if (std::equal(choice.begin(), choice.end(), value.begin(), value.end(), same)) return &choice;
  }
  return nullptr;
}

// Returns the values of a part of a list of sizes: one, or those of a range such as 2k:4m:*2, whose
// end is a value if a step meets it. Returns nothing if the part is neither.
std::optional<std::vector<std::int64_t>> sizes_in(std::string_view part) {
  constexpr std::size_t most_values = 1000;
  const std::size_t first_colon = part.find(':');
  const auto first = parse_bytes(part.substr(0, first_colon));
  if (!first) return std::nullopt;
  if (first_colon == std::string_view::npos) return std::vector<std::int64_t>{*first};
  part.remove_prefix(first_colon + 1);
  const std::size_t second_colon = part.find(':');
  const auto last = parse_bytes(part.substr(0, second_colon));
  if (!last || *last < *first || second_colon == std::string_view::npos) return std::nullopt;
  part.remove_prefix(second_colon + 1);
  const bool multiplied = part.starts_with('*');
  const auto step = parse_bytes(multiplied ? part.substr(1) : part);
  if (!step || *step < (multiplied ? 2 : 1) || (multiplied && *first == 0)) return std::nullopt;
  std::vector<std::int64_t> values;
  for (std::optional<std::int64_t> value = first; value && *value <= *last;
       value = multiplied ? checked_multiply(*value, *step) : checked_add(*value, *step)) {
    if (values.size() == most_values) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// Gives the choices in a value their declared spelling, and writes out the ranges in a list of
// sizes. The value is valid.
std::string as_declared(const Setting& setting, std::string value) {
  if (setting.kind == SettingKind::sizes && value.find(':') != std::string::npos) {
    std::string listed;
    for (const std::string& part : split_list(value)) {
      for (const std::int64_t one : sizes_in(part).value_or(std::vector<std::int64_t>{})) {
        listed += fmt::format("{}{}", listed.empty() ? "" : ",", one);
      }
    }
    return listed;
  }
  if (setting.choices.empty()) return value;
  std::string declared;
  for (const std::string& part : split_list(value)) {
    declared += fmt::format("{}{}", declared.empty() ? "" : ",", *choice_named(setting, part));
  }
  return declared;
}

// Returns what is wrong with the value, or nothing if it is valid.
std::optional<std::string> complaint(const Setting& setting, const std::string& value) {
  if (setting.complaint) return setting.complaint(value);
  switch (setting.kind) {
    case SettingKind::text:
      return std::nullopt;
    case SettingKind::integer:
      if (parse_integer(value)) return std::nullopt;
      return "is not a whole number from 0 to 2^63-1";
    case SettingKind::real:
      if (parse_real(value)) return std::nullopt;
      return "is not a number of at least 0";
    case SettingKind::bytes:
      if (parse_bytes(value)) return std::nullopt;
      return "is not a size in bytes such as 4096, 64k or 1g";
    case SettingKind::flag:
      if (parse_flag(value)) return std::nullopt;
      return "is neither true nor false";
    case SettingKind::choice:
      if (choice_named(setting, value) != nullptr) return std::nullopt;
      return fmt::format("is not one of {}", fmt::join(setting.choices, ", "));
    case SettingKind::sizes:
      for (const std::string& part : split_list(value)) {
        if (sizes_in(part)) continue;
        return "is not a list of numbers or sizes such as 4096, 64k, 1g or 2k:4m:*2";
      }
      return std::nullopt;
    case SettingKind::choices:
      for (const std::string& part : split_list(value)) {
        if (choice_named(setting, part) == nullptr) {
          return fmt::format("is not a list of {}", fmt::join(setting.choices, ", "));
        }
      }
      return std::nullopt;
  }
  return "has no known kind";
}

// Returns the rule that a valid value breaks by its numbers, or nothing if they are in range.
std::optional<std::string> broken_range(const Setting& setting, const std::string& value) {
  const auto& [least, most, above_least] = setting.range;
  const auto allows = [least = least, most = most, above = above_least](double number) {
    return (above ? number > least : number >= least) && number <= most;
  };
  bool holds = true;
  if (setting.kind == SettingKind::real) {
    holds = allows(parse_real(value).value_or(0));
  } else if (setting.kind == SettingKind::integer || setting.kind == SettingKind::bytes) {
    holds = allows(static_cast<double>(parse_bytes(value).value_or(0)));
  } else if (setting.kind == SettingKind::sizes) {
    for (const std::string& part : split_list(value)) {
      for (const std::int64_t one : sizes_in(part).value_or(std::vector<std::int64_t>{})) {
        holds = holds && allows(static_cast<double>(one));
      }
    }
  }
  if (holds) return std::nullopt;
  if (above_least) {
    return std::isinf(most) ? fmt::format("must be above {}", least)
                            : fmt::format("must be above {} and at most {}", least, most);
  }
  return std::isinf(most) ? fmt::format("must be at least {}", least)
                          : fmt::format("must be between {} and {}", least, most);
}

std::string short_name(const Setting& setting) {
  return setting.letter.empty() ? std::string() : fmt::format("-{},", setting.letter);
}

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* array = node.as_array()) {
    std::vector<std::string> parts;
    for (const toml::node& element : *array) {
      if (element.is_array()) return std::nullopt;
      const auto text = text_of(element);
      if (!text) return std::nullopt;
      parts.push_back(*text);
    }
    return fmt::format("{}", fmt::join(parts, ","));
  }
  return std::nullopt;
}

/// Prints an option as `-w,--[no-]write` or `--shape NxM`, and breaks its description at 100
/// columns. CLI11's own formatter prints `--write,--no-write{false}`, and before 2.5 does not
/// break.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    constexpr std::size_t indent = 30;
    constexpr std::size_t width = 100;
    std::string text;
    std::string line =
        fmt::format("  {}{}", names_of(*option, is_positional), make_option_opts(option));
    const std::string description = make_option_desc(option);
    if (!description.empty() && line.size() + 2 > indent) {
      text += line + "\n";
      line.clear();
    }
    line.resize(description.empty() ? line.size() : indent, ' ');
    std::istringstream words(description);
    bool first = true;
    for (std::string word; words >> word; first = false) {
      if (!first && line.size() + 1 + word.size() > width) {
        text += line + "\n";
        line.assign(indent, ' ');
        first = true;
      }
      line += (first ? "" : " ") + word;
    }
    return text + line + "\n";
  }

 private:
  std::string names_of(const CLI::Option& option, bool is_positional) const {
    std::string names = make_option_name(&option, is_positional);
    if (const auto mark = names.find("{false}"); mark != std::string::npos) names.resize(mark);
    const auto comma = names.rfind(",--no-");
    if (comma == std::string::npos) return names;
    const std::string flag = names.substr(comma + 6);
    const std::string positive = "--" + flag;
    if (comma < positive.size() ||
        names.compare(comma - positive.size(), positive.size(), positive) != 0) {
      return names;
    }
    return fmt::format("{}--[no-]{}", names.substr(0, comma - positive.size()), flag);
  }
};

}  // namespace

std::string recorded_name(const Setting& setting) {
  std::string name(setting.recorded.empty() ? setting.name : setting.recorded);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string negation_of(std::string_view flag) {
  constexpr std::string_view no = "no-";
  return flag.starts_with(no) ? std::string(flag.substr(no.size())) : fmt::format("{}{}", no, flag);
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) {
    ++digits;
  }
  const auto number = parse_integer(text.substr(0, digits));
  if (!number || digits == 0) return std::nullopt;
  std::string suffix;
  for (const char c : text.substr(digits)) {
    suffix += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (suffix.empty() || suffix == "b") return number;
  if (suffix.size() == 3 && suffix.substr(1) == "ib") suffix.resize(1);
  if (suffix.size() != 1) return std::nullopt;
  const std::size_t power = std::string_view("kmgt").find(suffix[0]);
  if (power == std::string_view::npos) return std::nullopt;
  return checked_multiply(*number, std::int64_t{1} << (10 * (power + 1)));
}

void read_setting(const std::string& text, bool* value) {
  *value = parse_flag(text).value_or(false);
}
void read_setting(const std::string& text, double* value) { *value = parse_real(text).value_or(0); }
void read_setting(const std::string& text, std::string* value) { *value = text; }
void read_setting(const std::string& text, std::int64_t* value) {
  *value = parse_bytes(text).value_or(0);
}

const char* name_of(SettingOrigin origin) {
  switch (origin) {
    case SettingOrigin::command_line:
      return "command line";
    case SettingOrigin::environment:
      return "environment";
    case SettingOrigin::file:
      return "file";
    case SettingOrigin::default_value:
      break;
  }
  return "default";
}

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

const SettingValue& Settings::at(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    fmt::print(stderr, "weir: internal error: setting '{}' has no value\n", name);
    std::abort();
  }
  return found->second;
}

bool Settings::has(std::string_view name) const { return values_.find(name) != values_.end(); }
bool Settings::given(std::string_view name) const {
  return has(name) && at(name).origin != SettingOrigin::default_value;
}
const std::string& Settings::text(std::string_view name) const { return at(name).text; }
std::int64_t Settings::integer(std::string_view name) const {
  return parse_bytes(at(name).text).value_or(0);
}
double Settings::real(std::string_view name) const { return parse_real(at(name).text).value_or(0); }
bool Settings::flag(std::string_view name) const {
  return parse_flag(at(name).text).value_or(false);
}
std::vector<std::string> Settings::list(std::string_view name) const {
  return split_list(at(name).text);
}

std::vector<std::int64_t> Settings::sizes(std::string_view name) const {
  std::vector<std::int64_t> values;
  for (const std::string& part : list(name)) values.push_back(parse_bytes(part).value_or(0));
  return values;
}

struct SettingsResolver {
  std::span<const Setting> declarations;
  const EnvironmentLookup& environment;
  Settings settings;

  Status accept(const Setting& setting, std::string value, SettingOrigin origin,
                const std::string& where) {
    if (const auto wrong = complaint(setting, value)) {
      return invalid_argument(fmt::format("{}: '{}' {}", where, value, *wrong));
    }
    if (const auto rule = broken_range(setting, value)) {
      return invalid_argument(fmt::format("{} {}; given: {}", where, *rule, value));
    }
    settings.values_[std::string(setting.name)] = {as_declared(setting, std::move(value)), origin,
                                                   setting.kind, recorded_name(setting)};
    return {};
  }

  Status take_defaults() {
    for (const Setting& setting : declarations) {
      if (setting.default_value.empty()) continue;
      if (Status status = accept(setting, std::string(setting.default_value),
                                 SettingOrigin::default_value, std::string(setting.name));
          !status) {
        return status;
      }
    }
    return {};
  }

  Status take_file(const std::string& path) {
    toml::table table;
    try {
      table = toml::parse_file(path);
    } catch (const toml::parse_error& error) {
      if (error.source().begin.line == 0) {  // Nothing of it was read.
        return invalid_argument(fmt::format(
            "settings file {} cannot be opened: check its path, and that you may read it", path));
      }
      return invalid_argument(fmt::format("settings file {}: {} (line {})", path,
                                          error.description(), error.source().begin.line));
    }
    for (const auto& entry : table) {
      const std::string_view key{entry.first.str()};
      const toml::node& node = entry.second;
      const auto setting = std::find_if(declarations.begin(), declarations.end(),
                                        [&](const Setting& s) { return s.name == key; });
      if (setting == declarations.end()) {
        return invalid_argument(fmt::format(
            "settings file {}: unknown setting '{}'; --help lists all settings", path, key));
      }
      const auto value = text_of(node);
      if (!value) {
        return invalid_argument(
            fmt::format("settings file {}: '{}' needs a single value", path, key));
      }
      if (Status status = accept(*setting, *value, SettingOrigin::file,
                                 fmt::format("settings file {}: {}", path, key));
          !status) {
        return status;
      }
    }
    return {};
  }

  Status take_environment() {
    for (const Setting& setting : declarations) {
      for (const std::string& name : {environment_name(setting.name), std::string(setting.alias)}) {
        if (name.empty()) continue;
        const auto value = environment(name);
        if (!value) continue;
        if (Status status = accept(setting, *value, SettingOrigin::environment,
                                   fmt::format("environment variable {}", name));
            !status) {
          return status;
        }
        break;
      }
    }
    return {};
  }
};

Result<ResolvedSettings> resolve_settings(std::string_view program, std::string_view description,
                                          std::span<const Setting> declarations,
                                          std::span<const std::string> arguments,
                                          const EnvironmentLookup& environment) {
  for (const std::string& argument : arguments) {
    if (argument.size() > 1 && argument[0] == '-' &&
        std::isdigit(static_cast<unsigned char>(argument[1])) != 0) {
      return invalid_argument(
          fmt::format("'{}' is negative; every number must be 0 or more", argument));
    }
  }

  CLI::App app{std::string(description), std::string(program)};
  app.formatter(std::make_shared<HelpFormatter>());
  std::string settings_file;
  app.add_option("--settings", settings_file, "TOML file with any of these settings")
      ->type_name("FILE");
  std::map<std::string_view, std::string> given;
  std::map<std::string_view, bool> flags;
  std::map<std::string_view, CLI::Option*> options;
  for (const Setting& setting : declarations) {
    std::string help(setting.help);
    if (!setting.choices.empty()) {
      help += fmt::format(": {}", fmt::join(setting.choices, " | "));
    }
    if (!setting.default_value.empty()) help += fmt::format(" [{}]", setting.default_value);
    if (setting.kind == SettingKind::flag) {
      options[setting.name] = app.add_flag(
          fmt::format("{}--{},!--{}", short_name(setting), setting.name, negation_of(setting.name)),
          flags[setting.name], help);
      continue;
    }
    std::string names = fmt::format("{}--{}", short_name(setting), setting.name);
    if (!setting.position.empty()) names += fmt::format(",{}", setting.position);
    options[setting.name] = app.add_option(names, given[setting.name], help)
                                ->type_name(std::string(setting.metavar))
                                ->take_last();
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return ResolvedSettings{{}, app.help()};
  } catch (const CLI::ParseError& error) {
    std::string line = error.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    return invalid_argument(line + "; --help lists all options");
  }

  SettingsResolver resolver{declarations, environment, {}};
  if (Status status = resolver.take_defaults(); !status) return status.error();
  if (settings_file.empty()) settings_file = environment("WEIR_SETTINGS").value_or("");
  if (!settings_file.empty()) {
    if (Status status = resolver.take_file(settings_file); !status) return status.error();
  }
  if (Status status = resolver.take_environment(); !status) return status.error();
  for (const Setting& setting : declarations) {
    if (options[setting.name]->count() == 0) continue;
    const std::string value = setting.kind == SettingKind::flag
                                  ? std::string(flags[setting.name] ? "true" : "false")
                                  : given[setting.name];
    const std::string where = setting.position.empty()
                                  ? fmt::format("--{}", setting.name)
                                  : fmt::format("{} (--{})", setting.position, setting.name);
    if (Status status = resolver.accept(setting, value, SettingOrigin::command_line, where);
        !status) {
      return status.error();
    }
  }
  return ResolvedSettings{std::move(resolver.settings), std::nullopt};
}

}  // namespace weir
