// The state of one phase while it runs; of the executor's own files.
#pragma once

#include <string>

#include "workloads/metadata/execute.hpp"

namespace weir::bench::metadata {

inline constexpr std::int64_t look_after_ns =
    20'000'000;  // how often keep_watch() tells of progress

struct Executor::Phase {
  Action action;
  const TreeState& before;
  std::int64_t owner;  // whose items
  ActionRecord& record;
  bool measured = false;  // by the interface asked for, otherwise by plain calls
  std::int64_t paused_ns = 0;
  OpenDirectory base = {};  // Api::relative: what paths are relative to
  std::int64_t watched_ns = 0;
  std::int64_t first_item = 0;  // of each rank
  std::int64_t stop_ns = 0;     // no item is begun after this time; 0: until all are done
  std::int64_t reached = 0;     // items of this rank that are done, with those before first_item

  void note(std::int64_t ns) { record.note(ns); }
};

// `error`: errno, or what ItemCalls returns beside it.
[[nodiscard]] Error failure_of(Action action, const std::string& path, int error);

// Does not return: the guard's thread removes everything and ends the process.
[[noreturn]] void wait_for_the_end();

}  // namespace weir::bench::metadata
