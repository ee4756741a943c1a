// What weir-sim is asked: a machine as parts with parallel units, and what is moved on it.
// docs/simulation.md describes the JSON document.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "plan/parameters.hpp"
#include "topology/network.hpp"

namespace weir::sim {

// The clients that share one unit of a part.
enum class Users {
  node,    // those on one node
  group,   // those of one I/O group
  client,  // clients in turn: client c uses unit c mod units
  stripe,  // whoever moves bytes of a stripe that is on the unit
};

// Units that are slower than the others, each with its share of their speed.
using SlowUnits = std::map<std::int64_t, double>;

// Returns the share of the usual speed that a unit has.
[[nodiscard]] double speed_of(const SlowUnits& slow, std::int64_t unit);

// A part of the way of an operation. Units carry bytes at a rate that its users share equally.
struct Part {
  std::string name;
  Users users = Users::group;
  std::int64_t units = 1;
  double bytes_per_second = 0;
  // Above 0: a unit of a node or an I/O group does one operation at a time, which takes at least
  // this time for each call and that of its bytes at `copy_bytes_per_second` (0: none).
  double operation_seconds = 0;
  double copy_bytes_per_second = 0;
  std::int64_t operations_at_once = 0;  // of a unit's users on the rest of the way; 0: any
  SlowUnits slow;

  [[nodiscard]] bool in_turn() const { return operation_seconds > 0; }
};

// The messages between nodes, which enter a node by its own link.
struct Messages {
  double bytes_per_second = 0;  // 0: they take no time
  double seconds_each = 0;
  SlowUnits slow;  // by nodes
};

// The rate of copies of ranks into the memory that those of a node share, and out of it.
struct Copies {
  // Most bytes of a rank in a request for which this rate holds. Caches hold less of more bytes, so
  // that the next rate holds for them.
  std::int64_t up_to_bytes = std::numeric_limits<std::int64_t>::max();
  double bytes_per_second = 0;           // of all ranks of a node together
  double one_rank_bytes_per_second = 0;  // of a rank, at most
};

// The links between the switches of the nodes, which messages and the operations' bytes pass.
struct NetworkLinks {
  topology::Network shape;
  double bytes_per_second = 0;
  // The network's node at which the first server or stager is; the others follow. Nothing: the way
  // to them does not pass this network.
  std::optional<std::int64_t> first_end;
  std::map<std::string, double> slow;  // by names of links
};

// What the ranks do before bytes move: an exchange between all I/O groups, as in MPI-IO on Blue
// Gene/P, or the calls of a request.
struct Exchange {
  std::int64_t aggregators_on_first_nodes = 0;  // of each I/O group; 0: no bytes are exchanged
  double seconds = 0;                           // at the start of each step
};

struct ArrayWords {
  std::string shape;
  std::string type;
  std::string distribution;
  std::string grid;
};

// What moves the bytes on simulated ranks.
enum class Workload {
  library,  // the calls of the library alone
  array,    // `weir-bench array`
  sink,     // `weir-bench sink`
};

struct Description {
  std::int64_t nodes = 0;
  std::int64_t ranks_per_node = 0;
  std::int64_t nodes_per_group = 0;  // 0: one group
  std::vector<Part> parts;           // in the order of a write
  Messages messages;
  std::vector<Copies> copies;           // nothing: they take no time
  std::optional<NetworkLinks> network;  // nothing: only the parts have limits
  Exchange exchange;
  ArrayWords array;
  bool read = false;
  std::optional<plan::Strategy> strategy;  // nothing: as the prices decide
  std::int64_t aggregators = 0;            // of each group; 0: as the prices decide
  topology::PlacementRule placement = topology::PlacementRule::spread;
  std::int64_t buffer_bytes = 0;  // 0: a client's whole share
  bool ahead = true;  // the next piece is received while one is written; false: one after the other
  bool meeting = false;  // all clients begin each step together
  std::int64_t steps = 1;
  std::int64_t stripe_bytes = 0;
  std::int64_t lock_bytes = 0;
  Workload workload = Workload::library;
  bool posix_calls = false;  // a workload of weir-bench makes these, and does not use the library

  // Returns the rate of the copies of ranks that move so many bytes each; there is one.
  [[nodiscard]] const Copies& copies_of(std::int64_t bytes) const;
  [[nodiscard]] std::int64_t ranks() const { return nodes * ranks_per_node; }
  // Number of places that a file's stripes are distributed to; 0 if no part has users by stripe.
  [[nodiscard]] std::int64_t targets() const;
  // Number of servers or stagers that are nodes of the network: the units of the first part that
  // clients use in turn or by stripes; 0 if there is none, or if they are not on the network.
  [[nodiscard]] std::int64_t ends() const;
};

// Fails with one line that names the field.
[[nodiscard]] Result<Description> parse_description(std::string_view json);

}  // namespace weir::sim
