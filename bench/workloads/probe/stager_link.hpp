// The way of bytes over TCP to stagers of a service (docs/staging.md), without the stagers: threads
// of the job's own processes receive what the ranks send, and drop it.
//
// clang-format off
//     rank        copies its memory into a block of 1 MiB, and sends the block in frames of 64 KiB,
//                 which have checksums (system/frame_socket.hpp); at the end it asks for an answer
//     receiver    one of the threads of a stager: checks the frames of its connections, copies
//                 their bytes to other memory, and answers
// clang-format on
//
// Stagers are on the job's nodes in turn, and each serves an equal part of the ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/job.hpp"
#include "measurement/meeting.hpp"
#include "system/frame_socket.hpp"

namespace weir::bench::probe {

// The stagers of a service, as the ranks see them.
struct LinkEnds {
  static constexpr std::int64_t usual_receivers = 4;

  std::int64_t stagers = 1;
  std::int64_t receivers = 0;  // threads of each that receive; 0: as usual
};

// Reads the ends "1x4,2x1", stagers times receivers. Fails for any other text.
[[nodiscard]] Result<std::vector<LinkEnds>> parse_link_ends(const std::string& text);

class StagerLink {
 public:
  // Connects the ranks. Collective; all ranks fail if one does.
  static Result<std::unique_ptr<StagerLink>> connect(const Job& job, Meeting& meeting,
                                                     const LinkEnds& ends);
  StagerLink(const StagerLink&) = delete;
  StagerLink& operator=(const StagerLink&) = delete;
  ~StagerLink();

  // Every rank sends `memory` so many times, and waits until all of it has been received. Returns
  // the bytes per second of all ranks together. Collective.
  Result<double> send(std::span<const std::byte> memory, std::int64_t times);

 private:
  StagerLink(const Job& job, Meeting& meeting);
  Status open_receivers(const LinkEnds& ends, std::vector<std::string>* addresses);
  Status join(const std::string& address, std::uint64_t token);
  Status accept_all(const LinkEnds& ends, std::uint64_t token);
  Status send_all(std::span<const std::byte> memory, std::int64_t times);
  Status send_frame(std::span<const std::byte> payload);
  Status wait_for_answer();

  const Job& job_;
  Meeting& meeting_;
  std::optional<storage::FrameSocket> socket_;  // of this rank
  std::uint64_t token_ = 0;
  std::vector<std::byte> block_;
  struct Stager;
  std::vector<std::unique_ptr<Stager>> stagers_;  // of this rank, which leads a node
};

}  // namespace weir::bench::probe
