#include "workloads/metadata/metarates_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weir::bench::metadata {
namespace {

constexpr std::string_view compatible_word = "--metarates-compat";

// A kind of call that metarates measures, and the corresponding actions.
struct Measure {
  char letter;
  std::string_view action;
};
constexpr Measure measures[] = {{'C', "create"}, {'U', "utime"}, {'S', "stat"}};

// Returns a value that is attached to its letter or is the next argument.
Result<std::string> value_of(std::span<const std::string> arguments, std::size_t* at) {
  const std::string& argument = arguments[*at];
  if (argument.size() > 2) return argument.substr(2);
  if (*at + 1 < arguments.size()) return arguments[++*at];
  return invalid_argument(fmt::format("metadata: metarates' {} needs a value", argument));
}

}  // namespace

Result<std::vector<std::string>> translate_metarates(std::span<const std::string> arguments) {
  if (std::find(arguments.begin(), arguments.end(), compatible_word) == arguments.end()) {
    return std::vector<std::string>(arguments.begin(), arguments.end());
  }
  std::vector<std::string> translated{"--kind=files", "--warmups=0", "--repetitions=1",
                                      "--max-repetitions=1", "--metarates-table"};
  std::vector<std::string> own;
  std::string actions;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (argument == compatible_word) continue;
    if (argument.starts_with("--") && argument.size() > 2) {
      own.push_back(argument);
      const bool value_apart = argument.find('=') == std::string::npos &&
                               at + 1 < arguments.size() && !arguments[at + 1].starts_with('-');
      if (value_apart) own.push_back(arguments[++at]);
      continue;
    }
    if (!argument.starts_with('-') || argument.size() < 2) {
      return invalid_argument(
          fmt::format("metadata: metarates has no option with the value '{}'", argument));
    }
    if (argument[1] == 'd' || argument[1] == 'n') {
      const char* setting = argument[1] == 'd' ? "directory" : "items";
      auto value = value_of(arguments, &at);
      if (!value) return value.error();
      translated.push_back(fmt::format("--{}={}", setting, value.value()));
      continue;
    }
    for (const char letter : std::string_view(argument).substr(1)) {
      const auto* found = std::find_if(std::begin(measures), std::end(measures),
                                       [&](const Measure& one) { return one.letter == letter; });
      if (found == std::end(measures)) {
        return invalid_argument(
            fmt::format("metadata: metarates' -{} is not supported; -d, -n, -C, -U and -S are, and "
                        "so are Weir's long options, which --help lists",
                        letter));
      }
      actions += fmt::format("{}{}", actions.empty() ? "" : ",", found->action);
    }
  }
  translated.push_back("--actions=" + (actions.empty() ? "create,utime,stat" : actions));
  translated.insert(translated.end(), own.begin(), own.end());
  return translated;
}

}  // namespace weir::bench::metadata
