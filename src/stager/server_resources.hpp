// These resources a stager has open before it serves: sockets, memory, folders and the rendezvous
// file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "stager/event_poll.hpp"
#include "stager/events.hpp"
#include "stager/journal.hpp"
#include "stager/journal_replay.hpp"
#include "stager/mailbox.hpp"
#include "stager/receivers.hpp"
#include "stager/server.hpp"
#include "stager/spill_file.hpp"
#include "system/file.hpp"
#include "system/frame_socket.hpp"
#include "system/network_listener.hpp"
#include "system/root_folder.hpp"
#include "system/shared_memory.hpp"
#include "transport/authenticator.hpp"
#include "transport/messages.hpp"
#include "transport/rendezvous.hpp"
#include "transport/ucx.hpp"

namespace weir::stager {

// Events that other threads have for the thread of the state machine.
using News = Mailbox<Event>;

// Ranks of other nodes connect to this.
struct Service {
  storage::NetworkListener listener;
  std::string key;
  transport::RendezvousFile file;
};

struct ServerResources {
  EventPoll poll;
  storage::FrameListener listener;
  storage::SharedMemory memory;
  storage::File signals;  // tells of the signals that end the stager
  std::unique_ptr<News> news;
  std::unique_ptr<SpillFile> spill;   // null: nothing is spilled
  std::unique_ptr<Journal> journal;   // null: there is none
  std::vector<std::string> replayed;  // lines for people on what was found in earlier journals
  std::vector<WaitingShare> shares;   // in these journals
  std::vector<std::string> in_use;    // journals that another stager had
  std::optional<storage::RootFolder> root;  // nothing: anything may be stored
  transport::SessionId secret;
  // The following are null or nothing if ranks of other nodes are not served:
  std::unique_ptr<transport::UcxReceiver> ucx;  // null: no bytes come over UCX
  std::string offered_ucx;
  std::unique_ptr<transport::Authenticator> authenticator;
  std::optional<Service> service;
  std::unique_ptr<Receivers> receivers;

  // Checks the settings, prepares the process (limits, signals), stores what earlier journals have,
  // and opens everything. The rendezvous file is written last, so that who finds it can connect.
  [[nodiscard]] static Result<ServerResources> open(const ServerSettings& settings);
};

}  // namespace weir::stager
