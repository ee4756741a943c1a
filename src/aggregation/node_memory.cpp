#include "aggregation/node_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ranks/messages.hpp"
#include "ranks/progress.hpp"
#include "ranks/splitting.hpp"
#include "ranks/waiting.hpp"
#include "system/available_memory.hpp"

namespace weir::aggregation {
namespace {

using storage::DescriptorSocket;
using storage::PassedName;
using storage::SharedMemory;

constexpr const char* waited_for_memory = "the other ranks of the node to share memory";

// Memory to which MPI may write after a missed deadline.
struct Sockets {
  DescriptorSocket::Address own{};
  std::vector<DescriptorSocket::Address> all;
  struct FromFirst {
    DescriptorSocket::Secret secret{};
    bool is_random = false;  // false: no secret, without which any process could pass files
  };
  FromFirst first;
};

// Passes the file to all others. A rank without room soon has room again, since no other rank may
// send to it.
Status pass(const NodeSockets& sockets, const PassedName& name, const storage::File& file,
            ranks::Revocation& opening, double deadline_seconds) {
  for (std::size_t place = 1; place < sockets.addresses.size(); ++place) {
    DescriptorSocket::Sent sent{};
    const auto has_room = [&] {
      sent = sockets.own.send(sockets.addresses[place], sockets.secret, name, file);
      return sent != DescriptorSocket::Sent::no_room;
    };
    Status waited = ranks::wait_until(has_room, opening, deadline_seconds, waited_for_memory);
    if (opening.is_revoked()) return waited;
    if (sent == DescriptorSocket::Sent::yes) continue;
    return memory_cannot_be_passed(static_cast<std::int64_t>(place));
  }
  return {};
}

// Takes the file while the first rank may still be passing it to others.
Result<std::optional<storage::File>> take(MPI_Comm node, const NodeSockets* sockets,
                                          const PassedName& name, ranks::Revocation& opening,
                                          double deadline_seconds) {
  ranks::KeptUntilDone<int> passed;
  ranks::Pending pending;
  const auto give_up = [&](const Error& error) {
    passed.keep_for_good();
    return error;
  };
  if (Status begun = ranks::broadcast(pending, &*passed, sizeof(int), 0, node); !begun.ok()) {
    opening.revoke(begun.error());
    return give_up(begun.error());
  }
  std::optional<storage::File> file;
  Status failed;
  const auto is_told = [&] {
    const Result<bool> tested = ranks::test(pending);
    if (!tested) failed = tested.error();
    while (sockets != nullptr && !file) {
      auto come = sockets->own.receive(sockets->secret);
      if (!come) break;
      if (come->name == name) file = std::move(come->file);
    }
    return !tested || tested.value();
  };
  Status waited = ranks::wait_until(is_told, opening, deadline_seconds, waited_for_memory);
  if (!failed.ok()) {
    opening.revoke(failed.error());
    waited = std::move(failed);
  }
  if (!waited.ok()) return give_up(waited.error());
  if (*passed == 0) return std::optional<storage::File>();
  if (file) return file;
  return memory_has_not_come();
}

}  // namespace

Result<SharedMemory> make_shared_memory(std::int64_t bytes) {
  const std::int64_t available = storage::available_memory_bytes();
  if (bytes <= available) return SharedMemory::create(bytes);
  Error error;
  error.code = ErrorCode::insufficient;
  error.message =
      fmt::format("{} bytes of shared memory are needed and {} are available", bytes, available);
  return error;
}

PassedName name_of_memory(std::uint64_t number) {
  return {.file = number, .user = -1, .write = true, .direct = false, .path = "memory of the node"};
}

Error failed_at_first(const char* what) {
  return Error(ErrorCode::peer, fmt::format("the first rank of the node could not {}", what));
}

Error memory_cannot_be_passed(std::int64_t place) {
  return Error(ErrorCode::unsupported,
               fmt::format("shared memory cannot be passed to rank {} of the node: the ranks may "
                           "have different network namespaces, or no file descriptors left (ulimit "
                           "-n); with ranks_per_node 1 ranks share no memory",
                           place));
}

Error memory_has_not_come() {
  Error error;
  error.code = ErrorCode::unsupported;
  error.message =
      "the shared memory of the first rank of the node did not arrive: there may be too few file "
      "descriptors (ulimit -n); with ranks_per_node 1 ranks share no memory";
  return error;
}

Result<NodeSockets> make_sockets(MPI_Comm node, ranks::Revocation& opening,
                                 double deadline_seconds) {
  const auto found = ranks::place_in(node, opening);
  if (!found) return found.error();
  const auto [place, places] = found.value();
  auto own = DescriptorSocket::create();
  ranks::KeptUntilDone<Sockets> told;
  if (own) told->own = own.value().address();
  told->all.resize(static_cast<std::size_t>(places));
  Status random;
  if (place == 0) {
    const auto secret = storage::new_secret();
    if (secret) told->first = {secret.value(), true};
    if (!secret) random = secret.error();
  }
  constexpr int address_bytes = sizeof(DescriptorSocket::Address);
  ranks::Pending pending;
  const ranks::Meeting meeting{opening, deadline_seconds, waited_for_memory};
  Status done = ranks::finish(
      ranks::gather_at_all(pending, &told->own, address_bytes, told->all.data(), MPI_BYTE, node),
      pending, meeting);
  if (done.ok()) {
    done = ranks::finish(ranks::broadcast(pending, &told->first, sizeof told->first, 0, node),
                         pending, meeting);
  }
  if (!done.ok()) {
    told.keep_for_good();
    return done.error();
  }
  if (!random.ok()) return random.error();
  if (!told->first.is_random) return failed_at_first("find a random number");
  if (!own) return own.error();
  return NodeSockets{std::move(own).value(), std::move(told->all), told->first.secret};
}

Result<SharedMemory> share_memory(MPI_Comm node, const NodeSockets* sockets, std::int64_t bytes,
                                  const NodePart& own, std::uint64_t attempt,
                                  ranks::Revocation& opening, double deadline_seconds) {
  const auto found = ranks::place_in(node, opening);
  if (!found) return found.error();
  const auto [place, places] = found.value();
  Result<SharedMemory> memory = Error();
  if (place == 0) {
    memory = make_shared_memory(bytes);
    Status passed = memory ? Status() : Status(memory.error());
    if (passed.ok() && places > 1 && sockets != nullptr) {
      passed =
          pass(*sockets, name_of_memory(attempt), memory.value().file(), opening, deadline_seconds);
    }
    if (places > 1) {
      ranks::KeptUntilDone<int> code;
      *code = passed.ok() && sockets != nullptr ? 1 : 0;
      ranks::Pending pending;
      Status told = ranks::finish(ranks::broadcast(pending, &*code, sizeof(int), 0, node), pending,
                                  {opening, deadline_seconds, waited_for_memory});
      if (!told.ok()) {
        code.keep_for_good();
        return told.error();
      }
    }
    if (!passed.ok()) return passed.error();
  } else {
    auto taken = take(node, sockets, name_of_memory(attempt), opening, deadline_seconds);
    if (!taken) return taken.error();
    if (!taken.value()) {
      return failed_at_first("make the memory that it shares");
    }
    memory = SharedMemory::map(std::move(*taken.value()), bytes);
  }
  if (memory && own.bytes > 0) {
    if (Status reserved = memory.value().reserve(own.offset, own.bytes); !reserved.ok()) {
      return reserved.error();
    }
  }
  if (memory) memory.value().close_file();
  return memory;
}

}  // namespace weir::aggregation
