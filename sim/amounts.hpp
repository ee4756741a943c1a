// What was moved in a simulation, and what each part of the way did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::sim {

constexpr std::size_t most_units_told = 1024;  // of a part

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

// What one unit of a part did.
struct UnitLoad {
  std::string name;  // its number, or the name of a link
  double bytes = 0;
  double busy_seconds = 0;
  double speed = 1;  // share of the usual one
};

struct PartLoad {
  std::string name;
  std::int64_t units_used = 0;
  double bytes = 0;
  double most_bytes = 0;    // of the unit with the most
  double busy_seconds = 0;  // of the unit that is busy for longest
  std::string busiest;      // that unit's name
  // By their numbers. Of a part with more than most_units_told, those that are busy for longest,
  // and slow ones.
  std::vector<UnitLoad> units;
};

}  // namespace weir::sim
