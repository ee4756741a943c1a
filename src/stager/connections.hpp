// The connections of a stager: ranks of the node, ranks of other nodes, people, and other stagers.
// The class accepts connections within limits, takes whole frames from them and sends frames, and
// never waits for a single connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "stager/event_poll.hpp"
#include "stager/events.hpp"
#include "system/frame_socket.hpp"
#include "system/network_listener.hpp"

namespace weir::stager {

// The functions that get what connections bring.
struct ConnectionUser {
  // Gets Connected, Disconnected, Unreadable and Linked.
  std::function<void(const Event&)> handle;
  std::function<void(ClientId, storage::Frame)> take;
  std::function<std::size_t()> strangers;  // connections over a network that have not shown who
                                           // they are
  std::function<void(ClientId)> ending;    // called before the connection of a client ends
  std::function<void(const std::string&)> say;
};

// Returns whether what is asked comes behind all that ranks of the node have handed over before,
// also those that did not wait until it was taken (transport::HandOver).
[[nodiscard]] bool is_behind_others(const transport::Message& message);

class Connections {
 public:
  Connections(EventPoll poll, storage::FrameListener listener, ConnectionUser user);

  // Begins to accept.
  [[nodiscard]] Status begin();
  // Accepts connections over a network, too, from now on.
  [[nodiscard]] Status accept_from(storage::NetworkListener listener);
  // Returns the addresses of this node at which it does so; null: none.
  [[nodiscard]] const std::vector<std::string>* network_addresses() const;
  // Connects to the first address that answers; Linked tells how that ended.
  void connect(SessionId session, std::vector<std::string> addresses);

  // Adds a descriptor that is no connection, with a key below first_key.
  [[nodiscard]] Status watch(int descriptor, std::uint64_t key) const;
  // Keys of such descriptors begin here; smaller ones are taken.
  static constexpr std::uint64_t first_free_key = 2;
  static constexpr std::uint64_t first_client = 16;

  // Waits for at most so long, takes what has come, and returns the keys of other descriptors that
  // are ready. `first` is called after the wait, before anything is taken.
  [[nodiscard]] std::vector<std::uint64_t> wait(int milliseconds,
                                                const std::function<void()>& first);
  // Takes nothing from this client, of which the caller has a frame that comes behind what others
  // have sent, until resume().
  void pause(ClientId client) { paused_.insert(client); }
  void resume(ClientId client);
  // Takes all that has come from clients that are not paused. A connection on one node has at once
  // what a process sends.
  void take_from_others();
  // Returns whether something may have come already that was not taken.
  [[nodiscard]] bool has_unread() const { return !unread_.empty(); }
  // Called about once a second.
  void tick(std::int64_t now_ns);

  [[nodiscard]] bool empty() const { return clients_.empty(); }
  [[nodiscard]] bool contains(ClientId client) const { return clients_.contains(client); }
  // Sends a message, or keeps what the connection does not take yet. `memory` is passed to a rank
  // of the node; null: nothing is. A client that is gone gets nothing, which is noticed when its
  // connection is looked at. ErrorCode::invalid_argument: the message is too long.
  Status send(ClientId client, const transport::Message& message, const storage::File* memory);
  // Messages to and from this client may be as long as those of the node.
  void trust(ClientId client);
  // Takes nothing from this client until it is handed on. Returns its address.
  std::string hold(ClientId client);
  // Frames from this client may be as long as those of the node, and somebody else takes them from
  // its socket from now on (receivers.hpp); here it is sent to alone. Null: the client is gone.
  [[nodiscard]] std::shared_ptr<storage::FrameSocket> hand_on(ClientId client);
  // Takes nothing more from the client; its connection ends when everything is sent.
  void close(ClientId client);
  // Ends the connection, and tells it by Disconnected.
  void drop(ClientId client);
  // Lets nobody connect any more: whoever waits for the end sees its connection end, and then finds
  // no socket.
  void stop_listening() { listener_.reset(); }

 private:
  struct Client {
    explicit Client(storage::FrameSocket connection)
        : socket(std::make_shared<storage::FrameSocket>(std::move(connection))) {}
    std::shared_ptr<storage::FrameSocket> socket;
    std::uint32_t watched = 0;  // 0: it is not in the poll
    bool is_held = false;       // what comes is not taken here
    bool is_closing = false;    // ends when everything is sent
  };
  // A connection to another stager that is being made.
  struct Link {
    SessionId session = 0;
    std::vector<std::string> addresses;
    std::size_t tried = 0;  // addresses so far
    std::int64_t began_ns = 0;
  };

  void accept(storage::FrameSocket socket, bool is_remote);
  void accept_strangers();
  void go_on_accepting();
  // Called with errno where accept() has returned nothing: lets the listener be until the next tick
  // if this process may open no more files.
  void rest_if_short(int reason, int descriptor, std::uint64_t key);
  void connect_next(Link link, const Error& before);
  void next_address(ClientId client, const Error& why);
  void look_at_link(ClientId client);
  void look_at(ClientId client);
  // Waits for room for sending only where something is unsent.
  void watch_rest(ClientId client);
  // Returns whether the poll looks for this from now on.
  bool watch_for(ClientId number, Client& client, std::uint32_t wanted);

  EventPoll poll_;
  std::optional<storage::FrameListener> listener_;
  std::optional<storage::NetworkListener> network_;
  ConnectionUser user_;
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = first_client;
  bool is_full_ = false;   // of strangers: no more are accepted
  bool is_short_ = false;  // of descriptors: nobody is accepted until the next tick
  bool has_told_ = false;  // so, since somebody was accepted
  std::map<ClientId, Link> links_;
  std::set<ClientId> unread_;  // may have sent more than was read
  std::set<ClientId> paused_;
};

}  // namespace weir::stager
