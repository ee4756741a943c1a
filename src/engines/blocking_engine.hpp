// An engine that executes each request inside submit(), one after the other. A blocking call with
// one short range takes hardly longer than its system call, so it makes no request.
#pragma once

#include <span>
#include <vector>

#include "engines/engine.hpp"

namespace weir::storage {

// Returns the files of the request's ranges, each once.
[[nodiscard]] std::vector<EngineFile*> files_of(const EngineRequest& request);

// Returns whether the request moves nothing and only makes files durable.
[[nodiscard]] inline bool only_syncs(const EngineRequest& request) {
  return request.durability != Durability::none &&
         (request.ranges.empty() || request.ranges.front().slices.empty());
}

class BlockingEngine : public Engine {
 protected:
  // Moves the ranges, and adds what was moved to `traffic`.
  virtual Status move(Direction direction, std::span<const FileRange> ranges,
                      FileTraffic& traffic) = 0;
  // Makes the files durable as Durability::data or Durability::full requests.
  virtual Status make_durable(std::span<EngineFile* const> files, Durability durability) = 0;

 private:
  void start(EngineRequest& request) final;
  Status move_now(Direction direction, std::span<const FileRange> ranges,
                  FileTraffic& traffic) final {
    return move(direction, ranges, traffic);
  }
};

}  // namespace weir::storage
