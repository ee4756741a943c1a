// The steps of a repetition, in their order, and their names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::bench::opening {

enum class Step : std::uint8_t {
  create,         // the file is created and opened on every rank that shares it
  write,          // each rank's piece: the first access, which completes a deferred open
  close_written,  // closes what was created
  open,           // the same file again, for reading
  read,           // each rank's piece
  close_read,     // closes what was opened
  remove,
};

inline constexpr std::size_t step_count = 7;
inline constexpr std::array<Step, step_count> all_steps = {
    Step::create, Step::write,      Step::close_written, Step::open,
    Step::read,   Step::close_read, Step::remove};

inline constexpr std::array<const char*, step_count> step_names = {
    "create", "write", "close-written", "open", "read", "close-read", "remove"};

[[nodiscard]] constexpr const char* name_of(Step step) {
  return step_names[static_cast<std::size_t>(step)];
}

}  // namespace weir::bench::opening
