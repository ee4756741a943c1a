#include "ranks/revocation.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "common/cache_line.hpp"
#include "ranks/messages.hpp"

namespace weir::ranks {
namespace {

enum State : std::uint32_t { whole, being_written, revoked };

}  // namespace

struct Revocation::Memory {
  alignas(cache_line_bytes) std::atomic<std::uint32_t> state{whole};
  alignas(cache_line_bytes) ErrorMessage message;
};

struct Revocation::Notices {
  ErrorMessage incoming;
  Pending receiving;
  ErrorMessage outgoing;
  std::vector<Pending> sending;
};

void Revocation::prepare(std::byte* memory) {
  static_assert(sizeof(Memory) <= memory_bytes);
  new (memory) Memory;
}
void Revocation::Freed::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{cache_line_bytes});
}

Revocation::Revocation(std::byte* memory, Nodes nodes, MPI_Comm moving, int rank)
    : memory_(reinterpret_cast<Memory*>(memory)),
      nodes_(std::move(nodes)),
      moving_(moving),
      rank_(rank),
      sends_(nodes_.is_leader) {
  if (nodes_.communicator != MPI_COMM_NULL) notices_ = std::make_unique<Notices>();
}

void Revocation::make_own_memory() {
  own_memory_.reset(
      static_cast<std::byte*>(::operator new (memory_bytes, std::align_val_t{cache_line_bytes})));
  prepare(own_memory_.get());
  memory_ = reinterpret_cast<Memory*>(own_memory_.get());
}

Revocation::Revocation(Local /*local*/, MPI_Comm moving) : moving_(moving) {
  make_own_memory();
  if (const auto place = place_in(moving)) {
    rank_ = place.value().own;
  } else {
    place_told_ = place.error();
  }
}

Revocation::Revocation(MPI_Comm communicator)
    : moving_(communicator), sends_(true), notices_(std::make_unique<Notices>()) {
  make_own_memory();
  nodes_.communicator = communicator;
  nodes_.is_leader = true;
  nodes_.leader_of = [](std::int64_t node) { return static_cast<int>(node); };
  const auto place = place_in(communicator);
  if (!place) {
    place_told_ = place.error();
    revoke(place.error());
    return;
  }
  rank_ = place.value().own;
  nodes_.own = rank_;
  nodes_.count = place.value().ranks;
}

Revocation::~Revocation() {
  if (notices_ == nullptr) return;
  // MPI may still use the memory of messages under way.
  const bool idle = !notices_->receiving.is_under_way() &&
                    std::none_of(notices_->sending.begin(), notices_->sending.end(),
                                 [](const Pending& one) { return one.is_under_way(); });
  if (idle) return;
  [[maybe_unused]] const auto* const kept = notices_.release();
}

bool Revocation::is_revoked() {
  if (memory_->state.load(std::memory_order_acquire) != revoked) return false;
  // A rank that leaves its wait for this reason may never look again.
  send_notices();
  return true;
}

Error Revocation::error() const { return memory_->message.error(); }

void Revocation::revoke(const Error& error) {
  Error named = error;
  if (named.rank < 0) named.rank = rank_;
  if (write(ErrorMessage::of(named))) sends_ = true;
  send_notices();
}

bool Revocation::write(const ErrorMessage& message) {
  std::uint32_t expected = whole;
  if (!memory_->state.compare_exchange_strong(expected, being_written)) return false;
  memory_->message = message;
  memory_->state.store(revoked, std::memory_order_seq_cst);
  if (wake_) wake_();
  return true;
}

void Revocation::look() {
  if (watch_) watch_();
  if (nodes_.communicator != MPI_COMM_NULL && nodes_.is_leader) {
    take_notices();
    send_notices();
  } else if (moving_ != MPI_COMM_NULL) {
    if (Result<bool> found = probe(moving_, MPI_ANY_TAG); !found) revoke(found.error());
  }
}

void Revocation::take_notices() {
  Notices& notices = *notices_;
  if (!notices.receiving.is_under_way()) {
    const Result<bool> found = probe(nodes_.communicator, revocation_tag);
    if (!found) revoke(found.error());
    if (!found || !found.value()) return;
    const Status begun = receive(notices.receiving, &notices.incoming, sizeof(ErrorMessage),
                                 MPI_ANY_SOURCE, revocation_tag, nodes_.communicator);
    if (!begun.ok()) {
      revoke(begun.error());
      return;
    }
  }
  const Result<bool> come = test(notices.receiving);
  if (!come) {
    revoke(come.error());
  } else if (come.value()) {
    write(notices.incoming);
  }
}

std::vector<std::int64_t> Revocation::to_be_told() const {
  if (!place_told_.ok()) {
    // A rank that does not know its own place may send to itself, too, and never receives that. It
    // is alone if the communicator has the same ranks as that of this process alone.
    int like_own = MPI_UNEQUAL;
    const bool compared =
        MPI_Comm_compare(nodes_.communicator, MPI_COMM_SELF, &like_own) == MPI_SUCCESS;
    if (compared && like_own != MPI_UNEQUAL) return {};
    return {0, 1};
  }
  std::vector<std::int64_t> others;
  for (std::int64_t distance = 1; distance < nodes_.count; distance *= 2) {
    others.push_back((nodes_.own + distance) % nodes_.count);
    others.push_back((nodes_.own + nodes_.count - distance) % nodes_.count);
  }
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  return others;
}

void Revocation::send_notices() {
  if (sent_ || !sends_ || nodes_.communicator == MPI_COMM_NULL ||
      memory_->state.load(std::memory_order_acquire) != revoked) {
    return;
  }
  sent_ = true;
  Notices& notices = *notices_;
  notices.outgoing = memory_->message;
  const std::vector<std::int64_t> others = to_be_told();
  // The vector does not move while messages are under way.
  notices.sending.resize(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    // If a message cannot be sent, its receiver may learn of the error in another way, and the
    // session has its error already.
    static_cast<void>(send(notices.sending[i], &notices.outgoing, sizeof(ErrorMessage),
                           nodes_.leader_of(others[i]), revocation_tag, nodes_.communicator)
                          .ok());
  }
}

}  // namespace weir::ranks
