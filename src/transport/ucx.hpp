// Bytes of blocks over UCX, from a rank of another node to its stager: the network moves them
// without the kernel (InfiniBand, RoCE), or shared memory does inside a node. Everything else still
// goes over the connection on which the rank has shown that it knows the secret.
//
// clang-format off
//     Attach, Attached      over the connection: addresses of both workers, and a token
//     piece                 over UCX: token, block, what came before, checksum, bytes (UcxPiece)
//     Brought               over the connection: all bytes of the block are there
// clang-format on
//
// What the stager takes is what the state machine lets a rank bring by messages: bytes for a block
// that it was granted, each once. The token says which rank it is.
//
// The stager gives nobody a key to its memory. Pieces are eager active messages: UCX receives them
// into buffers of its own, and the stager copies them. A rendezvous would save that copy, but where
// the sender names no address UCX answers it with a key to the block, which stays valid when
// another program has the block (ucp_rndv_receive() in UCX 1.13). UCX's own TCP is left out, since
// it writes what arrives to any address that the other side names (uct_tcp_ep_handle_put_req()).
//
// UCX is loaded when it is first used, so that a program that does not need it has none, and a Weir
// that was built with UCX runs without. Each object is used by one thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "transport/messages.hpp"
#include "transport/ucx_piece.hpp"

namespace weir::transport {

// Returns the version of UCX that this process can use, such as "1.13". Fails if Weir was built
// without UCX, or if its library is not on this node or has another major version.
[[nodiscard]] Result<std::string> ucx_version();

// A rank's side.
class UcxSender {
 public:
  // Fails if UCX finds nothing on this node that can carry bytes.
  static Result<std::unique_ptr<UcxSender>> open();
  UcxSender(const UcxSender&) = delete;
  UcxSender& operator=(const UcxSender&) = delete;
  virtual ~UcxSender() = default;

  // Returns the address of this worker, for Attach.
  [[nodiscard]] virtual const std::vector<std::byte>& address() const = 0;
  // Connects to the stager. Fails if no transport reaches it.
  virtual Status connect(std::span<const std::byte> stager) = 0;
  // Begins to send a piece. Its bytes have to stay until unsent() is 0.
  virtual Status send(const UcxPiece& piece, std::span<const std::byte> bytes) = 0;
  // Lets UCX go on. Fails if the stager is lost.
  virtual Status progress() = 0;
  // Returns how many pieces UCX has not taken completely.
  [[nodiscard]] virtual std::size_t unsent() const = 0;
  // Called before a wait: returns whether the descriptor becomes readable when there is something
  // for progress() to do. Otherwise there may be now, or soon.
  virtual bool arm() = 0;
  [[nodiscard]] virtual int descriptor() const = 0;

 protected:
  UcxSender() = default;
};

// The stager's side, for all its ranks.
class UcxReceiver {
 public:
  using Client = std::uint64_t;
  // `client` has brought a piece. It may call detach().
  using Take = std::function<void(Client client, const UcxPiece&, std::span<const std::byte>)>;

  static Result<std::unique_ptr<UcxReceiver>> open();
  UcxReceiver(const UcxReceiver&) = delete;
  UcxReceiver& operator=(const UcxReceiver&) = delete;
  virtual ~UcxReceiver() = default;

  [[nodiscard]] virtual const std::vector<std::byte>& address() const = 0;
  // Lets a client, whose worker has this address, bring pieces with the token that is returned.
  virtual Result<Nonce> attach(Client client, std::span<const std::byte> address) = 0;
  // Takes nothing more from the client.
  virtual void detach(Client client) = 0;
  // Takes pieces that have come, up to a number of them. Returns the clients that were lost, which
  // are detached.
  virtual std::vector<Client> progress(const Take& take) = 0;
  // See UcxSender::arm().
  virtual bool arm() = 0;
  [[nodiscard]] virtual int descriptor() const = 0;

 protected:
  UcxReceiver() = default;
};

}  // namespace weir::transport
