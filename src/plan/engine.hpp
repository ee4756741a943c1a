// The choice of an engine, which moves bytes between memory and files; the engines themselves are
// in src/engines and src/aggregation/engines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/status.hpp"

namespace weir::plan {

enum class Engine : std::uint8_t {
  posix,   // pread and pwrite through the page cache
  uring,   // io_uring: many transfers in flight
  direct,  // bypasses the page cache where alignment allows
  mpi_io,
  null,  // drops what is written and reads nothing: only a program that asks for it gets it
};
inline constexpr std::array<Engine, 4> storing_engines = {Engine::posix, Engine::uring,
                                                          Engine::direct, Engine::mpi_io};
inline constexpr std::array<Engine, 5> all_engines = {Engine::posix, Engine::uring, Engine::direct,
                                                      Engine::mpi_io, Engine::null};
inline constexpr std::size_t engine_count = all_engines.size();

// Convert between engines and the names "posix", "io_uring", "direct-io", "mpi-io" and "null".
// parse_engine() fails on other names and lists these.
[[nodiscard]] std::string_view name_of(Engine engine);
Result<Engine> parse_engine(std::string_view name);

// A set of engines.
class Engines {
 public:
  constexpr Engines() = default;
  constexpr explicit Engines(unsigned bits) : bits_(bits) {}
  static constexpr Engines only(Engine engine) { return Engines(bit(engine)); }

  constexpr void add(Engine engine) { bits_ |= bit(engine); }
  [[nodiscard]] constexpr bool has(Engine engine) const { return (bits_ & bit(engine)) != 0; }
  [[nodiscard]] constexpr unsigned bits() const { return bits_; }
  friend bool operator==(const Engines&, const Engines&) = default;

 private:
  static constexpr unsigned bit(Engine engine) { return 1U << static_cast<unsigned>(engine); }
  unsigned bits_ = 0;
};

}  // namespace weir::plan
