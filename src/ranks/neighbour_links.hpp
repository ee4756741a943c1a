// Detects whether the leaders of neighbouring nodes still run. The leaders hold TCP connections, on
// which a thread of each leader sends a byte several times in each deadline, also while the leader
// computes or accesses its storage. The thread calls no MPI and sleeps otherwise. A lost node is
// thus noticed without an MPI message and without a check by a rank that computes:
//
//   process has ended      the node's system closes the connection
//   process is stopped     the thread is stopped too: the node's system acknowledges what is sent
//                          to it, and nothing arrives from there for the deadline
//   host or network gone   nothing is acknowledged, and nothing arrives for the deadline
//
//   leaders      form a ring in the order of their nodes' numbers; each connects to the next one
//                and accepts the connection of the previous one
//   both ends    prove that they belong to the session by a secret that was sent through MPI
//   a leader     that leaves the session sends one byte that says so, and closes the connection
//   a close      without that byte means that the process has ended
//
// If no connection can be made (because of firewalls, for example) or no thread can be started,
// nothing is known about the neighbour. That is not an error; is_watching() tells. Silence counts
// from the first byte on, and only while the listening thread runs: if a whole job is stopped and
// continues later, no rank is lost.
#pragma once

#include <netinet/in.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/status.hpp"
#include "system/file.hpp"
#include "system/network_address.hpp"

namespace weir::ranks {

class NeighbourLinks {
 public:
  // The addresses at which a leader can be reached, in the form in which they are sent.
  struct Address {
    // A socket address of IPv4 or IPv6 without a port; zeros: no address.
    struct alignas(sockaddr_in6) Place {
      std::array<std::byte, sizeof(sockaddr_in6)> bytes{};
    };
    static constexpr std::size_t most_places = 4;
    std::array<Place, most_places> places{};
    std::array<char, 64> system{};  // processes of one system reach each other without a network
    std::array<char, 64> host{};
    std::array<std::uint8_t, 16> secret{};
    std::int32_t process = 0;
    std::uint32_t port = 0;  // 0: the leader cannot be reached
  };

  explicit NeighbourLinks(double deadline_seconds);
  NeighbourLinks(const NeighbourLinks&) = delete;
  NeighbourLinks& operator=(const NeighbourLinks&) = delete;
  ~NeighbourLinks();

  [[nodiscard]] const Address& address() const { return own_; }
  // Begins to connect to the next neighbour and to wait for the previous one. In a ring of two,
  // both neighbours are the same process.
  void connect(const Address& next, const Address& previous);
  // Returns whether each connection is made, or will never be made.
  [[nodiscard]] bool is_settled() const;
  // Returns whether both connections are made, so that a loss of either neighbour will be noticed.
  [[nodiscard]] bool is_watching() const;
  // Declares that this leader leaves the session in good order.
  void leave();

  enum class Neighbour : std::uint8_t { next, previous };
  struct Loss {
    Neighbour which = Neighbour::next;
    std::string text;  // "(process 17 on host n5) has ended"
  };
  // Advances connections that are being made, and returns a neighbour that is lost. Returns at
  // once.
  [[nodiscard]] std::optional<Loss> look(std::int64_t now_ns);

 private:
  enum class State : std::uint8_t { none, connecting, proving, made, unreachable, ended, unknown };
  struct Link {
    Address neighbour;
    std::optional<storage::File> socket;
    State state = State::none;
    std::size_t place = 0;       // index of the neighbour's address that is tried
    std::int64_t since_ns = 0;   // when that attempt began
    std::size_t proved = 0;      // bytes of the secret received so far
    bool heard = false;          // a sign of life has arrived
    std::int64_t silent_ns = 0;  // time since the last sign of life
  };
  void listen();
  void find_places();
  void try_next_place(Link& link);
  void accept_previous();
  void move(Link& link, std::int64_t now_ns);
  [[nodiscard]] static std::optional<storage::NetworkAddress> address_of(const Link& link);
  [[nodiscard]] bool prove(Link& link) const;
  static void listen_to(Link& link);
  [[nodiscard]] bool is_silent(const Link& link) const;
  void say_farewell();
  void begin_signs();
  static void give_sign(const Link& link);
  void give_signs(const std::stop_token& stop);

  std::int64_t deadline_ns_;
  std::int64_t interval_ns_;  // between two signs of life
  Address own_;
  std::optional<storage::File> listening_;
  mutable std::mutex mutex_;  // protects the links, once the thread runs
  Link next_;
  Link previous_;
  std::condition_variable_any ending_;
  std::jthread signs_;  // last member: joined before what it uses is destroyed
};

}  // namespace weir::ranks
