// Calls on items by io_uring: many are in flight, and each is answered separately.
//
// Protocol: the caller owns `depth` slots. A call takes a slot until wait() hands the slot back;
// the paths and memory to which the call points must live until then. Calls reach the kernel with
// the next wait().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/status.hpp"
#include "workloads/metadata/action.hpp"
#include "workloads/metadata/item_calls.hpp"

namespace weir::bench::metadata {

inline constexpr std::int64_t most_queue_depth = 4096;

// Returns whether io_uring can make the action's call. create, write and read also need the calls
// for a file's content.
[[nodiscard]] bool ring_can(Action action);

class ItemRing {
 public:
  ItemRing() = default;
  ItemRing(const ItemRing&) = delete;
  ItemRing& operator=(const ItemRing&) = delete;
  virtual ~ItemRing() = default;  // waits for all calls in flight

  // Begins the first call of an action that ring_can(). `second` is the destination of link,
  // symlink and rename.
  virtual void begin(int slot, Action action, Place place, Place second) = 0;
  virtual void close(int slot, int descriptor) = 0;
  // Writes or reads `bytes` at `offset`. `memory` must live until the answer, which is the number
  // of bytes.
  virtual void move(int slot, int descriptor, bool writing, void* memory, unsigned bytes,
                    std::int64_t offset) = 0;
  // `data_only` selects fdatasync.
  virtual void sync(int slot, int descriptor, bool data_only) = 0;

  struct Answer {
    int slot = -1;
    int result = 0;  // the call's result, or -errno
  };
  // Blocks until a call is answered; at least one slot must be in use. Returns the number of
  // answers, at most the size of `answers`, or -errno.
  virtual int wait(std::span<Answer> answers) = 0;
};

// Fails with ErrorCode::unsupported if the kernel or this build lacks something that `actions`
// need; the error is one line that names it.
[[nodiscard]] Result<std::unique_ptr<ItemRing>> make_item_ring(int depth,
                                                               std::span<const Action> actions);

}  // namespace weir::bench::metadata
