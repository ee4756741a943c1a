// Whether the leaders of neighbouring nodes still run: connections (TCP) on which a thread of each
// leader says so, a byte several times in each deadline, also while the leader computes or is at
// its storage. The thread calls no MPI and sleeps otherwise. So a lost node is noticed without a
// message of MPI or a look by a rank that computes:
//
//   process has ended      its system ends the connection
//   process is stopped     and so is its thread: the system acknowledges what is sent there, and
//                          nothing comes from there for the deadline
//   host or network gone   nothing is acknowledged, and nothing comes for the deadline
//
//   leaders      form a ring by the numbers of their nodes; each connects to the next one, and is
//                connected to by the one before
//   both ends    prove that they belong to the session, by a secret that went by MPI
//   a leader     that leaves the session says so by one byte and closes the connection
//   its end      without that byte means that the process has ended
//
// Where no connection can be made, as firewalls forbid it, or no thread, nothing is known of the
// neighbour, and that is no error: is_watching() tells. Silence counts from the first byte on, and
// only while the thread that listens runs: a job that is stopped as a whole and goes on later loses
// nobody.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/status.hpp"

namespace weir::ranks {

class NeighbourLinks {
 public:
  // Where and how a leader can be reached, as a message.
  struct Address {
    struct Place {
      std::uint32_t family = 0;  // 0: none
      std::uint32_t scope = 0;
      std::array<std::byte, 16> bytes{};
    };
    static constexpr std::size_t most_places = 4;
    std::array<Place, most_places> places{};
    std::array<char, 64> system{};  // processes of one system reach each other without a network
    std::array<char, 64> host{};
    std::array<std::uint8_t, 16> secret{};
    std::int32_t process = 0;
    std::uint32_t port = 0;  // 0: it cannot be reached
  };

  explicit NeighbourLinks(double deadline_seconds);
  NeighbourLinks(const NeighbourLinks&) = delete;
  NeighbourLinks& operator=(const NeighbourLinks&) = delete;
  ~NeighbourLinks();

  [[nodiscard]] const Address& address() const { return own_; }
  // Begins to connect to the next neighbour and to wait for the previous one. In a ring of two
  // these are one process.
  void connect(const Address& next, const Address& previous);
  // Whether both connections are made, or will never be.
  [[nodiscard]] bool is_settled() const;
  // Whether both connections are made, so that a loss of either neighbour will be seen.
  [[nodiscard]] bool is_watching() const;
  // This leader leaves the session in good order.
  void leave();

  enum class Neighbour : std::uint8_t { next, previous };
  struct Loss {
    Neighbour which = Neighbour::next;
    std::string text;  // "(process 17 on host n5) has ended"
  };
  // Moves on what is being made, and tells which neighbour is lost. Returns at once.
  [[nodiscard]] std::optional<Loss> look(std::int64_t now_ns);

 private:
  // An open socket, or none.
  class Socket {
   public:
    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket();
    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

   private:
    int descriptor_ = -1;
  };
  enum class State : std::uint8_t { none, connecting, proving, made, unreachable, ended, unknown };
  struct Link {
    Address neighbour;
    Socket socket;
    State state = State::none;
    std::size_t place = 0;       // of the neighbour's, that is tried
    std::int64_t since_ns = 0;   // when that began
    std::size_t proved = 0;      // bytes of the secret that have come
    bool heard = false;          // a sign of life, once
    std::int64_t silent_ns = 0;  // since the last one
  };
  void listen();
  void find_places();
  void try_next_place(Link& link);
  void accept_previous();
  void move(Link& link, std::int64_t now_ns);
  [[nodiscard]] bool prove(Link& link) const;
  static void listen_to(Link& link);
  [[nodiscard]] bool is_silent(const Link& link) const;
  void say_farewell();
  void begin_signs();
  void give_signs(const std::stop_token& stop);

  std::int64_t deadline_ns_;
  std::int64_t interval_ns_;  // between two signs of life
  Address own_;
  Socket listening_;
  mutable std::mutex mutex_;  // of the links, once the thread runs
  Link next_;
  Link previous_;
  std::condition_variable_any ending_;
  std::jthread signs_;  // last: joined before what it uses is gone
};

}  // namespace weir::ranks
