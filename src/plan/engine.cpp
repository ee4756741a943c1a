#include "plan/engine.hpp"

#include <fmt/format.h>

namespace weir::plan {

std::string_view name_of(Engine engine) {
  switch (engine) {
    case Engine::posix:
      return "posix";
    case Engine::uring:
      return "io_uring";
    case Engine::direct:
      return "direct-io";
    case Engine::mpi_io:
      return "mpi-io";
    case Engine::null:
      return "null";
  }
  return "";
}

Result<Engine> parse_engine(std::string_view name) {
  for (const Engine engine : all_engines) {
    if (name == name_of(engine)) return engine;
  }
  return invalid_argument(fmt::format(
      "unknown engine '{}': give one of posix, io_uring, direct-io, mpi-io, null", name));
}

}  // namespace weir::plan
