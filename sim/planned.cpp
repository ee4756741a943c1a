#include "planned.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "plan/choice.hpp"
#include "rates.hpp"
#include "topology/io_groups.hpp"
#include "topology/network.hpp"
#include "workloads/array/geometry.hpp"

namespace weir::sim {

using nlohmann::ordered_json;

Result<topology::Topology> topology_of(const Description& asked) {
  const auto filled = topology::Topology::filled(asked.ranks(), asked.ranks_per_node);
  if (!filled) return filled.error();
  auto divided = topology::IoGroups(asked.nodes_per_group).divide(filled.value());
  if (!divided || !asked.network) return divided;
  return divided.value().with_network(asked.network->shape);
}

Result<HeldArray> array_of(const Description& asked) {
  const auto extents = bench::array_io::parse_extents("array-shape", asked.array.shape);
  if (!extents) return extents.error();
  const auto shape = array::Shape::create(extents.value());
  if (!shape) return shape.error();
  const auto type = array::ElementType::parse(asked.array.type);
  if (!type) return type.error();
  auto held = bench::array_io::distribution_of(
      {"distribution", asked.array.distribution, "grid", asked.array.grid}, shape.value(),
      asked.ranks());
  if (!held) return held.error();
  return HeldArray{type.value(), std::move(held).value()};
}

Result<plan::Request> request_of(const Description& asked) {
  const auto array = array_of(asked);
  if (!array) return array.error();
  const auto& [type, held] = array.value();
  const auto image = plan::FileImage::create(held.shape(), type, array::Order::row_major, 0);
  if (!image) return image.error();
  return plan::Request{asked.read ? Direction::read : Direction::write,
                       {{image.value(), {held}, array::Section::of(held.shape().box()), 0}}};
}

topology::FileTargets targets_of(const Description& asked) {
  topology::FileTargets targets;
  targets.count = std::max<std::int64_t>(1, asked.targets());
  targets.stripe_bytes = asked.stripe_bytes;
  targets.lock_bytes = asked.lock_bytes;
  return targets;
}

std::int64_t nodes_of_aggregators(const Description& asked, const topology::Topology& topology) {
  const bool of_a_node = asked.strategy == plan::Strategy::direct ||
                         asked.strategy == plan::Strategy::node_aggregation;
  return of_a_node ? 1 : topology.nodes_in_group(0);
}

namespace {

// Returns the strategy and its parameters: as the description has them, and the rest by price. File
// domains depend on the number of aggregators, so that the choice has to know a number that is
// asked for.
Result<plan::Choice> choice_of(const Description& asked, const plan::Request& request,
                               const topology::Topology& topology, plan::Overrides overrides) {
  overrides.strategy = asked.strategy;
  overrides.placement = asked.placement;
  if (asked.aggregators > 0) {
    overrides.aggregators_per_group = asked.aggregators;
    const std::int64_t nodes = nodes_of_aggregators(asked, topology);
    overrides.aggregators_per_node = (asked.aggregators - 1) / nodes + 1;
  }
  if (asked.buffer_bytes > 0) {
    overrides.buffer_bytes = asked.buffer_bytes;
  } else {
    overrides.buffer_bytes = request.bytes();
  }
  return plan::choose(request, topology, targets_of(asked), rates_of(asked, request.bytes()),
                      overrides);
}

}  // namespace

Result<Planned> plan_of(const Description& asked) {
  const auto request = request_of(asked);
  if (!request) return request.error();
  return plan_of(asked, request.value(), {});
}

Result<Planned> plan_of(const Description& asked, const plan::Request& request,
                        const plan::Overrides& overrides) {
  const auto topology = topology_of(asked);
  if (!topology) return topology.error();
  Planned planned;
  const auto choice = choice_of(asked, request, topology.value(), overrides);
  if (!choice) return choice.error();
  planned.parameters = choice.value().parameters();
  planned.explanation = choice.value().explain();
  planned.forced = choice.value().forced;
  FlowRules rules;
  rules.targets = asked.targets();
  rules.stripe_bytes = asked.stripe_bytes;
  rules.with_copies = !asked.copies.empty();
  rules.rates = rates_of(asked, request.bytes());
  rules.aggregators_on_first_nodes = asked.exchange.aggregators_on_first_nodes;
  auto flows = flows_of_plan(request, topology.value(), planned.parameters, rules);
  if (!flows) return flows.error();
  if (flows.value().clients.empty()) return invalid_argument("the request moves no bytes");
  planned.flows = std::move(flows).value();
  return planned;
}

namespace {

double share_of(const PartLoad& load, double seconds) {
  return seconds > 0 ? load.busy_seconds / seconds : 0;
}

ordered_json json_of(const PartLoad& load, double seconds) {
  ordered_json units = ordered_json::array();
  for (const UnitLoad& unit : load.units) {
    units.push_back({{"name", unit.name},
                     {"bytes", unit.bytes},
                     {"busy_seconds", unit.busy_seconds},
                     {"speed", unit.speed}});
  }
  return {{"name", load.name},
          {"units_used", load.units_used},
          {"bytes", load.bytes},
          {"most_bytes_of_a_unit", load.most_bytes},
          {"busy_share", share_of(load, seconds)},
          {"busiest", load.busiest},
          {"units", units}};
}

// Returns the most memory that this process has had. What getrusage() tells may be that of the
// process from which this one was forked, before it was this program.
double peak_memory_bytes(const rusage& usage) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    double kibibytes = 0;
    if (words >> name && name == "VmHWM:" && words >> kibibytes) return kibibytes * 1024;
  }
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace

ordered_json json_of(const Planned& planned, const Outcome& outcome) {
  const Moved& moved = outcome.moved;
  const auto bytes = static_cast<double>(moved.bytes);
  ordered_json json;
  json["seconds"] = outcome.seconds;
  json["bytes"] = bytes;
  json["bytes_moved"] = static_cast<double>(moved.bytes_moved);
  json["bytes_per_second"] = outcome.seconds > 0 ? bytes / outcome.seconds : 0;
  json["strategy"] = plan::name_of(planned.parameters.strategy);
  json["why"] = planned.forced ? "" : planned.explanation;
  json["aggregators_of_a_group"] = planned.parameters.aggregators;
  json["buffer_bytes"] = planned.parameters.buffer_bytes;
  json["clients"] = moved.clients;
  json["operations"] = static_cast<double>(moved.operations);
  json["calls"] = static_cast<double>(moved.calls);
  json["messages"] = static_cast<double>(moved.messages);
  json["message_bytes"] = static_cast<double>(moved.message_bytes);
  json["links_of_senders"] = outcome.links_of_senders;
  json["client_seconds"] = {{"messages", outcome.message_seconds},
                            {"turn", outcome.turn_seconds},
                            {"operations", outcome.operation_seconds}};
  const PartLoad* busiest = nullptr;
  for (const PartLoad& load : outcome.parts) {
    json["parts"].push_back(json_of(load, outcome.seconds));
    if (busiest == nullptr || load.busy_seconds > busiest->busy_seconds) busiest = &load;
  }
  json["limit"] = {{"name", busiest->name},
                   {"busy_share", share_of(*busiest, outcome.seconds)},
                   {"busiest", busiest->busiest}};
  if (outcome.accounted) json["accounted"] = *outcome.accounted;
  if (outcome.bytes_compared) {
    json["bytes_compared"] = static_cast<double>(*outcome.bytes_compared);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  json["cost"] = {{"peak_memory_bytes", peak_memory_bytes(usage)},
                  {"processor_seconds", static_cast<double>(usage.ru_utime.tv_sec) +
                                            static_cast<double>(usage.ru_utime.tv_usec) * 1e-6}};
  return json;
}

}  // namespace weir::sim
