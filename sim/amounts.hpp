// What was moved in a simulation, and what each part of the way did.
#pragma once

#include <cstdint>
#include <string>

namespace weir::sim {

// What was moved in all steps.
struct Moved {
  std::int64_t bytes = 0;        // of the request
  std::int64_t bytes_moved = 0;  // of operations, with the holes that reads move along
  std::int64_t clients = 0;
  // What storage was asked for at a time: a piece, or where ranks move rows by themselves a row.
  std::int64_t operations = 0;
  std::int64_t calls = 0;
  std::int64_t messages = 0;
  std::int64_t message_bytes = 0;
};

struct PartLoad {
  std::string name;
  std::int64_t units_used = 0;
  double bytes = 0;
  double most_bytes = 0;    // of the unit with the most
  double busy_seconds = 0;  // of the unit that is busy for longest
  std::string busiest;      // that unit: its number, or the name of a link
};

}  // namespace weir::sim
