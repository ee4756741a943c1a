// A connection between two processes, which carries frames: messages of any length up to a limit.
// On one node and between processes of one user, each passes at most one open file; over a network,
// none.
//
// clang-format off
//     frame     "WEIF", number of files that it passes, 0 or 1 (4), bytes (4), payload
//     the same, over a network
//               "WEIN", 0 (4), bytes (4), number of frames before it, modulo 2^32 (4),
//               crc32c of the payload (4), crc32c of the 20 bytes before (4), payload
// clang-format on
//
// The checksums of TCP and of a network's hardware let one damaged packet in some millions through,
// and what lies between two nodes may store and change packets. Therefore each frame over a network
// has checksums of its own, and its place in their order. next() fails where something was damaged,
// lost or doubled; nothing of that frame, or behind it, is returned.
//
// Frames arrive complete and in order. A process can send a frame and end at once: what it sent
// still arrives. Neither side blocks inside send() and next(); both wait for a connection with
// wait(), so that other work can go on meanwhile.
//
// On one node, the listener's socket lies in a folder that only its user may enter, and each side
// checks that the other process belongs to the same user. Therefore no other user can connect or
// take the place of the listener. A connection over a network ends if the other side does not
// answer for longest_silence_seconds; for a shorter time, a network may be cut and restored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

struct Frame {
  std::vector<std::byte> payload;
  std::optional<File> passed;
};

class FrameSocket {
 public:
  // Longer frames are refused, by the sender and by the receiver.
  static constexpr std::size_t longest_payload = std::size_t{64} << 20;
  static constexpr std::size_t longest_network_payload = std::size_t{64} << 10;
  static constexpr int longest_silence_seconds = 60;

  // Connects to the listener at `path`. Fails at once if there is none.
  static Result<FrameSocket> connect(const std::string& path);
  // Begins a connection over TCP to "10.0.0.1:4711" or "[fd00::1]:4711". What is sent waits until
  // the connection is there; if it cannot be made, send_rest() or next() fails.
  static Result<FrameSocket> begin_connection(const std::string& address);
  // Takes a connection over TCP.
  static FrameSocket over_network(File file);

  // Lets a connection over a network carry frames as long as those on one node, since the other
  // side is known.
  void trust() { is_trusted_ = true; }
  [[nodiscard]] bool is_network() const { return is_network_; }
  // Returns the path of the socket, or the address of the other side, for people.
  [[nodiscard]] const std::string& name() const { return file_.path(); }
  // Returns the number of frames that the connection has not taken completely.
  [[nodiscard]] std::size_t unsent_frames() const { return unsent_.size(); }

  // Returns the error number with which the connection could not be made; 0: none so far.
  [[nodiscard]] int connecting_error() const;

  // Sends a frame, or keeps what the connection does not take yet for send_rest(). `passed` may be
  // null; the other process gets its open file.
  Status send(std::span<const std::byte> payload, const File* passed = nullptr);
  // Keeps a frame, which is sent together with the next one, or by send_rest().
  Status send_later(std::span<const std::byte> payload, const File* passed = nullptr);
  [[nodiscard]] bool has_rest() const { return !unsent_.empty(); }
  Status send_rest();

  // Returns the next frame that has arrived completely, or nothing. Fails if the other side has
  // closed the connection (`system_error` is ECONNRESET), or with ErrorCode::corrupt if what
  // arrived is no frame or was damaged on the way.
  Result<std::optional<Frame>> next();
  // Waits until something has arrived, or something can be sent if has_rest(), or the time is over.
  void wait(int milliseconds) const;

  [[nodiscard]] int descriptor() const { return file_.descriptor(); }

 private:
  friend class FrameListener;
  struct Unsent {
    std::vector<std::byte> bytes;
    std::size_t sent = 0;
    std::optional<File> passed;
  };

  // Says what stands before a payload.
  struct Head {
    std::size_t bytes = 0;  // of itself
    std::size_t payload_bytes = 0;
    bool passes = false;    // an open file
    std::uint32_t sum = 0;  // of the payload, over a network
  };

  explicit FrameSocket(File file) : file_(std::move(file)) {}
  [[nodiscard]] std::size_t most_bytes() const {
    return is_network_ && !is_trusted_ ? longest_network_payload : longest_payload;
  }
  [[nodiscard]] Status check_user() const;
  [[nodiscard]] std::vector<std::byte> head_of(std::span<const std::byte> payload, bool passes);
  // Returns the head at the beginning of what was received, or nothing if a part of it is missing.
  [[nodiscard]] Result<std::optional<Head>> received_head() const;
  [[nodiscard]] Error damaged(std::string what) const;
  // Takes what has arrived; false: nothing had.
  Result<bool> receive();
  [[nodiscard]] Error lost(int reason) const;

  File file_;
  bool is_network_ = false;
  bool is_trusted_ = false;
  std::uint32_t frames_sent_ = 0;      // modulo 2^32; also those that wait
  std::uint32_t frames_received_ = 0;  // modulo 2^32
  std::deque<Unsent> unsent_;
  std::vector<std::byte> received_;
  std::deque<File> passed_;
};

// The side that others connect to. Only one process at a time listens at a path.
class FrameListener {
 public:
  // Listens at `path`, whose folder is created if it is missing and must belong to this user alone.
  // Fails with ErrorCode::invalid_argument if another process listens there.
  static Result<FrameListener> listen(const std::string& path);
  FrameListener(FrameListener&& other) noexcept;
  FrameListener(const FrameListener&) = delete;
  FrameListener& operator=(FrameListener&&) = delete;
  FrameListener& operator=(const FrameListener&) = delete;
  ~FrameListener();  // removes the socket's name

  // Returns a new connection, or nothing if there is none. Connections of other users are dropped.
  [[nodiscard]] std::optional<FrameSocket> accept() const;
  [[nodiscard]] int descriptor() const { return socket_->descriptor(); }

 private:
  FrameListener(File lock, File socket) : lock_(std::move(lock)), socket_(std::move(socket)) {}

  std::optional<File> lock_;
  std::optional<File> socket_;
};

// Returns the folder for sockets of this user: $XDG_RUNTIME_DIR/weir, or /tmp/weir-UID.
[[nodiscard]] std::string socket_folder();

}  // namespace weir::storage
