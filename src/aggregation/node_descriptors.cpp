#include "aggregation/node_descriptors.hpp"

#include <algorithm>
#include <utility>

#include "ranks/progress.hpp"

namespace weir::aggregation {
namespace {

// Limit on files that arrived and were not used, since they occupy descriptors of this process.
constexpr std::size_t most_unasked = 64;
constexpr std::size_t most_remembered = 4096;

class Turn {
 public:
  explicit Turn(std::atomic<std::int32_t>& opener) : opener_(opener) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { opener_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::int32_t>& opener_;
};

}  // namespace

NodeDescriptors::NodeDescriptors(DescriptorBoard& board, NodeSockets sockets,
                                 std::int64_t own_place, ranks::Revocation& revocation,
                                 ranks::LifeSigns& life, double deadline_seconds)
    : board_(board),
      sockets_(std::move(sockets)),
      own_place_(own_place),
      revocation_(revocation),
      life_(life),
      deadline_seconds_(deadline_seconds) {}

void NodeDescriptors::begin_request(Needing needing) {
  needing_ = std::move(needing);
  needs_.clear();
}

bool NodeDescriptors::needs(std::size_t place) {
  if (needs_.size() <= place) needs_.resize(place + 1);
  if (!needs_[place]) needs_[place] = needing_(static_cast<std::int64_t>(place));
  return *needs_[place];
}

Result<storage::File> NodeDescriptors::open(const std::string& path,
                                            const storage::OpenOptions& options,
                                            std::uint64_t file_number, std::int32_t user) {
  const Name name{file_number, user, options.write, options.direct, path};
  // A file is opened again if it was closed because too many were open; other ranks may still have
  // it.
  const bool first = opened_.size() < most_remembered && opened_.insert(name).second;
  if (!needing_ || !first || path.size() > storage::DescriptorSocket::longest_path) {
    return storage::File::open(path, options);
  }
  std::optional<storage::File> come;
  std::int32_t opener = 0;
  const auto may_go_on = [&] {
    opener = 0;
    if (board_.opener.compare_exchange_strong(opener, static_cast<std::int32_t>(own_place_) + 1,
                                              std::memory_order_acquire)) {
      return true;
    }
    come = take(name);
    return come.has_value();
  };
  const Status waited = ranks::wait_until(may_go_on, revocation_, deadline_seconds_,
                                          "a rank of the node to open a file", &life_);
  if (come) return std::move(*come);
  if (!waited.ok()) {
    if (revocation_.is_revoked()) return waited.error();
    // The rank that opens the file has ended, or its file system hangs. This rank may open the
    // file, and others need not wait for that rank again.
    board_.opener.compare_exchange_strong(opener, 0, std::memory_order_relaxed);
    return storage::File::open(path, options);
  }
  const Turn turn(board_.opener);
  come = take(name);
  if (come) return std::move(*come);
  auto file = storage::File::open(path, options);
  if (file) pass(name, file.value());
  return file;
}

std::optional<storage::File> NodeDescriptors::take(const Name& name) {
  collect();
  const auto found =
      std::find_if(come_.begin(), come_.end(), [&](const auto& one) { return one.name == name; });
  if (found == come_.end()) return std::nullopt;
  storage::File file = std::move(found->file);
  come_.erase(found);
  return file;
}

void NodeDescriptors::collect() {
  while (auto one = sockets_.own.receive(sockets_.secret)) {
    if (come_.size() >= most_unasked) come_.erase(come_.begin());
    come_.push_back(std::move(*one));
  }
}

storage::DescriptorSocket::Sent NodeDescriptors::pass_memory(std::uint64_t number,
                                                             const storage::File& file,
                                                             std::int64_t place) {
  return sockets_.own.send(sockets_.addresses[static_cast<std::size_t>(place)], sockets_.secret,
                           name_of_memory(number), file);
}

void NodeDescriptors::tell_of_memory(std::uint64_t number, bool passed) {
  board_.memory.store(2 * number + (passed ? 0 : 1), std::memory_order_release);
}

std::optional<bool> NodeDescriptors::memory_told(std::uint64_t number) const {
  const std::uint64_t told = board_.memory.load(std::memory_order_acquire);
  if (told / 2 < number) return std::nullopt;
  return told % 2 == 0;
}

std::optional<storage::File> NodeDescriptors::take_memory(std::uint64_t number) {
  return take(name_of_memory(number));
}

void NodeDescriptors::pass(const Name& name, storage::File& file) {
  using Sent = storage::DescriptorSocket::Sent;
  for (std::size_t place = 0; place < sockets_.addresses.size(); ++place) {
    storage::DescriptorSocket::Address& address = sockets_.addresses[place];
    if (static_cast<std::int64_t>(place) == own_place_ || address.bytes == 0 || !needs(place)) {
      continue;
    }
    while (file.description() == 0) {
      file.set_description(board_.descriptions.fetch_add(1, std::memory_order_relaxed) + 1);
    }
    const Sent sent = sockets_.own.send(address, sockets_.secret, name, file);
    if (sent == Sent::nobody_there) address.bytes = 0;
    // A rank without room opens further files by itself.
    if (sent == Sent::no_room) needs_[place] = false;
  }
}

storage::SyncedHere NodeDescriptors::begin_sync() {
  ++syncings_;
  return [this](std::uint32_t description) { return sync_is_mine(description); };
}

// If two open files share an entry, both may be made durable twice, but neither is left out.
bool NodeDescriptors::sync_is_mine(std::uint32_t description) const {
  std::atomic<std::uint64_t>& place = board_.synced.at(description % board_.synced.size());
  const std::uint64_t mine = (std::uint64_t{syncings_} << 32U) | description;
  return place.exchange(mine, std::memory_order_acq_rel) != mine;
}

void NodeDescriptors::forget(std::uint64_t file) {
  collect();
  std::erase_if(come_,
                [&](const auto& one) { return one.name.file == file && one.name.user >= 0; });
  std::erase_if(opened_, [&](const Name& one) { return one.file == file; });
}

}  // namespace weir::aggregation
