#include "ranks/channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "common/cache_line.hpp"
#include "common/clock.hpp"
#include "ranks/progress.hpp"
#include "ranks/waiting.hpp"
#include "ranks/wake_up.hpp"

namespace weir::ranks {
namespace {

constexpr std::int64_t slots = 8;
// Bytes of a text that are sent to the node at a time.
constexpr std::size_t part_bytes = std::size_t{256} << 10U;
// Bytes of a text that are sent to other nodes in one message with the text's length.
constexpr std::size_t first_bytes = 4088;
// Length of the longest message in bytes; MPI takes it as an int.
constexpr std::size_t longest_message = std::size_t{1} << 30U;

// Number of naps between two checks of everything else, in a wait between nodes (which lets MPI
// make progress by itself).
constexpr int naps_per_progress = 16;

std::uint32_t turn_of(std::int64_t number) {
  return static_cast<std::uint32_t>(number / slots + 1);
}

void set_and_wake(std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleepers,
                  std::uint32_t value) {
  // Sequential consistency with sleep_while() ensures that either the sleeper sees the value, or
  // this call sees the sleeper.
  word.store(value, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0) {
    futex_wake(word, std::numeric_limits<int>::max());
  }
}

}  // namespace

struct Channel::Slot {
  alignas(
      cache_line_bytes) std::atomic<std::uint64_t> arrived;  // ranks of the node, over all rounds
  alignas(cache_line_bytes)
      std::atomic<std::uint32_t> gathered;  // turn whose `node` is ready for the first rank
  std::atomic<std::uint32_t> first_sleeps;
  alignas(cache_line_bytes) std::atomic<std::uint32_t> ended;  // turn whose `all` is known
  std::atomic<std::uint32_t> sleepers;
  alignas(cache_line_bytes) Numbers node{};  // combined numbers of the node's ranks
  alignas(cache_line_bytes) Numbers all{};   // combined numbers of all ranks
};

// The part is left uninitialized, since a page of it takes up memory as soon as it is written.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
struct Channel::Text {
  alignas(cache_line_bytes) std::atomic<std::uint32_t> told;  // parts written so far
  std::atomic<std::uint32_t> sleepers;
  alignas(
      cache_line_bytes) std::atomic<std::uint32_t> taken;  // parts read so far, by all the others
  std::atomic<std::uint32_t> teller_sleeps;
  alignas(cache_line_bytes) std::int64_t total = 0;  // bytes of the text
  std::array<char, part_bytes> part;
};

struct Channel::Memory {
  std::array<Slot, slots> slot;
  Text text;
  // The numbers that each place gave follow in memory, slot by slot.
};

struct Channel::Between {
  Between() = default;
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;
  ~Between();

  // Creates `type` and `operation` when called for the first time.
  [[nodiscard]] Status prepare();

  Numbers mine{};
  Numbers all{};
  MPI_Datatype type = MPI_DATATYPE_NULL;  // all numbers of a rank
  MPI_Op operation = MPI_OP_NULL;         // combine()
  // The length of a text is sent together with its beginning, which is the whole of most texts.
  struct Beginning {
    std::int64_t bytes = 0;
    std::array<char, first_bytes> text{};
  } beginning;
  std::string rest;
  Pending pending;
};

Status Channel::Between::prepare() {
  if (operation != MPI_OP_NULL) return {};
  Status made = status_of(MPI_Type_contiguous(static_cast<int>(numbers), MPI_INT64_T, &type),
                          "MPI_Type_contiguous");
  if (made.ok()) made = status_of(MPI_Type_commit(&type), "MPI_Type_commit");
  if (!made.ok()) return made;
  // NOLINTNEXTLINE(readability-non-const-parameter): as MPI_User_function has it
  const auto combine_all = [](void* more, void* both, int* count, MPI_Datatype* /*type*/) {
    for (int i = 0; i < *count; ++i) {
      combine(static_cast<const Numbers*>(more)[i], static_cast<Numbers*>(both)[i]);
    }
  };
  return status_of(MPI_Op_create(combine_all, 1, &operation), "MPI_Op_create");
}

Channel::Between::~Between() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  if (operation != MPI_OP_NULL) MPI_Op_free(&operation);
}

void Channel::combine(const Numbers& more, Numbers& both) {
  for (std::size_t at = 0; at < sum_at; ++at) both.at(at) = std::min(both.at(at), more.at(at));
  // Adds unsigned numbers, whose overflow is defined.
  both[sum_at] = static_cast<std::int64_t>(static_cast<std::uint64_t>(both[sum_at]) +
                                           static_cast<std::uint64_t>(more[sum_at]));
}

std::int64_t Channel::memory_bytes(std::int64_t places) {
  static_assert(sizeof(Memory) % cache_line_bytes == 0 && sizeof(Numbers) % cache_line_bytes == 0);
  return static_cast<std::int64_t>(sizeof(Memory)) +
         slots * places * static_cast<std::int64_t>(sizeof(Numbers));
}

void Channel::prepare(std::byte* memory) { new (memory) Memory; }

Channel::Channel(std::byte* memory, const Place& place, MPI_Comm leaders, Revocation& revocation)
    : memory_(reinterpret_cast<Memory*>(memory)),
      place_(place),
      leaders_(leaders),
      revocation_(&revocation) {
  if (leaders_ != MPI_COMM_NULL) between_ = std::make_unique<Between>();
}

Channel::Channel(MPI_Comm communicator)
    : own_memory_(static_cast<std::byte*>(::operator new (static_cast<std::size_t>(memory_bytes(1)),
                                                          std::align_val_t{cache_line_bytes}))),
      place_({.has_other_nodes = true}),
      leaders_(communicator),
      own_revocation_(std::make_unique<Revocation>(communicator)),
      revocation_(own_revocation_.get()),
      between_(std::make_unique<Between>()) {
  prepare(own_memory_.get());
  memory_ = reinterpret_cast<Memory*>(own_memory_.get());
}

Channel::~Channel() = default;

void Channel::Freed::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{cache_line_bytes});
}

// MPI may still use the memory of the channel's requests that are under way.
void Channel::abandon() { [[maybe_unused]] const auto* const kept = between_.release(); }

Channel::Round::Round(std::int64_t failed, bool asks) : asks_(asks) {
  mine_[0] = failed;
  for (std::size_t which = 0; which < most_compared; ++which) compare(which, 0);
}

void Channel::Round::compare(std::size_t which, std::int64_t number) {
  mine_.at(1 + 2 * which) = number;
  mine_.at(2 + 2 * which) = ~number;
}

void Channel::Round::add(std::int64_t number) { mine_[sum_at] = number; }

bool Channel::Round::is_alike(std::size_t which) const {
  return voted_.at(1 + 2 * which) == ~voted_.at(2 + 2 * which);
}

bool Channel::Round::unanimous(const Numbers& voted) {
  bool alike = voted[0] == nobody;
  for (std::size_t at = 1; at <= 2 * most_compared; at += 2) {
    alike = alike && voted.at(at) == ~voted.at(at + 1);
  }
  return alike;
}

Channel::Slot& Channel::slot_of(const Round& round) const {
  return memory_->slot.at(static_cast<std::size_t>(round.number_ % slots));
}

Channel::Numbers* Channel::given_in(const Round& round) const {
  auto* const given = reinterpret_cast<Numbers*>(memory_ + 1);
  return given + round.number_ % slots * place_.count;
}

void Channel::start(Round& round) {
  round.number_ = started_++;
  round.between_nodes_ = false;
  round.naps_ = 0;
  if (round.number_ - ended_ < slots) {
    arrive(round);
  } else {
    without_slot_.push_back(&round);
  }
}

void Channel::arrive(Round& round) {
  Slot& slot = slot_of(round);
  Numbers* const given = given_in(round);
  given[place_.own] = round.mine_;
  const std::uint64_t last = static_cast<std::uint64_t>(round.number_ / slots + 1) *
                             static_cast<std::uint64_t>(place_.count);
  if (slot.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != last) return;
  slot.node = given[0];
  for (std::int64_t place = 1; place < place_.count; ++place) combine(given[place], slot.node);
  if (place_.has_other_nodes || round.asks_) {
    set_and_wake(slot.gathered, slot.first_sleeps, turn_of(round.number_));
  } else {
    publish(round, slot.node);
  }
}

void Channel::publish(const Round& round, const Numbers& voted) {
  Slot& slot = slot_of(round);
  slot.all = voted;
  set_and_wake(slot.ended, slot.sleepers, turn_of(round.number_));
}

bool Channel::reduce_between_nodes(Round& round) {
  if (revocation_->is_revoked()) return false;
  if (!round.between_nodes_) {
    between_->mine = slot_of(round).node;
    Status begun = between_->prepare();
    if (begun.ok()) {
      begun = reduce_to_all(between_->pending, between_->mine.data(), between_->all.data(), 1,
                            between_->type, between_->operation, leaders_);
    }
    if (!begun.ok()) {
      revocation_->revoke(begun.error());
      return false;
    }
    round.between_nodes_ = true;
  }
  const Result<bool> done = ranks::test(between_->pending);
  if (!done) revocation_->revoke(done.error());
  if (!done || !done.value()) return false;
  round.voted_ = between_->all;
  return true;
}

bool Channel::test_of_first(Round& round) {
  const Slot& slot = slot_of(round);
  if (slot.gathered.load(std::memory_order_acquire) == turn_of(round.number_)) {
    if (!place_.has_other_nodes) {
      round.voted_ = slot.node;
    } else if (!reduce_between_nodes(round)) {
      return false;
    }
    if (!round.is_asked()) publish(round, round.voted_);  // otherwise published with the answer
    return true;
  }
  // Nothing has to be gathered if the result has already been published. (If ranks differ in
  // whether they ask, this rank may sleep on a word that no rank sets, until its nap ends.)
  if (slot.ended.load(std::memory_order_acquire) != turn_of(round.number_)) return false;
  round.voted_ = slot.all;
  return true;
}

bool Channel::test(Round& round) {
  const Slot& slot = slot_of(round);
  if (is_first()) {
    if (!test_of_first(round)) return false;
  } else {
    if (slot.ended.load(std::memory_order_acquire) != turn_of(round.number_)) return false;
    round.voted_ = slot.all;
  }
  ++ended_;
  if (!without_slot_.empty()) {
    Round& next = *without_slot_.front();
    without_slot_.pop_front();
    arrive(next);
  }
  return true;
}

void Channel::nap(Round& round) {
  Slot& slot = slot_of(round);
  const std::int64_t naps_before = round.naps_++;
  if (round.between_nodes_) {
    yield_or_doze(round.naps_);
    if (round.naps_ % naps_per_progress == 0) keep_moving(*revocation_);
    return;
  }
  const bool gathers = is_first() && (place_.has_other_nodes || round.asks_);
  std::atomic<std::uint32_t>& word = gathers ? slot.gathered : slot.ended;
  const std::uint32_t seen = word.load(std::memory_order_acquire);
  if (seen == turn_of(round.number_)) return;
  sleep_while(word, seen, gathers ? slot.first_sleeps : slot.sleepers, naps_before);
}

void Channel::sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value,
                          std::atomic<std::uint32_t>& sleepers, std::int64_t naps_before) const {
  if (changes_soon(word, value, place_.ranks_per_core)) return;
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (word.load(std::memory_order_seq_cst) == value) {
    futex_wait(word, value, nap_ns(place_.ranks_per_core, naps_before));
  }
  sleepers.fetch_sub(1, std::memory_order_relaxed);
  if (word.load(std::memory_order_acquire) == value) keep_moving(*revocation_);
}

Status Channel::wait(Round& round, double deadline_seconds, const char* what) {
  Patience patience(deadline_seconds, life_);
  while (!test(round)) {
    if (revocation_->is_revoked()) return revocation_->error();
    if (!patience.has_time()) return patience.passed(what);
    nap(round);
  }
  return {};
}

Status Channel::wait_until(std::atomic<std::uint32_t>& word, std::uint32_t wanted,
                           std::atomic<std::uint32_t>& sleepers, double deadline_seconds,
                           const char* what) const {
  Patience patience(deadline_seconds, life_);
  std::int64_t naps = 0;
  for (std::uint32_t seen = 0; (seen = word.load(std::memory_order_acquire)) != wanted;) {
    if (revocation_->is_revoked()) return revocation_->error();
    if (!patience.has_time()) return patience.passed(what);
    sleep_while(word, seen, sleepers, naps++);
  }
  return {};
}

Status Channel::share(std::string& text, double deadline_seconds, const char* what) {
  return share(text, nullptr, deadline_seconds, what);
}

Status Channel::answer(const Round& round, std::string& text, double deadline_seconds,
                       const char* what) {
  return share(text, &round, deadline_seconds, what);
}

Status Channel::share(std::string& text, const Round* asked, double deadline_seconds,
                      const char* what) {
  if (leaders_ != MPI_COMM_NULL) {
    if (Status shared = share_between_nodes(text, deadline_seconds, what); !shared.ok()) {
      return shared;
    }
  }
  for (std::size_t at = 0; (at == 0 || at < text.size()) && place_.count > 1; at += part_bytes) {
    Status moved = is_first() ? tell_part(text, at, deadline_seconds, what)
                              : take_part(text, at, deadline_seconds, what);
    if (!moved.ok()) return moved;
    // A rank that sees the round ended also finds the first part.
    if (at == 0 && asked != nullptr && is_first()) publish(*asked, asked->voted_);
  }
  return {};
}

Status Channel::share_between_nodes(std::string& text, double deadline_seconds, const char* what) {
  Between& between = *between_;
  const auto share_part = [&](void* data, std::size_t bytes) {
    return finish(broadcast(between.pending, data, static_cast<std::int64_t>(bytes), 0, leaders_),
                  between.pending, {*revocation_, deadline_seconds, what, life_});
  };
  between.beginning.bytes = static_cast<std::int64_t>(text.size());
  std::copy_n(text.begin(), std::min(text.size(), first_bytes), between.beginning.text.begin());
  if (Status done = share_part(&between.beginning, sizeof(Between::Beginning)); !done.ok()) {
    return done;
  }
  const auto bytes = static_cast<std::size_t>(between.beginning.bytes);
  if (bytes <= first_bytes) {
    text.assign(between.beginning.text.data(), bytes);
    return {};
  }
  between.rest = std::move(text);
  between.rest.resize(bytes);
  std::copy_n(between.beginning.text.begin(), first_bytes, between.rest.begin());
  for (std::size_t sent = first_bytes; sent < bytes; sent += longest_message) {
    const std::size_t part = std::min(longest_message, bytes - sent);
    if (Status done = share_part(between.rest.data() + sent, part); !done.ok()) return done;
  }
  text = std::exchange(between.rest, std::string());
  return {};
}

Status Channel::tell_part(const std::string& text, std::size_t at, double deadline_seconds,
                          const char* what) {
  Text& shared = memory_->text;
  // The count wraps modulo 2^32, like `taken`.
  const auto all_taken = parts_ * static_cast<std::uint32_t>(place_.count - 1);
  if (Status free =
          wait_until(shared.taken, all_taken, shared.teller_sleeps, deadline_seconds, what);
      !free.ok()) {
    return free;
  }
  shared.total = static_cast<std::int64_t>(text.size());
  std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at),
              std::min(part_bytes, text.size() - at), shared.part.begin());
  set_and_wake(shared.told, shared.sleepers, ++parts_);
  return {};
}

Status Channel::take_part(std::string& text, std::size_t at, double deadline_seconds,
                          const char* what) {
  Text& shared = memory_->text;
  if (Status told = wait_until(shared.told, parts_ + 1, shared.sleepers, deadline_seconds, what);
      !told.ok()) {
    return told;
  }
  text.resize(static_cast<std::size_t>(shared.total));
  std::copy_n(shared.part.begin(), std::min(part_bytes, text.size() - at),
              text.begin() + static_cast<std::ptrdiff_t>(at));
  ++parts_;
  const auto all_taken = parts_ * static_cast<std::uint32_t>(place_.count - 1);
  if (shared.taken.fetch_add(1, std::memory_order_seq_cst) + 1 == all_taken &&
      shared.teller_sleeps.load(std::memory_order_seq_cst) != 0) {
    futex_wake(shared.taken, 1);
  }
  return {};
}

}  // namespace weir::ranks
