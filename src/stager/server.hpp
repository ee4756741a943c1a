// Runs a stager: connects the state machine (stager.hpp) with sockets, memory, files and the clock.
//
// One thread handles connections and the state machine. Others execute jobs, receive what ranks of
// other nodes send (receivers.hpp), and reserve the memory while the stager is already at work.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/status.hpp"
#include "stager/session_files.hpp"
#include "transport/authenticator.hpp"

namespace weir::stager {

struct ServerSettings {
  std::string socket;  // path
  // Numeric address, with or without a port, at which stagers of other nodes connect once a session
  // asks for it, and ranks of other nodes from the beginning; "": all addresses of this node.
  std::string listen;
  // File by which ranks of other nodes find this stager; a folder: a file in it. "": only ranks of
  // this node are served.
  std::string rendezvous;
  // The way in which ranks of other nodes and the stager show each other who they are.
  transport::Authentication authentication = transport::Authentication::cookie;
  // Lets ranks of other nodes bring bytes over UCX (transport/ucx.hpp), if they can.
  bool offers_ucx = false;
  std::string root;                // nothing is stored outside this folder; "": anything may be
  std::int64_t memory_bytes = 0;   // of all blocks; at least 16 blocks
  std::string spill;               // folder for data that the memory cannot hold; "": none
  std::int64_t spill_quota = 0;    // bytes of it; 0: half of what is free there
  std::string journal;             // folder for what a later stager stores; "": none
  std::int64_t journal_quota = 0;  // bytes of it; 0: half of what is free there
  std::int64_t block_bytes = std::int64_t{1} << 20;
  // Limits of what one program has, and of the ranks of all programs that are connected; 0: no
  // limit.
  std::int64_t client_memory = 0;  // bytes; at least a block
  std::int64_t client_files = 0;
  std::int64_t client_connections = 0;
  std::int64_t connections = 0;
  int threads = 4;  // that execute jobs (003_…, section 5.2.1: four are best)
  // Threads that receive the bytes of ranks of other nodes, where there is a rendezvous file. Paper
  // 003, section 4.3, has a small pool that is woken by events.
  int receivers = 4;
  double idle_seconds = 0;  // the stager ends after so long without work; 0: it stays
  // The stager ends as soon as the programs that it has served have ended and nothing is left to be
  // stored, whoever else is connected.
  bool until_programs_end = false;
  WritesBy writes_by = WritesBy::page_cache;
};

// Serves until it is told to stop. `ready` is called when programs can connect; `say` gets lines
// for people.
[[nodiscard]] Status serve(const ServerSettings& settings, const std::function<void()>& ready,
                           const std::function<void(const std::string&)>& say);

}  // namespace weir::stager
