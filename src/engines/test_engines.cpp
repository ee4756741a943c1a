#include "engines/test_engines.hpp"

#include <utility>

#include "engines/test_faulty_engine.hpp"

namespace weir::storage {
namespace {

std::unique_ptr<Engine> uring_engine_or_none() {
  auto engine = make_uring_engine();
  return engine ? std::move(engine).value() : nullptr;
}

std::unique_ptr<Engine> direct_uring_engine_or_none() {
  auto base = uring_engine_or_none();
  return base ? make_direct_engine(std::move(base)) : nullptr;
}

}  // namespace

std::vector<TestedEngine> tested_engines() {
  return {{"posix", make_posix_engine},
          {"thread", [] { return make_thread_engine(); }},
          {"io_uring", uring_engine_or_none},
          {"direct_by_posix", [] { return make_direct_engine(make_posix_engine()); }},
          {"direct_by_thread", [] { return make_direct_engine(make_thread_engine()); }},
          {"direct_by_io_uring", direct_uring_engine_or_none},
          {"memory", make_memory_engine},
          // Late, but not wrong.
          {"faulty", [] {
             return make_faulty_engine(make_posix_engine(), {.number = 2, .delay_seconds = 1e-4});
           }}};
}

}  // namespace weir::storage
