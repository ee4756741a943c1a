#include "description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::int64_t most_ranks = std::int64_t{1} << 20;
constexpr std::int64_t most_units = std::int64_t{1} << 20;
constexpr std::int64_t most_steps = 100'000;
constexpr std::size_t most_parts = 64;

Error refuse(const std::string& rule) { return invalid_argument("the description: " + rule); }

Result<Users> users_named(const std::string& name) {
  constexpr std::array<std::pair<const char*, Users>, 4> known = {{{"node", Users::node},
                                                                   {"group", Users::group},
                                                                   {"client", Users::client},
                                                                   {"stripe", Users::stripe}}};
  for (const auto& [word, users] : known) {
    if (name == word) return users;
  }
  return refuse(fmt::format("users '{}': give node, group, client or stripe", name));
}

bool is_share(double share) { return share > 0 && share <= 1; }

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

Status check(const std::string& name, const SlowUnits& slow, std::int64_t units) {
  for (const auto& [unit, share] : slow) {
    if (unit < 0 || unit >= units) {
      return refuse(fmt::format("{}: unit {} is to be slow: give 0 to {}", name, unit, units - 1));
    }
    if (!is_share(share)) {
      return refuse(
          fmt::format("{}: unit {} has a share of its speed of {}: give a number above 0 "
                      "and at most 1",
                      name, unit, share));
    }
  }
  return {};
}

Status check(const Part& part) {
  if (part.name.empty()) return refuse("a part has no name");
  if (part.units < 1 || part.units > most_units) {
    return refuse(
        fmt::format("part {}: {} units: give 1 to {}", part.name, part.units, most_units));
  }
  if (!std::isfinite(part.bytes_per_second) || part.bytes_per_second <= 0 ||
      !is_time(part.copy_bytes_per_second)) {
    return refuse(fmt::format("part {}: its rates must be above 0", part.name));
  }
  if (!is_time(part.operation_seconds) || part.operations_at_once < 0) {
    return refuse(fmt::format("part {}: its costs must be 0 or more", part.name));
  }
  if (part.in_turn() && part.users != Users::group && part.users != Users::node) {
    return refuse(fmt::format("part {}: only a part of nodes or I/O groups does operations in turn",
                              part.name));
  }
  return check("part " + part.name, part.slow, part.units);
}

SlowUnits slow_units_in(const json& given) {
  SlowUnits slow;
  if (!given.contains("slow")) return slow;
  for (const json& one : given.at("slow")) {
    slow[one.at("unit").get<std::int64_t>()] = one.at("share").get<double>();
  }
  return slow;
}

Result<Part> part_in(const json& given) {
  Part part;
  part.name = given.at("name").get<std::string>();
  const auto users = users_named(given.at("users").get<std::string>());
  if (!users) return users.error();
  part.users = users.value();
  part.units = given.at("units").get<std::int64_t>();
  part.bytes_per_second = given.at("bytes_per_second").get<double>();
  part.operation_seconds = given.value("operation_seconds", 0.0);
  part.copy_bytes_per_second = given.value("copy_bytes_per_second", 0.0);
  part.operations_at_once = given.value("operations_at_once", std::int64_t{0});
  part.slow = slow_units_in(given);
  if (Status fit = check(part); !fit) return fit.error();
  return part;
}

Status check(const NetworkLinks& network, const Description& asked) {
  if (!std::isfinite(network.bytes_per_second) || network.bytes_per_second <= 0) {
    return refuse("the rate of the network's links must be above 0");
  }
  if (asked.messages.bytes_per_second <= 0) {
    return refuse("the network needs the rate of messages into a node");
  }
  if (asked.exchange.aggregators_on_first_nodes > 0) {
    return refuse("a global exchange is not simulated on a network: leave one of them out");
  }
  if (network.first_end && *network.first_end < asked.nodes) {
    return refuse(
        fmt::format("the first server or stager is at node {} of the network, among the "
                    "{} nodes of the job: give a number from there on",
                    *network.first_end, asked.nodes));
  }
  for (const auto& [link, share] : network.slow) {
    if (!is_share(share)) {
      return refuse(
          fmt::format("link {} has a share of its speed of {}: give a number above 0 and "
                      "at most 1",
                      link, share));
    }
  }
  return network.shape.check_nodes(network.first_end.value_or(asked.nodes) + asked.ends());
}

Status check(const Description& asked) {
  if (asked.nodes < 1 || asked.ranks_per_node < 1 || asked.nodes > most_ranks ||
      asked.ranks_per_node > most_ranks / asked.nodes) {
    return refuse(fmt::format("{} nodes of {} ranks: give at least 1 of each, and at most {} ranks",
                              asked.nodes, asked.ranks_per_node, most_ranks));
  }
  if (asked.parts.empty() || asked.parts.size() > most_parts) {
    return refuse(fmt::format("{} parts: give 1 to {}", asked.parts.size(), most_parts));
  }
  if (std::count_if(asked.parts.begin(), asked.parts.end(),
                    [](const Part& part) { return part.in_turn(); }) > 1) {
    return refuse("several parts do operations in turn: give operation_seconds to one of them");
  }
  if (asked.steps < 1 || asked.steps > most_steps) {
    return refuse(fmt::format("{} steps: give 1 to {}", asked.steps, most_steps));
  }
  if (asked.aggregators < 0 || asked.buffer_bytes < 0 || asked.nodes_per_group < 0 ||
      asked.stripe_bytes < 0 || asked.lock_bytes < 0 ||
      asked.exchange.aggregators_on_first_nodes < 0) {
    return refuse("numbers of aggregators, nodes and bytes must be 0 or more");
  }
  if (!is_time(asked.messages.bytes_per_second) || !is_time(asked.messages.seconds_each) ||
      !is_time(asked.exchange.seconds)) {
    return refuse("rates and times must be finite, and 0 or more");
  }
  if (asked.exchange.aggregators_on_first_nodes > 0 &&
      std::any_of(asked.parts.begin(), asked.parts.end(),
                  [](const Part& part) { return part.in_turn() && part.users == Users::node; })) {
    return refuse(
        "a global exchange passes parts of I/O groups: no part of nodes does operations "
        "in turn beside it");
  }
  if (asked.workload == Workload::library && asked.posix_calls) {
    return refuse("the workload library makes no POSIX calls");
  }
  if (asked.workload == Workload::sink && asked.read) {
    return refuse("the workload sink reads nothing");
  }
  if (Status fit = check("nodes", asked.messages.slow, asked.nodes); !fit) return fit;
  return asked.network ? check(*asked.network, asked) : Status();
}

Status read_copies(const json& given, std::vector<Copies>& copies) {
  if (!given.contains("copies")) return {};
  std::int64_t before = 0;
  for (const json& words : given.at("copies")) {
    const Copies one{words.value("up_to_bytes", std::numeric_limits<std::int64_t>::max()),
                     words.at("bytes_per_second").get<double>(),
                     words.at("one_rank_bytes_per_second").get<double>()};
    for (const double rate : {one.bytes_per_second, one.one_rank_bytes_per_second}) {
      if (!std::isfinite(rate) || rate <= 0) return refuse("the rates of copies must be above 0");
    }
    if (one.up_to_bytes <= before) return refuse("the bytes of rates of copies must grow");
    before = one.up_to_bytes;
    copies.push_back(one);
  }
  if (copies.empty() || before < std::numeric_limits<std::int64_t>::max()) {
    return refuse("the last rate of copies must have no up_to_bytes");
  }
  return {};
}

Status read_network(const json& given, std::optional<NetworkLinks>& network) {
  if (!given.contains("network")) return {};
  const json& words = given.at("network");
  auto shape = topology::Network::parse(words.at("shape").get<std::string>());
  if (!shape) return refuse("the network's shape: " + shape.error().message);
  network = NetworkLinks{
      std::move(shape).value(), words.at("bytes_per_second").get<double>(), std::nullopt, {}};
  if (words.contains("first_end")) network->first_end = words.at("first_end").get<std::int64_t>();
  if (!words.contains("slow")) return {};
  for (const json& one : words.at("slow")) {
    network->slow[one.at("link").get<std::string>()] = one.at("share").get<double>();
  }
  return {};
}

Status read_workload(const json& given, Description& asked) {
  constexpr std::array<std::pair<const char*, Workload>, 3> known = {
      {{"library", Workload::library}, {"array", Workload::array}, {"sink", Workload::sink}}};
  const auto name = given.value("workload", std::string("library"));
  const auto* const found =
      std::ranges::find_if(known, [&](const auto& one) { return name == one.first; });
  if (found == known.end()) {
    return refuse(fmt::format("workload '{}': give library, array or sink", name));
  }
  asked.workload = found->second;
  asked.posix_calls = given.value("posix_calls", false);
  return {};
}

// Reads how the bytes are moved.
Status read_way(const json& given, Description& asked) {
  const auto strategy = given.value("strategy", std::string("automatic"));
  if (strategy != "automatic") {
    const auto named = plan::parse_strategy(strategy);
    if (!named) return named.error();
    asked.strategy = named.value();
  }
  const auto placement = topology::parse_placement_rule(given.value("placement", "spread"));
  if (!placement) return placement.error();
  asked.placement = placement.value();
  return read_workload(given, asked);
}

void read_exchange(const json& given, Exchange& exchange) {
  if (!given.contains("exchange")) return;
  const json& words = given.at("exchange");
  exchange.aggregators_on_first_nodes = words.at("aggregators_on_first_nodes").get<std::int64_t>();
  exchange.seconds = words.at("seconds").get<double>();
}

Result<Description> description_in(const json& given) {
  Description asked;
  asked.nodes = given.at("nodes").get<std::int64_t>();
  asked.ranks_per_node = given.at("ranks_per_node").get<std::int64_t>();
  asked.nodes_per_group = given.value("nodes_per_group", std::int64_t{0});
  for (const json& one : given.at("parts")) {
    auto part = part_in(one);
    if (!part) return part.error();
    asked.parts.push_back(std::move(part).value());
  }
  const json& messages = given.at("messages");
  asked.messages = {messages.at("bytes_per_second").get<double>(),
                    messages.at("seconds_each").get<double>(), slow_units_in(messages)};
  if (Status read = read_copies(given, asked.copies); !read) return read.error();
  if (Status read = read_network(given, asked.network); !read) return read.error();
  read_exchange(given, asked.exchange);
  const json& array = given.at("array");
  asked.array = {array.at("shape").get<std::string>(), array.at("type").get<std::string>(),
                 array.at("distribution").get<std::string>(), array.value("grid", std::string())};
  asked.read = given.value("read", false);
  if (Status read = read_way(given, asked); !read) return read.error();
  asked.aggregators = given.value("aggregators", std::int64_t{0});
  asked.buffer_bytes = given.value("buffer_bytes", std::int64_t{0});
  asked.ahead = given.value("ahead", true);
  asked.meeting = given.value("meeting", false);
  asked.steps = given.value("steps", std::int64_t{1});
  asked.stripe_bytes = given.value("stripe_bytes", std::int64_t{0});
  asked.lock_bytes = given.value("lock_bytes", std::int64_t{0});
  if (Status fit = check(asked); !fit) return fit.error();
  return asked;
}

}  // namespace

double speed_of(const SlowUnits& slow, std::int64_t unit) {
  const auto found = slow.find(unit);
  return found == slow.end() ? 1 : found->second;
}

const Copies& Description::copies_of(std::int64_t bytes) const {
  return *std::ranges::find_if(copies, [&](const Copies& one) { return bytes <= one.up_to_bytes; });
}

std::int64_t Description::ends() const {
  if (network && !network->first_end) return 0;
  for (const Part& part : parts) {
    if (part.users == Users::client || part.users == Users::stripe) return part.units;
  }
  return 0;
}

std::int64_t Description::targets() const {
  std::int64_t most = 0;
  for (const Part& part : parts) {
    if (part.users == Users::stripe) most = std::max(most, part.units);
  }
  return most;
}

Result<Description> parse_description(std::string_view json_text) {
  try {
    return description_in(json::parse(json_text));
  } catch (const json::exception& wrong) {
    return refuse(wrong.what());
  }
}

}  // namespace weir::sim
