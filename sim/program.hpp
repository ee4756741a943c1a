// What the programs that simulate have in common: they read a description (JSON) from standard
// input, simulate it, and print the outcome as JSON.
#pragma once

#include "common/status.hpp"
#include "description.hpp"
#include "execution.hpp"
#include "planned.hpp"

namespace weir::sim {

struct Arguments {
  int count = 0;
  char** words = nullptr;
};

struct Simulated {
  Planned planned;
  Outcome outcome;
};

// Returns the exit status. A failure is printed as one line that begins with `name`.
int run_simulator(const Arguments& arguments, const char* name, const char* help,
                  Result<Simulated> (*simulate)(const Description& asked));

}  // namespace weir::sim
