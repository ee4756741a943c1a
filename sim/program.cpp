#include "program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weir::sim {
namespace {

constexpr std::size_t most_description_bytes = std::size_t{1} << 20;

Result<Description> description_from_input() {
  std::string text;
  for (char c = 0; std::cin.get(c) && text.size() <= most_description_bytes;) text.push_back(c);
  if (text.size() > most_description_bytes) {
    return invalid_argument(
        fmt::format("the description has more than {} bytes", most_description_bytes));
  }
  return parse_description(text);
}

}  // namespace

int run_simulator(const Arguments& arguments, const char* name, const char* help,
                  Result<Simulated> (*simulate)(const Description& asked)) {
  if (arguments.count > 1) {
    const std::string_view word = arguments.words[1];
    const bool asks = word == "--help" || word == "-h";
    fmt::print(asks ? stdout : stderr, "{}", help);
    return asks ? 0 : 2;
  }
  const auto complain = [&](const Error& error) {
    fmt::print(stderr, "{}: {}\n", name, error.message);
    return 2;
  };
  const auto asked = description_from_input();
  if (!asked) return complain(asked.error());
  const auto simulated = simulate(asked.value());
  if (!simulated) return complain(simulated.error());
  const Outcome& outcome = simulated.value().outcome;
  if (!outcome.unused_slow.empty()) {
    return complain(invalid_argument(
        fmt::format("{} is to be slow, but no bytes of this job pass it: name another one",
                    outcome.unused_slow.front())));
  }
  fmt::print("{}\n", json_of(simulated.value().planned, outcome).dump(2));
  return 0;
}

}  // namespace weir::sim
