// Simulates the flows of a request on a machine, with SimGrid: when each client has its messages,
// waits for its turn, moves its bytes, and which parts are busy.
//
// A client works on its operations in order. With `ahead`, it receives the next pieces while it
// writes one, as many as the library has buffers for. A part whose units do operations in turn
// takes them first come, first served; the bytes pass the parts behind it at the same time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "amounts.hpp"
#include "description.hpp"
#include "flows.hpp"

namespace weir::sim {

struct Outcome {
  double seconds = 0;
  Moved moved;
  // The parts of the description, then "messages received", "messages sent", "copies in memory",
  // "links between switches", and "exchange" or "calls".
  std::vector<PartLoad> parts;
  bool links_of_senders = true;  // whether they were simulated
  // What the description has as slow although no bytes may pass it.
  std::vector<std::string> unused_slow;
  // Mean times of a client.
  double message_seconds = 0;    // waiting for messages, or until its own are taken
  double turn_seconds = 0;       // waiting for its turn
  double operation_seconds = 0;  // under way with an operation
  // Of a workload of weir-bench: whether its route counts the bytes that it took, and they were
  // all.
  std::optional<bool> accounted = std::nullopt;
  // And how many bytes it compared with those that it wrote, where the simulated storage keeps
  // them.
  std::optional<std::int64_t> bytes_compared = std::nullopt;
};

// What all simulations set of SimGrid: plain max-min sharing without corrections for TCP.
[[nodiscard]] std::vector<std::string> common_settings();

// May be called once in a process, since SimGrid has one engine.
[[nodiscard]] Outcome execute(const Description& asked, const Flows& flows);

}  // namespace weir::sim
