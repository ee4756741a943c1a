// A small pool of threads that receive what ranks of other nodes send, so that the bytes of several
// ranks are read and copied at the same time. What becomes of them is decided by the thread of the
// state machine alone:
//
// clang-format off
//     state machine                     receiver
//     Trust ─► add()  ───────────────►  waits until something comes from one of its clients
//                                       reads messages of one client, up to a run of BlockBytes
//     take(), decides  ◄──────────────  a batch, for which it waits
//     answer() with places ──────────►  copies the bytes of BlockBytes to their places; goes on
// clang-format on
//
// A block changes hands only by a later message of the same client, which is not handled before the
// bytes that came before it are in their places, or by the end of the client's connection, for
// which remove() waits until nothing of the client is being copied. Therefore no bytes come into a
// block that belongs to somebody else by then.
//
// Each receiver has one batch at a time, of a few messages and a quarter of a block, so that the
// memory for what has not found its place is bounded whatever the number of clients is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "common/status.hpp"
#include "stager/events.hpp"
#include "stager/mailbox.hpp"
#include "system/frame_socket.hpp"

namespace weir::stager {

class Receiver;

// Says what has come from a client.
struct ReceivedBatch {
  struct Copy {
    std::span<const std::byte> bytes;  // of one of the events
    std::byte* to = nullptr;
  };

  ClientId client = 0;
  std::vector<Event> events;  // each is a Received; BlockBytes are the last ones
  // Why nothing more comes from the client behind the events; ok: more may come. ErrorCode::io: the
  // connection has ended; any other one: what came cannot be read.
  Status end;
  std::vector<Copy> copies;  // the answer
  Receiver* receiver = nullptr;
};

class Receivers {
 public:
  // Fails if the system has no more descriptors. `threads` >= 1.
  static Result<std::unique_ptr<Receivers>> open(int threads);
  Receivers(const Receivers&) = delete;
  Receivers& operator=(const Receivers&) = delete;
  ~Receivers();  // batches that wait are given up

  // Receives from this client from now on: nobody else may call next() of its socket any more, but
  // it may be sent to.
  [[nodiscard]] Status add(ClientId client, std::shared_ptr<storage::FrameSocket> socket);
  // Nothing of the client is received or copied any more when this returns.
  void remove(ClientId client);
  [[nodiscard]] bool contains(ClientId client) const { return receivers_.contains(client); }

  // Is readable when batches wait.
  [[nodiscard]] int descriptor() const { return batches_->descriptor(); }
  [[nodiscard]] std::vector<ReceivedBatch*> take() { return batches_->take(); }
  // Lets the receiver copy, and go on. The batch may not be used any more.
  static void answer(ReceivedBatch* batch);

 private:
  explicit Receivers(std::unique_ptr<Mailbox<ReceivedBatch*>> batches);

  std::unique_ptr<Mailbox<ReceivedBatch*>> batches_;
  std::vector<std::unique_ptr<Receiver>> threads_;
  std::map<ClientId, Receiver*> receivers_;
};

}  // namespace weir::stager
