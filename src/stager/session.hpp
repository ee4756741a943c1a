// The state of a session on a stager.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "stager/events.hpp"
#include "stager/session_queue.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

// Another stager of a session.
struct PeerState {
  ClientId client = 0;  // 0: its connection has ended
  std::string host;
  std::uint64_t sealed = 0;    // the last seal behind everything that it has stored
  bool keeps_journal = false;  // and so do all stagers of the session
  // The chunks that it has encoded, of steps that are not published yet.
  std::vector<std::shared_ptr<const transport::EncodedChunks>> chunks = {};
};

// A step whose shares other stagers are recording, on the stager that publishes it.
struct SharedStep {
  CommitItem* commit = nullptr;
  ClientId client = 0;  // gets an Accepted
  transport::StepShare share;
  std::set<ClientId> awaited;  // stagers
  Status outcome;              // why the step is not in the journals
};

// The way of a stager that joined to the stager of rank 0.
struct Home {
  enum class State : std::uint8_t { none, joining, joined };
  State state = State::none;
  ClientId client = 0;
  std::string secret;
  bool keep_journals = false;     // all stagers of the session
  std::vector<ClientId> waiting;  // ranks that get a Joined
};

struct Session {
  transport::SessionId name{};
  std::string program;
  std::set<ClientId> clients;    // ranks
  std::vector<PeerState> peers;  // that joined
  Home home;
  SessionQueue queue;
  std::vector<SharedStep> shared;
  // A stager that joined keeps the paths of steps of which it has a share in its journal, by their
  // tickets on the stager of rank 0, until that one has published them.
  std::map<std::uint64_t, std::string> shares;
  std::uint64_t tickets = 0;
  std::uint64_t done = 0;  // tickets are done in order
  JobId job = 0;           // 0: none is under way
  bool waits_for_space = false;
  std::int64_t written = 0;             // bytes, so far
  std::int64_t longest_waited_ns = 0;   // by the rank that has waited longest for this stager
  std::set<std::string_view> carriers;  // that have brought bytes
  std::map<std::string, std::int64_t, std::less<>> paths;  // names of each file by its ranks
  std::int64_t lost_ranks = 0;  // whose connections ended without a farewell
  std::int64_t unfinished = 0;  // bytes that were dropped because their step never ends
  Status failure;               // why nothing more is carried out
  std::vector<std::pair<ClientId, std::uint64_t>> waiting;  // for tickets
};

}  // namespace weir::stager
