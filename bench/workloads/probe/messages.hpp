// Messages between two ranks: to and fro, or a stream in one direction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "measurement/meeting.hpp"

namespace weir::bench::probe {

enum class Role { sender, receiver };

// Both ranks of a pair call the functions below, with each other's rank in the job's world; other
// pairs may do so at the same time. `times` begins with the call and ends when this rank's part is
// done. The errors are those of waits that pass the job's deadline.

// `messages` of 8 bytes, alternately from the sender and from the receiver.
Status exchange_messages(const Job& job, int other, Role role, std::int64_t messages, Times* times);

// `messages` of `bytes` each from `memory` of the sender to `memory` of the receiver, a few on
// their way at a time; ends, for both, when the receiver has them all.
Status stream_messages(const Job& job, int other, Role role, std::byte* memory, std::int64_t bytes,
                       std::int64_t messages, Times* times);

}  // namespace weir::bench::probe
