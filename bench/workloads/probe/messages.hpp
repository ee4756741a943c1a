// Messages between two ranks: back and forth, or a stream in one direction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "measurement/meeting.hpp"

namespace weir::bench::probe {

enum class Role { sender, receiver };

// Both ranks of a pair call the functions below, each with the other's rank in the job's world;
// other pairs may do so at the same time. `times` extends from the call to the end of this rank's
// part. Errors are those of waits that pass the job's deadline.

// Exchanges `messages` of 8 bytes, alternately from the sender and from the receiver.
Status exchange_messages(const Job& job, int other, Role role, std::int64_t messages, Times* times);

// Sends `messages` of `bytes` each from the sender's `memory` to the receiver's, with a few in
// flight at a time. Ends on both ranks when the receiver has all messages.
Status stream_messages(const Job& job, int other, Role role, std::byte* memory, std::int64_t bytes,
                       std::int64_t messages, Times* times);

}  // namespace weir::bench::probe
