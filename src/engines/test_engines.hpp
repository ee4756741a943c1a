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

// The engines of src/storage (test_engines.cpp); in a test program with MPI those that need it.
[[nodiscard]] std::vector<TestedEngine> tested_engines();

}  // namespace weir::storage
