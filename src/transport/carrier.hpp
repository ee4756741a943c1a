// A carrier brings the bytes of a rank into the blocks of a stager that it was granted. What is in
// a block, and who owns it when, is the same for each carrier (filled_block.hpp,
// stager_client.hpp):
//
// clang-format off
//     shared memory   the rank of a node copies its bytes into the block itself
//     messages        the rank of another node fills a block of its own, which goes over the
//                     connection in pieces
//     UCX             the same block goes over UCX (ucx.hpp)
// clang-format on
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "common/status.hpp"
#include "system/shared_memory.hpp"
#include "transport/filled_block.hpp"
#include "transport/messages.hpp"
#include "transport/ucx.hpp"

namespace weir::transport {

class Carrier {
 public:
  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier() = default;

  // Returns the memory that is filled in place of a granted block. One block is filled at a time.
  virtual std::span<std::byte> begin(std::int64_t block) = 0;
  // Called before the block is handed over: when this returns 0, what was put into it will be there
  // before the message that hands it over is read.
  virtual Status bring(std::int64_t block, const BlockWriter& filled) = 0;
};

[[nodiscard]] std::unique_ptr<Carrier> make_shared_memory_carrier(storage::SharedMemory memory,
                                                                  const Welcome& stager);
// `send` sends a message, and waits until the connection has taken it.
[[nodiscard]] std::unique_ptr<Carrier> make_message_carrier(
    const Welcome& stager, std::function<Status(const Message&)> send);

// The UCX carrier waits by this function until `descriptor` is readable (-1: there is none),
// something has come over the connection, or the time is over. With `moved`, the stager has shown
// that it lives. Returns how many bytes of the block the stager says it has; nothing: it has said
// nothing so far. An error ends the wait.
using WaitBeside = std::function<Result<std::optional<std::int64_t>>(
    std::int64_t block, int descriptor, std::int64_t nanoseconds, bool moved)>;
[[nodiscard]] std::unique_ptr<Carrier> make_ucx_carrier(const Welcome& stager, const Nonce& token,
                                                        std::unique_ptr<UcxSender> sender,
                                                        WaitBeside wait);

}  // namespace weir::transport
