#include "operations.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace weir::sim {

namespace sg4 = simgrid::s4u;

PartLoad UnitLoads::summary(const std::string& name,
                            const std::function<std::string(std::int64_t)>& name_of,
                            const std::function<double(std::int64_t)>& speed) const {
  PartLoad load;
  load.name = name;
  load.units_used = std::ssize(loads_);
  std::vector<std::int64_t> told;
  for (const auto& [unit, one] : loads_) {
    load.bytes += one.bytes;
    load.most_bytes = std::max(load.most_bytes, one.bytes);
    told.push_back(unit);
  }
  if (told.empty()) return load;
  std::stable_sort(told.begin(), told.end(), [&](std::int64_t a, std::int64_t b) {
    return loads_.at(a).busy_seconds > loads_.at(b).busy_seconds;
  });
  load.busy_seconds = loads_.at(told.front()).busy_seconds;
  load.busiest = name_of(told.front());
  const auto left_out =
      told.begin() + static_cast<std::ptrdiff_t>(std::min(most_units_told, told.size()));
  told.erase(
      std::remove_if(left_out, told.end(), [&](std::int64_t unit) { return speed(unit) == 1; }),
      told.end());
  std::sort(told.begin(), told.end());
  for (const std::int64_t unit : told) {
    const Load& one = loads_.at(unit);
    load.units.push_back({name_of(unit), one.bytes, one.busy_seconds, speed(unit)});
  }
  return load;
}

PartLoad UnitLoads::summary(const std::string& name, const SlowUnits& slow) const {
  return summary(
      name, [](std::int64_t unit) { return std::to_string(unit); },
      [&](std::int64_t unit) { return speed_of(slow, unit); });
}

sg4::ActivityPtr start(const Way& way, double bytes) {
  if (way.to == nullptr) {
    sg4::ExecPtr work = sg4::Exec::init()->set_host(way.from)->set_flops_amount(bytes);
    work->start();
    return work;
  }
  return sg4::Comm::sendto_async(way.from, way.to, static_cast<std::uint64_t>(bytes));
}

void wait_all(Activities& activities) {
  for (sg4::ActivityPtr& one : activities) one->wait();
  activities.clear();
}

Operations::Operations(const Description& asked, const Flows& flows, Machine::Nodes nodes)
    : asked_(asked), machine_(asked, flows, nodes), loads_(asked.parts.size()) {
  const Part* part = machine_.part_in_turn();
  for (const Client& client : flows.clients) {
    if (part == nullptr) break;
    Turns& turns = turns_[machine_.turn_of(client) % part->units];
    if (turns.turn) continue;
    turns.turn = sg4::Semaphore::create(1);
    const auto at_once = static_cast<unsigned int>(part->operations_at_once);
    if (at_once > 0) turns.places = sg4::Semaphore::create(at_once);
  }
}

void Operations::add_beside_turns(std::int64_t unit, const sg4::ActivityPtr& flow, double bytes) {
  const Part& part = *machine_.part_in_turn();
  // Units at which nobody takes a turn are not in the map.
  if (const auto found = turns_.find(unit); found != turns_.end()) {
    found->second.beside.push_back(flow);
    found->second.begun_beside += bytes;
  }
  loads_[static_cast<std::size_t>(machine_.number_in_turn())].add(
      unit, bytes, bytes / (part.bytes_per_second * speed_of(part.slow, unit)));
}

void Operations::add_to_network_links(const Way& way, double bytes) {
  for (const std::int64_t link : way.network_links) {
    network_loads_.add(link, bytes, bytes / machine_.rate_between_switches(link));
  }
}

double Operations::carried_beside(Turns& turns) {
  double left = 0;
  std::erase_if(turns.beside, [&](const sg4::ActivityPtr& flow) {
    const double remaining = flow->get_remaining();
    left += remaining;
    return remaining <= 0;
  });
  return turns.begun_beside - left;
}

PartLoad Operations::network_load() const {
  return network_loads_.summary(
      "links between switches",
      [&](std::int64_t link) { return asked_.network->shape.name_of(link); },
      [&](std::int64_t link) {
        return machine_.rate_between_switches(link) / asked_.network->bytes_per_second;
      });
}

Activities Operations::start_rest(const Client& client, const Operation& operation) {
  Activities activities;
  if (!machine_.has_rest()) return activities;
  const Share whole{0, operation.bytes};
  const std::span<const Share> shares =
      operation.targets > 0 ? client.targets(operation) : std::span<const Share>(&whole, 1);
  for (const Share& share : shares) {
    const auto bytes = static_cast<double>(share.bytes);
    const Way way = machine_.way_of_rest(client, share.place);
    activities.push_back(start(way, bytes));
    add_to_network_links(way, bytes);
    for (std::size_t i = 0; i < asked_.parts.size(); ++i) {
      const Part& part = asked_.parts[i];
      if (part.in_turn()) continue;
      const std::int64_t unit = Machine::unit_of(part, client, share.place);
      loads_[i].add(unit, bytes, bytes / (part.bytes_per_second * speed_of(part.slow, unit)));
    }
  }
  return activities;
}

void Operations::take_turn(const Part& part, const Client& client, const Operation& operation) {
  const auto bytes = static_cast<double>(operation.bytes);
  const std::int64_t unit = machine_.turn_of(client) % part.units;
  Turns& turns = turns_.at(unit);
  const double began = sg4::Engine::get_clock();
  const double speed = speed_of(part.slow, unit);
  const double rate = part.bytes_per_second * speed;
  double seconds = static_cast<double>(operation.calls) * part.operation_seconds;
  if (part.copy_bytes_per_second > 0) seconds += bytes / part.copy_bytes_per_second;
  seconds /= speed;
  double seconds_beside = 0;
  if (asked_.exchange.aggregators_on_first_nodes > 0) {
    const double carried_before = carried_beside(turns);
    const sg4::ActivityPtr flow = start(machine_.way_in_turn(machine_.turn_of(client)), bytes);
    sg4::this_actor::sleep_for(seconds);
    flow->wait();
    // The unit is busy for the whole turn. What passed beside the operation has its own share of
    // the time already.
    seconds_beside = (carried_beside(turns) - carried_before) / rate;
  } else {
    // No other flow passes the unit during the turn.
    sg4::this_actor::sleep_for(std::max(seconds, bytes / rate));
  }
  loads_[static_cast<std::size_t>(machine_.number_in_turn())].add(
      unit, bytes, sg4::Engine::get_clock() - began - seconds_beside);
}

void Operations::transfer(const Client& client, const Operation& operation) {
  const double asked_at = sg4::Engine::get_clock();
  const Part* part = machine_.part_in_turn();
  const Turns* turns =
      part == nullptr ? nullptr : &turns_.at(machine_.turn_of(client) % part->units);
  if (turns != nullptr) {
    if (turns->places) turns->places->acquire();
    turns->turn->acquire();
  }
  const double began = sg4::Engine::get_clock();
  Activities rest = start_rest(client, operation);
  if (turns != nullptr) {
    take_turn(*part, client, operation);
    turns->turn->release();
  }
  wait_all(rest);
  if (turns != nullptr && turns->places) turns->places->release();
  ++moved_.operations;
  moved_.calls += operation.calls;
  moved_.bytes_moved += operation.bytes;
  clients_.insert(client.rank);
  turn_seconds_ += began - asked_at;
  operation_seconds_ += sg4::Engine::get_clock() - began;
}

Moved Operations::moved() const {
  Moved moved = moved_;
  moved.clients = std::ssize(clients_);
  return moved;
}

std::vector<PartLoad> Operations::part_loads() const {
  std::vector<PartLoad> loads;
  loads.reserve(asked_.parts.size() + 3);
  for (std::size_t i = 0; i < asked_.parts.size(); ++i) {
    loads.push_back(loads_[i].summary(asked_.parts[i].name, asked_.parts[i].slow));
  }
  loads.push_back(received_.summary("messages received", asked_.messages.slow));
  loads.push_back(sent_.summary("messages sent", asked_.messages.slow));
  if (!copied_.empty()) loads.push_back(copied_.summary("copies in memory", {}));
  return loads;
}

}  // namespace weir::sim
