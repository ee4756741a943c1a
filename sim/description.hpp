// What weir-sim is asked: a machine as parts with parallel units, and what is moved on it.
// docs/simulation.md describes the JSON document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "plan/parameters.hpp"

namespace weir::sim {

// The clients that share one unit of a part.
enum class Users {
  node,    // those on one node
  group,   // those of one I/O group
  client,  // clients in turn: client c uses unit c mod units
  stripe,  // whoever moves bytes of a stripe that is on the unit
};

// A part of the way of an operation. Units carry bytes at a rate that its users share equally.
struct Part {
  std::string name;
  Users users = Users::group;
  std::int64_t units = 1;
  double bytes_per_second = 0;
  // Above 0: a unit does one operation at a time, which takes at least this time for each call and
  // that of its bytes at `copy_bytes_per_second` (0: none).
  double operation_seconds = 0;
  double copy_bytes_per_second = 0;
  std::int64_t operations_at_once = 0;  // that an I/O group may have on the rest of the way; 0: any

  [[nodiscard]] bool in_turn() const { return operation_seconds > 0; }
};

// The messages between nodes, which enter a node by its own link.
struct Messages {
  double bytes_per_second = 0;  // 0: they take no time
  double seconds_each = 0;
};

// An exchange between all I/O groups, as in MPI-IO on Blue Gene/P.
struct Exchange {
  std::int64_t aggregators_on_first_nodes = 0;  // of each I/O group; 0: there is no exchange
  double seconds = 0;                           // of agreeing on offsets, at the start of each step
};

struct ArrayWords {
  std::string shape;
  std::string type;
  std::string distribution;
  std::string grid;
};

struct Description {
  std::int64_t nodes = 0;
  std::int64_t ranks_per_node = 0;
  std::int64_t nodes_per_group = 0;  // 0: one group
  std::vector<Part> parts;           // in the order of a write
  Messages messages;
  Exchange exchange;
  ArrayWords array;
  bool read = false;
  std::optional<plan::Strategy> strategy;  // nothing: as the prices decide
  std::int64_t aggregators = 0;            // of each group; 0: as the prices decide
  std::int64_t buffer_bytes = 0;           // 0: a client's whole share
  bool ahead = true;  // the next piece is received while one is written; false: one after the other
  bool meeting = false;  // all clients begin each step together
  std::int64_t steps = 1;
  std::int64_t stripe_bytes = 0;
  std::int64_t lock_bytes = 0;

  [[nodiscard]] std::int64_t ranks() const { return nodes * ranks_per_node; }
  // Number of places that a file's stripes are dealt to; 0 if no part has users by stripe.
  [[nodiscard]] std::int64_t targets() const;
};

// Fails with one line that names the field.
[[nodiscard]] Result<Description> parse_description(std::string_view json);

}  // namespace weir::sim
