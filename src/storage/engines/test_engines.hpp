// Every engine of src/storage, by name, for tests that ask the same of all.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/engines/engine.hpp"
#include "storage/engines/faulty_engine.hpp"

namespace weir::storage {

struct TestedEngine {
  std::string name;
  // Null where the system has not got it.
  std::unique_ptr<Engine> (*make)() = nullptr;
};

inline std::unique_ptr<Engine> uring_engine_or_none() {
  auto engine = make_uring_engine();
  return engine ? std::move(engine).value() : nullptr;
}

inline std::vector<TestedEngine> tested_engines() {
  return {{"posix", make_posix_engine},
          {"io_uring", uring_engine_or_none},
          {"direct_by_posix", [] { return make_direct_engine(make_posix_engine()); }},
          {"direct_by_io_uring",
           []() -> std::unique_ptr<Engine> {
             auto base = uring_engine_or_none();
             return base ? make_direct_engine(std::move(base)) : nullptr;
           }},
          {"memory", make_memory_engine},
          // Late, but not wrong.
          {"faulty", [] {
             return make_faulty_engine(make_posix_engine(), {.number = 2, .delay_seconds = 1e-4});
           }}};
}

}  // namespace weir::storage
