// The state of one phase while it runs. Only the executor's files include this header.
#pragma once

#include <string>

#include "workloads/metadata/execute.hpp"

namespace weir::bench::metadata {

// How often keep_watch() reports progress.
inline constexpr std::int64_t look_after_ns = 20'000'000;

struct Executor::Phase {
  Action action;
  const TreeState& before;
  std::int64_t owner;  // the rank that owns the items
  ActionRecord& record;
  bool measured = false;  // by the selected interface, otherwise by plain calls
  std::int64_t paused_ns = 0;
  OpenDirectory base = {};  // if it is open, paths are relative to it
  std::int64_t watched_ns = 0;
  std::int64_t first_item = 0;  // of each rank
  std::int64_t stop_ns = 0;     // no item is begun after this time; 0: no limit
  std::int64_t reached = 0;     // finished items of this rank, including those before first_item

  void note(std::int64_t ns) { record.note(ns); }
};

// `error` is a result of NameCalls.
[[nodiscard]] Error failure_of(Action action, const std::string& path, int error);

// Does not return: the guard's thread removes everything and ends the process.
[[noreturn]] void wait_for_the_end();

}  // namespace weir::bench::metadata
