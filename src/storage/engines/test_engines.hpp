// Engines by name, for tests that check all engines.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "storage/engines/engine.hpp"

namespace weir::storage {

struct TestedEngine {
  std::string name;
  // Returns null if the system does not provide the engine.
  std::unique_ptr<Engine> (*make)() = nullptr;
};

inline void PrintTo(const TestedEngine& engine, std::ostream* out) { *out << engine.name; }

// Returns the engines of src/storage (test_engines.cpp), or in a test program with MPI the engines
// that need MPI.
[[nodiscard]] std::vector<TestedEngine> tested_engines();

}  // namespace weir::storage
