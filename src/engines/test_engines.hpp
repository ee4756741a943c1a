// Engines by name, for tests that ask the same of all.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engines/engine.hpp"

namespace weir::storage {

struct TestedEngine {
  std::string name;
  // Null where the system has not got it.
  std::unique_ptr<Engine> (*make)() = nullptr;
};

inline void PrintTo(const TestedEngine& engine, std::ostream* out) { *out << engine.name; }

// Returns the engines of src/engines (test_engines.cpp), or those that a test program with MPI
// lists.
[[nodiscard]] std::vector<TestedEngine> tested_engines();

}  // namespace weir::storage
