// Operations on the parts of a machine's way, in SimGrid: turns first come, first served, the bytes
// of an operation on all parts behind it at the same time, and the load of every unit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "amounts.hpp"
#include "description.hpp"
#include "flows.hpp"
#include "machine.hpp"

namespace weir::sim {

using Activities = std::vector<simgrid::s4u::ActivityPtr>;

[[nodiscard]] simgrid::s4u::ActivityPtr start(const Way& way, double bytes);
void wait_all(Activities& activities);

// Loads of the units of one part.
class UnitLoads {
 public:
  void add(std::int64_t unit, double bytes, double busy_seconds) {
    loads_[unit].bytes += bytes;
    loads_[unit].busy_seconds += busy_seconds;
  }
  [[nodiscard]] bool empty() const { return loads_.empty(); }
  // Returns the loads of a part with this name, whose units have the names and speeds that the
  // functions return.
  [[nodiscard]] PartLoad summary(const std::string& name,
                                 const std::function<std::string(std::int64_t)>& name_of,
                                 const std::function<double(std::int64_t)>& speed) const;
  // Returns the loads of a part whose units have numbers; the others are as fast as described.
  [[nodiscard]] PartLoad summary(const std::string& name, const SlowUnits& slow) const;

 private:
  struct Load {
    double bytes = 0;
    double busy_seconds = 0;
  };

  std::map<std::int64_t, Load> loads_;
};

class Operations {
 public:
  // Makes what the flows need of the description's machine, in SimGrid's only engine.
  Operations(const Description& asked, const Flows& flows, Machine::Nodes nodes);

  [[nodiscard]] const Machine& machine() const { return machine_; }
  // Called by an actor: does one operation of the client, whose messages have come.
  void transfer(const Client& client, const Operation& operation);
  // Adds what a flow carries through a unit of the part in turn beside its operations.
  void add_beside_turns(std::int64_t unit, const simgrid::s4u::ActivityPtr& flow, double bytes);
  // Adds bytes to the loads of the links between switches.
  void add_to_network_links(const Way& way, double bytes);
  // Add to the loads of a node's own link for messages.
  void add_to_link_into(std::int64_t node, double bytes, double seconds) {
    received_.add(node, bytes, seconds);
  }
  void add_to_link_out_of(std::int64_t node, double bytes, double seconds) {
    sent_.add(node, bytes, seconds);
  }

  // Adds to the loads of the memory of a node.
  void add_to_copies(std::int64_t node, double bytes, double seconds) {
    copied_.add(node, bytes, seconds);
  }

  // Returns the loads of the parts in the order of the description, then those of the nodes' links
  // for messages, and of their memory if anything is copied.
  [[nodiscard]] std::vector<PartLoad> part_loads() const;
  [[nodiscard]] PartLoad network_load() const;
  // Return the sums of the clients' times.
  [[nodiscard]] double turn_seconds() const { return turn_seconds_; }
  [[nodiscard]] double operation_seconds() const { return operation_seconds_; }
  // Returns what operations have moved so far, without messages and the bytes of the request.
  [[nodiscard]] Moved moved() const;

 private:
  struct Turns {
    simgrid::s4u::SemaphorePtr turn;
    simgrid::s4u::SemaphorePtr places;  // of operations under way on the rest of the way, or null
    // Flows beside operations that may be under way, and the bytes of all that have begun.
    Activities beside;
    double begun_beside = 0;
  };

  [[nodiscard]] Activities start_rest(const Client& client, const Operation& operation);
  void take_turn(const Part& part, const Client& client, const Operation& operation);
  // Returns the bytes that flows beside operations have carried so far.
  [[nodiscard]] static double carried_beside(Turns& turns);

  const Description& asked_;
  Machine machine_;
  std::vector<UnitLoads> loads_;         // of the description's parts
  UnitLoads network_loads_;              // by links between switches
  UnitLoads received_;                   // messages, by the nodes that receive them
  UnitLoads sent_;                       // by the nodes that send them
  UnitLoads copied_;                     // by the nodes in whose memory it is
  std::map<std::int64_t, Turns> turns_;  // by units of the part in turn
  double turn_seconds_ = 0;
  double operation_seconds_ = 0;
  Moved moved_;
  std::set<std::int64_t> clients_;  // by ranks
};

}  // namespace weir::sim
