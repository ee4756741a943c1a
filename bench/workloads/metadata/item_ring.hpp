// Calls on items by io_uring: many in flight, each answered on its own.
//
// Protocol: the caller owns `depth` slots. A call takes a slot until wait() hands it back; what it
// points to (paths) must live until then. Calls reach the kernel with the next wait().
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

// Whether an action is one call that io_uring has; create, write and read: those of a file's
// content besides.
[[nodiscard]] bool ring_can(Action action);

class ItemRing {
 public:
  ItemRing() = default;
  ItemRing(const ItemRing&) = delete;
  ItemRing& operator=(const ItemRing&) = delete;
  virtual ~ItemRing() = default;  // waits for all that is in flight

  // The first call of an action that ring_can(); `second`: where link, symlink and rename go to.
  virtual void begin(int slot, Action action, Place place, Place second) = 0;
  virtual void close(int slot, int descriptor) = 0;
  // Writes or reads `bytes` at `offset`; `memory` must live until the answer, which is their
  // number.
  virtual void move(int slot, int descriptor, bool writing, void* memory, unsigned bytes,
                    std::int64_t offset) = 0;
  // `data_only`: fdatasync.
  virtual void sync(int slot, int descriptor, bool data_only) = 0;

  struct Answer {
    int slot = -1;
    int result = 0;  // what the call returns, or -errno
  };
  // Blocks until a call is answered; all must not be free. At most `answers` of them; returns how
  // many there were, or -errno.
  virtual int wait(std::span<Answer> answers) = 0;
};

// ErrorCode::unsupported where the kernel, or this build, does not offer what `actions` need: one
// line that says what is missing.
[[nodiscard]] Result<std::unique_ptr<ItemRing>> make_item_ring(int depth,
                                                               std::span<const Action> actions);

}  // namespace weir::bench::metadata
