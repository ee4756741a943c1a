// What the library's calls of the system and of MPI need to know of the simulated rank that makes
// them. All ranks run in turn on one thread: none may block it, and each has its own state here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "description.hpp"
#include "engines/engine.hpp"
#include "flows.hpp"
#include "known_choices.hpp"
#include "operations.hpp"
#include "plan/parameters.hpp"
#include "plan/platform_rates.hpp"
#include "ranks/thread_sessions.hpp"

namespace weir::sim {

class Group;
struct MessageSide;
struct SimulatedRank;

// What all ranks share.
struct SimulatedSystem {
  const Description* asked = nullptr;
  plan::Strategy strategy = {};  // of the plan
  plan::PlatformRates rates;     // of the simulated machine, for every session
  Operations* operations = nullptr;
  KnownChoices choices;  // of plans, by all ranks
  // Ranks that sleep on a word of memory, by its address, which is the same on all ranks of a node.
  std::map<const std::atomic<std::uint32_t>*, std::vector<simgrid::s4u::SemaphorePtr>> sleepers;
  // Memory that ranks share: one mapping of each file for all that map it.
  struct Mapping {
    void* memory = nullptr;
    std::int64_t users = 0;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, Mapping> mappings;  // by device and inode
  // Nobody reads what ranks send, and it is so much that all ranks have one memory for it and copy
  // none of it.
  bool payload_is_unread = false;
  // Moves bytes to and from the files in which the simulated storage keeps them, in no simulated
  // time; null: it keeps none.
  std::unique_ptr<storage::Engine> kept;
  // The open ones of these files, each once for all ranks, which may be more than a process may
  // open: by device, inode and whether it is written.
  std::map<std::tuple<std::uint64_t, std::uint64_t, bool>, std::weak_ptr<storage::EngineFile>>
      kept_files;
  std::vector<SimulatedRank*> ranks;  // null: its program has not begun, or has ended
  // The ranks of each communicator, by MPI's handle of it on any of its ranks.
  std::map<const void*, std::shared_ptr<Group>> groups;
};

struct SimulatedNode {
  // Ranks that look for something to do and have found nothing.
  std::vector<SimulatedRank*> looking;
  std::uint64_t changes = 0;  // how often ranks of the node were to look again
};

struct SimulatedRank {
  SimulatedSystem* system = nullptr;
  SimulatedNode* node = nullptr;
  std::int64_t number_of_node = 0;
  std::int64_t processors = 1;     // of its node
  const Client* client = nullptr;  // null if the plan has no operations of it
  ranks::Sessions sessions;
  simgrid::s4u::SemaphorePtr woken = simgrid::s4u::Semaphore::create(0);
  // A collective call that the rank waits in releases it once it is known when the rank leaves.
  simgrid::s4u::SemaphorePtr met = simgrid::s4u::Semaphore::create(0);
  // Simulated time since which it has looked for something to do: since it last did something, or
  // was told of a message.
  double looks_since = 0;
  std::uint64_t news = 0;  // how often it was told of a message
  // Changes of its node and news when it began its latest look. Time may pass in a look, in which
  // more come.
  std::uint64_t seen_changes = 0;
  std::uint64_t seen_news = 0;
  // Its sides of messages, each of which stands for a request of MPI until it has been seen to end.
  std::map<const MessageSide*, std::shared_ptr<MessageSide>> sides;
  // The rank waits for a message and for nothing else, until `told` is released.
  bool waits_for_message = false;
  simgrid::s4u::SemaphorePtr told = simgrid::s4u::Semaphore::create(0);
  // The rank moves bytes only to prepare or to check what is simulated: its operations take no
  // time, and neither they nor its messages are counted.
  bool aside = false;
  std::int64_t messages = 0;  // of data, that it sent
  std::int64_t message_bytes = 0;
};

// Called by a rank that has changed what is in its node's memory, before it waits: the ranks of its
// node that look for something to do look again.
void wake_looking(SimulatedNode& node);
// Called when a message to `rank`, or one of its own, has come or ended: it looks again.
void tell_of_message(SimulatedRank& rank);
// Blocks the calling rank until it is told of a message.
void wait_for_message();

// Returns that of the calling actor, which must be a rank.
[[nodiscard]] SimulatedRank& this_rank();
// Makes `rank` that of the calling actor.
void set_this_rank(SimulatedRank& rank);

}  // namespace weir::sim
