// Computes and audits the library's plan for an array on a machine of any size, without the
// machine, MPI or a file.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "array/regular_distribution.hpp"
#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "interfaces/node_settings.hpp"
#include "interfaces/staging.hpp"
#include "measurement/workload_job.hpp"
#include "plan/choice.hpp"
#include "plan/parameters.hpp"
#include "topology/aggregator_placement.hpp"
#include "topology/io_groups.hpp"
#include "topology/network.hpp"
#include "workloads/array/geometry.hpp"
#include "workloads/array/parameters.hpp"
#include "workloads/plan/audit.hpp"

namespace weir::bench {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench plan";
constexpr const char* description =
    "Shows how the library would move an array on a machine of any size, and counts the load on "
    "its\nnodes, network cards and storage targets. Runs alone, without MPI and without files.";

struct Questions {
  std::int64_t nodes = 0;
  std::int64_t ranks_per_node = 0;
  std::string io_groups;
  std::string network;
  std::int64_t link_rate = 0;
  std::optional<std::int64_t> cores;
  std::int64_t targets = 0;
  std::int64_t stripe_bytes = 0;
  std::optional<std::int64_t> lock_bytes;
  std::string shape;
  std::string type;
  std::string distribution;
  std::string grid;
  bool read = false;
  std::optional<plan::Strategy> strategy;  // nothing: as the prices decide
  std::int64_t aggregators = 0;
  std::optional<std::int64_t> group_aggregators;
  topology::PlacementRule placement = topology::PlacementRule::spread;
  std::int64_t buffer_bytes = 0;
  Staging staging = Staging::none;
  std::int64_t stagers = 1;
  bool json = false;
};

std::vector<Word<std::optional<plan::Strategy>>> strategy_words() {
  std::vector<Word<std::optional<plan::Strategy>>> words{{"automatic", std::nullopt}};
  for (const plan::Strategy one : plan::all_strategies) words.push_back({plan::name_of(one), one});
  return words;
}

std::vector<Word<topology::PlacementRule>> placement_words() {
  std::vector<Word<topology::PlacementRule>> words;
  words.reserve(topology::all_placement_rules.size());
  for (const auto rule : topology::all_placement_rules) {
    words.push_back({topology::name_of(rule), rule});
  }
  return words;
}

std::optional<std::string> complaint_about_network(const std::string& text) {
  const auto parsed = topology::Network::parse(text);
  if (parsed) return std::nullopt;
  return "names no network: " + parsed.error().message;
}

FieldSettings<Questions> table() {
  return {
      {&Questions::nodes, "nodes", "", {.default_value = "128", .metavar = "N"}},
      {&Questions::ranks_per_node, "ranks-per-node", "", {.default_value = "128", .metavar = "N"}},
      {&Questions::io_groups, "io-groups", io_groups_help, io_groups_setting()},
      {&Questions::network,
       "network",
       "network between the nodes: a torus such as 8x8x16, mesh:8x8, switches:16 for 16 nodes on "
       "each switch, fat-tree:16x8 or dragonfly:4x8x2x9 [each node one hop from every other]",
       {.metavar = "SHAPE", .complaint = complaint_about_network}},
      {&Questions::link_rate,
       "link-rate",
       "bytes per second of a link between switches, or between neighbours, of --network: prices "
       "then know hops; 0: hops cost nothing",
       {.kind = SettingKind::bytes, .default_value = "0", .metavar = "BYTES"}},
      {&Questions::cores,
       "cores",
       "cores of a node [as many as it has ranks]",
       {.metavar = "N", .range = {1}}},
      {&Questions::targets,
       "targets",
       "number of storage targets that have stripes of the file",
       {.default_value = "64", .metavar = "N", .range = {1}}},
      {&Questions::stripe_bytes,
       "stripe",
       "bytes of the file that lie together on one target; 0: no stripes",
       {.kind = SettingKind::bytes, .default_value = "1m", .metavar = "BYTES"}},
      {&Questions::lock_bytes,
       "lock",
       "part of the file that one node at a time may write; 0: no locks [a stripe]",
       {.kind = SettingKind::bytes, .metavar = "BYTES"}},
      {&Questions::shape,
       "array-shape",
       "extents of the array, slowest dimension first; suffixes k, m, g",
       {.default_value = "8mx16k", .metavar = "NxMx..."}},
      {&Questions::type, "type", "element type", {.default_value = "float64", .metavar = "TYPE"}},
      {&Questions::distribution,
       "distribution",
       "distribution over the ranks: BLOCK, BLOCK(b), CYCLIC, CYCLIC(k) or * per "
       "dimension, or one for all",
       {.default_value = "*,BLOCK", .metavar = "LIST"}},
      {&Questions::grid,
       "grid",
       "processes per dimension; 0: as MPI_Dims_create chooses [as MPI_Dims_create]",
       {.metavar = "NxMx..."}},
      {&Questions::read, "read", "plan a read instead of a write"},
      {&Questions::strategy,
       strategy_words(),
       "strategy",
       "strategy of the library",
       {.default_value = "automatic"}},
      {&Questions::aggregators,
       "aggregators",
       "aggregators per node; 0: as the prices decide",
       {.default_value = "0", .metavar = "N"}},
      {&Questions::group_aggregators,
       "group-aggregators",
       "aggregators of each I/O group, instead of those of each node [as --aggregators says]",
       {.metavar = "N", .range = {1}}},
      {&Questions::placement,
       placement_words(),
       "placement",
       "nodes of a group on which its aggregators are",
       {.default_value = "spread"}},
      {&Questions::buffer_bytes,
       "buffer",
       "size of one piece",
       {.kind = SettingKind::bytes, .default_value = "2m", .metavar = "BYTES"}},
      {&Questions::staging,
       staging_words(),
       "staging",
       "stagers to which a write is handed over: one of each node, or --stagers on nodes of their "
       "own (service); without, it is compared with those of the nodes",
       {.default_value = "none"}},
      {&Questions::stagers,
       "stagers",
       "service: number of stagers",
       {.default_value = "1", .metavar = "N", .range = {1}}},
      {&Questions::json, "json", "print JSON for programs"},
  };
}

struct Machine {
  topology::Topology topology;
  topology::FileTargets targets;
  plan::PlatformRates rates;
};

struct Task {
  Machine machine;
  plan::Request request;
  plan::Overrides overrides;
};

Error refuse(const std::string& rule) { return invalid_argument("plan: " + rule); }

Result<Machine> machine_of(const Questions& asked) {
  const std::int64_t nodes = asked.nodes;
  const std::int64_t each = asked.ranks_per_node;
  if (nodes < 1 || nodes > (1 << 20) || each < 1 || each > (1 << 20) / nodes) {
    return refuse(
        fmt::format("--nodes {} --ranks-per-node {}: give at least 1 of each, and at most "
                    "1048576 ranks in all",
                    nodes, each));
  }
  const auto topology = topology::Topology::filled(nodes * each, each);
  if (!topology) return topology.error();
  const auto groups = topology::IoGroups::parse(asked.io_groups);
  if (!groups) return groups.error();
  auto grouped = groups.value().divide(topology.value());
  if (!grouped) {
    return refuse(fmt::format("--io-groups {}: {}", asked.io_groups, grouped.error().message));
  }
  if (!asked.network.empty()) {
    const auto network = topology::Network::parse(asked.network);
    if (!network) return network.error();
    grouped = grouped.value().with_network(network.value());
    if (!grouped) return refuse("--network: " + grouped.error().message);
  }
  Machine machine{std::move(grouped).value(), {}, {}};
  machine.targets.count = asked.targets;
  machine.targets.stripe_bytes = asked.stripe_bytes;
  machine.targets.lock_bytes = asked.lock_bytes.value_or(asked.stripe_bytes);
  machine.rates.cores_per_node = asked.cores.value_or(each);
  machine.rates.hop_bytes_per_second = static_cast<double>(asked.link_rate);
  return machine;
}

Result<plan::Request> request_of(const Questions& asked, std::int64_t ranks) {
  const auto extents = array_io::parse_extents("array-shape", asked.shape);
  if (!extents) return extents.error();
  const auto shape = array::Shape::create(extents.value());
  if (!shape) {
    return refuse(fmt::format("--array-shape {}: {}", asked.shape, shape.error().message));
  }
  const auto type = array::ElementType::parse(asked.type);
  if (!type) return refuse(fmt::format("--type {}: {}", asked.type, type.error().message));
  const auto held = array_io::distribution_of(
      {"distribution", asked.distribution, "grid", asked.grid}, shape.value(), ranks);
  if (!held) return held.error();
  const auto image =
      plan::FileImage::create(shape.value(), type.value(), array::Order::row_major, 0);
  if (!image) return refuse(fmt::format("--array-shape: {}", image.error().message));
  return plan::Request{
      asked.read ? Direction::read : Direction::write,
      {{image.value(), {held.value()}, array::Section::of(shape.value().box()), 0}}};
}

Result<Task> task_of(const Questions& asked) {
  auto machine = machine_of(asked);
  if (!machine) return machine.error();
  auto request = request_of(asked, machine.value().topology.ranks());
  if (!request) return request.error();
  Task task{std::move(machine).value(), std::move(request).value(), {}};
  task.overrides.strategy = asked.strategy;
  if (asked.aggregators > 0) task.overrides.aggregators_per_node = asked.aggregators;
  task.overrides.aggregators_per_group = asked.group_aggregators;
  task.overrides.placement = asked.placement;
  if (asked.buffer_bytes > 0) task.overrides.buffer_bytes = asked.buffer_bytes;
  const bool by_service = asked.staging == Staging::service;
  if (!by_service && asked.stagers != 1) {
    return refuse("--stagers is for --staging service: with node each node has one stager");
  }
  task.overrides.stagers = plan::Stagers{.count = by_service ? asked.stagers : asked.nodes,
                                         .on_other_nodes = by_service,
                                         .exist = asked.staging != Staging::none};
  return task;
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

std::string number_text(double number) { return fmt::format("{:.4g}", number); }

void print_line(const char* what, const plan_audit::Spread& spread, std::string (*text)(double)) {
  fmt::print("{:<34}{:>12}{:>12}{:>12}\n", what, text(spread.least), text(spread.mean),
             text(spread.most));
}

// Follows only the routes of messages; I/O groups are those of the machine, however it is planned.
Result<plan_audit::PlanAudit> audit_of_routes(const Task& task, const topology::Topology& planned,
                                              const plan::Parameters& parameters) {
  const plan_audit::AuditLimits limits{.pieces = 2, .steps = 1, .messages = 1};
  return plan_audit::audit(task.request, planned, task.machine.targets, parameters, limits,
                           &task.machine.topology);
}

// The bytes of one strategy that messages take from one I/O group to another.
struct Crossing {
  plan::Strategy strategy = plan::Strategy::direct;
  double planned = 0;       // with the groups
  double in_one_group = 0;  // planned as if all nodes were one group
};

Result<double> bytes_across_groups(const Task& task, const topology::Topology& planned,
                                   const plan::Parameters& parameters) {
  const auto found = audit_of_routes(task, planned, parameters);
  if (!found) return found.error();
  return found.value().bytes_across_groups;
}

// Returns the crossings of every strategy that has a price; none if all nodes are one group.
Result<std::vector<Crossing>> crossings_of(const Task& task, const plan::Choice& choice) {
  std::vector<Crossing> crossings;
  const Machine& machine = task.machine;
  if (machine.topology.io_groups() == 1) return crossings;
  const auto one_group = machine.topology.with_io_groups(machine.topology.nodes());
  if (!one_group) return one_group.error();
  const auto in_one_group =
      plan::choose(task.request, one_group.value(), machine.targets, machine.rates, task.overrides);
  if (!in_one_group) return in_one_group.error();
  for (const plan::Price& price : choice.prices) {
    const auto planned = bytes_across_groups(task, machine.topology, price.parameters);
    if (!planned) return planned.error();
    Crossing crossing{price.parameters.strategy, planned.value()};
    for (const plan::Price& other : in_one_group.value().prices) {
      if (other.parameters.strategy != crossing.strategy) continue;
      const auto across = bytes_across_groups(task, one_group.value(), other.parameters);
      if (!across) return across.error();
      crossing.in_one_group = across.value();
    }
    crossings.push_back(crossing);
  }
  return crossings;
}

void print_crossings(const std::vector<Crossing>& crossings) {
  if (crossings.empty()) return;
  fmt::print("\n{:<34}{:>12}{:>16}\n", "bytes that cross I/O groups", "as planned",
             "with one group");
  for (const Crossing& one : crossings) {
    fmt::print("{:<34}{:>12}{:>16}\n", plan::name_of(one.strategy), bytes_text(one.planned),
               bytes_text(one.in_one_group));
  }
}

// Says what one placement of the aggregators does to the network.
struct PlacementFigures {
  std::string name;
  plan_audit::PlanAudit found;
  double seconds = 0;  // the price
};

// Returns the parameters of the chosen strategy, or of the cheapest one that sends messages; null
// if no strategy that sends messages has a price.
const plan::Parameters* sending(const plan::Choice& choice) {
  const auto sends = [](const plan::Parameters& parameters) {
    return parameters.strategy != plan::Strategy::direct &&
           parameters.strategy != plan::Strategy::node_aggregation;
  };
  if (sends(choice.parameters())) return &choice.parameters();
  for (const plan::Price& price : choice.prices) {
    if (sends(price.parameters)) return &price.parameters;
  }
  return nullptr;
}

// Compares the placements, all else being equal; nothing if the network is not known. The last one
// is that of MPI-IO, which has no groups: the first nodes of each group aggregate for all nodes.
Result<std::vector<PlacementFigures>> compare_placements(const Task& task,
                                                         const plan::Choice& choice) {
  std::vector<PlacementFigures> compared;
  const topology::Topology& topology = task.machine.topology;
  const plan::Parameters* const chosen = sending(choice);
  if (topology.network() == nullptr || chosen == nullptr) return compared;
  plan::Parameters parameters = *chosen;
  const auto pricing =
      plan::Pricing::create(task.request, topology, task.machine.targets, task.machine.rates);
  if (!pricing) return pricing.error();
  for (const auto rule : topology::all_placement_rules) {
    parameters.placement = rule;
    const auto found = audit_of_routes(task, topology, parameters);
    if (!found) return found.error();
    const auto price = pricing.value().price(parameters);
    if (!price) return price.error();
    compared.push_back(
        {std::string(topology::name_of(rule)), found.value(), price.value().seconds});
  }
  if (topology.io_groups() == 1) return compared;
  const auto one_group = topology.with_io_groups(topology.nodes());
  if (!one_group) return one_group.error();
  parameters.placement = topology::PlacementRule::first;
  parameters.nodes_per_way_out = topology.nodes_in_group(0);
  parameters.aggregators *= topology.io_groups();
  const auto found = audit_of_routes(task, one_group.value(), parameters);
  if (!found) return found.error();
  const auto ungrouped = plan::Pricing::create(task.request, one_group.value(),
                                               task.machine.targets, task.machine.rates);
  if (!ungrouped) return ungrouped.error();
  const auto price = ungrouped.value().price(parameters);
  if (!price) return price.error();
  compared.push_back({"first, for all groups", found.value(), price.value().seconds});
  return compared;
}

void print_placements(const std::vector<PlacementFigures>& compared) {
  if (compared.empty()) return;
  fmt::print(
      "\n{:<34}{:>12}{:>12}{:>12}{:>12}{:>12}\n",
      fmt::format("placement, with {}", plan::name_of(compared.front().found.parameters.strategy)),
      "aggregators", "hops", "across", "most a link", "price");
  for (const PlacementFigures& one : compared) {
    fmt::print("{:<34}{:>12}{:>12}{:>12}{:>12}{:>12}\n", one.name, one.found.aggregators,
               number_text(one.found.mean_hops), bytes_text(one.found.bytes_across_groups),
               bytes_text(one.found.bytes_per_link.most), fmt::format("{:.3g} s", one.seconds));
  }
}

void print_table(const Task& task, const plan::Choice& choice, const plan_audit::PlanAudit& found) {
  fmt::print("{} nodes of {} ranks, {} targets, stripes of {}; {} of {}\n\n",
             task.machine.topology.nodes(), task.machine.topology.fewest_ranks_on_a_node(),
             task.machine.targets.count,
             bytes_text(static_cast<double>(task.machine.targets.stripe_bytes)),
             task.request.direction == Direction::write ? "a write" : "a read",
             bytes_text(static_cast<double>(task.request.bytes())));
  fmt::print("{}\n\n", choice.explain());
  fmt::print("{:<34}{:>12}{:>12}{:>12}\n", "", "least", "mean", "most");
  print_line("bytes of a node", found.bytes_per_node, bytes_text);
  print_line("bytes of a target", found.bytes_per_target, bytes_text);
  print_line("client nodes of a target", found.client_nodes_per_target, number_text);
  if (found.parameters.strategy == plan::Strategy::direct) return;
  print_line("bytes of an aggregator", found.bytes_per_aggregator, bytes_text);
  print_line("pieces of an aggregator", found.pieces_per_aggregator, number_text);
  if (found.parameters.strategy == plan::Strategy::node_aggregation) return;
  print_line("messages of a piece", found.messages_per_piece, number_text);
  print_line("other nodes with a share of it", found.nodes_per_piece, number_text);
  print_line("bytes of a message", found.bytes_per_message, bytes_text);
  print_line("bytes of a link", found.bytes_per_link, bytes_text);
  print_line("network cards that receive at once", found.cards_at_once, number_text);
  fmt::print("\n{} aggregators on {} of {} nodes, {} of which receive; {} pieces, {} messages\n",
             found.aggregators, found.aggregating_nodes, found.nodes, found.receiving_nodes,
             found.pieces, number_text(found.messages));
  fmt::print("hops of a byte: {}\n", number_text(found.mean_hops));
  fmt::print("sent to an aggregator before its storage makes progress: {}\n",
             bytes_text(found.most_bytes_ahead));
}

ordered_json json_of(const plan_audit::Spread& spread) {
  return {{"least", spread.least}, {"mean", spread.mean}, {"most", spread.most}};
}

void print_json(const plan::Choice& choice, const plan_audit::PlanAudit& found,
                const std::vector<Crossing>& crossings,
                const std::vector<PlacementFigures>& compared) {
  ordered_json json;
  json["strategy"] = plan::name_of(found.parameters.strategy);
  json["placement"] = topology::name_of(found.parameters.placement);
  json["expected_seconds"] = choice.chosen.seconds;
  if (const auto& staged = choice.staged) {
    json["staging"] = {{"stagers", staged->stagers.count},
                       {"copy_seconds", staged->copy_seconds},
                       {"link_seconds", staged->link_seconds},
                       {"store_seconds", staged->store_seconds},
                       {"blocked_seconds", staged->blocked_seconds()},
                       {"until_stored_seconds", staged->until_stored_seconds()},
                       {"unstaged_seconds", staged->unstaged_seconds},
                       {"may_be_worth_it", staged->may_be_worth_it()},
                       {"least_computing_seconds", staged->least_computing_seconds()}};
  }
  json["aggregators"] = found.aggregators;
  json["aggregating_nodes"] = found.aggregating_nodes;
  json["receiving_nodes"] = found.receiving_nodes;
  json["pieces"] = found.pieces;
  json["messages"] = found.messages;
  json["bytes_per_aggregator"] = json_of(found.bytes_per_aggregator);
  json["bytes_per_node"] = json_of(found.bytes_per_node);
  json["bytes_per_target"] = json_of(found.bytes_per_target);
  json["client_nodes_per_target"] = json_of(found.client_nodes_per_target);
  json["messages_per_piece"] = json_of(found.messages_per_piece);
  json["nodes_per_piece"] = json_of(found.nodes_per_piece);
  json["bytes_per_message"] = json_of(found.bytes_per_message);
  json["cards_at_once"] = json_of(found.cards_at_once);
  json["most_bytes_ahead"] = found.most_bytes_ahead;
  json["hop_bytes"] = found.hop_bytes;
  json["mean_hops"] = found.mean_hops;
  json["bytes_per_link"] = json_of(found.bytes_per_link);
  for (const PlacementFigures& one : compared) {
    json["placements"][one.name] = {{"aggregators", one.found.aggregators},
                                    {"bytes_across_groups", one.found.bytes_across_groups},
                                    {"hop_bytes", one.found.hop_bytes},
                                    {"mean_hops", one.found.mean_hops},
                                    {"bytes_per_link", json_of(one.found.bytes_per_link)},
                                    {"price_seconds", one.seconds}};
  }
  for (const Crossing& one : crossings) {
    json["bytes_across_groups"][std::string(plan::name_of(one.strategy))] = {
        {"planned", one.planned}, {"with_one_group", one.in_one_group}};
  }
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

int run_plan(const std::vector<std::string>& arguments) {
  const auto resolved = resolve_settings(program, description, declarations_of(table()), arguments,
                                         process_environment);
  if (!resolved) return complain(resolved.error());
  if (resolved.value().help) {
    fmt::print("{}", *resolved.value().help);
    return 0;
  }
  Questions asked;
  fill(resolved.value().settings, table(), &asked);
  const auto task = task_of(asked);
  if (!task) return complain(task.error());
  const Machine& machine = task.value().machine;
  const auto choice = plan::choose(task.value().request, machine.topology, machine.targets,
                                   machine.rates, task.value().overrides);
  if (!choice) return complain(choice.error());
  const auto found = plan_audit::audit(task.value().request, machine.topology, machine.targets,
                                       choice.value().parameters());
  if (!found) return complain(found.error());
  const auto crossings = crossings_of(task.value(), choice.value());
  if (!crossings) return complain(crossings.error());
  const auto compared = compare_placements(task.value(), choice.value());
  if (!compared) return complain(compared.error());
  if (asked.json) {
    print_json(choice.value(), found.value(), crossings.value(), compared.value());
  } else {
    print_table(task.value(), choice.value(), found.value());
    print_crossings(crossings.value());
    print_placements(compared.value());
  }
  return 0;
}

}  // namespace weir::bench
