#include "adapters/takeover/rank_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "aggregation/agreement.hpp"
#include "aggregation/call_queue.hpp"
#include "capi/session.hpp"
#include "system/incomplete.hpp"
#include "system/known_file.hpp"

namespace weir::takeover {
namespace {

using Groups = std::vector<std::unique_ptr<RankGroup>>;

// Never destroyed: a program that ends without MPI_Finalize may have ranks that still wait.
Groups& groups() {
  static auto* const all = std::make_unique<Groups>().release();
  return *all;
}

// Returns a communicator of the same ranks; MPI_COMM_NULL if MPI fails. A split copies no
// attributes, so that nothing of the program is called.
MPI_Comm copy_of(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm copy = MPI_COMM_NULL;
  const int done = MPI_Comm_split(communicator, 0, rank, &copy);
  return done == MPI_SUCCESS ? copy : MPI_COMM_NULL;
}

}  // namespace

RankGroup* RankGroup::of(MPI_Comm communicator) {
  for (const auto& group : groups()) {
    int alike = MPI_UNEQUAL;
    MPI_Comm_compare(communicator, group->communicator_, &alike);
    if (alike == MPI_IDENT || alike == MPI_CONGRUENT) return group.get();
  }
  MPI_Comm own = copy_of(communicator);
  if (own == MPI_COMM_NULL) return nullptr;
  groups().push_back(std::make_unique<RankGroup>(own));
  return groups().back().get();
}

std::unique_ptr<RankGroup> RankGroup::copy() const {
  MPI_Comm own = copy_of(communicator_);
  return own == MPI_COMM_NULL ? nullptr : std::make_unique<RankGroup>(own);
}

void RankGroup::free() { MPI_Comm_free(&communicator_); }

void RankGroup::close_all() {
  for (const auto& group : groups()) {
    group->store_handed_over();
    group->board_ = nullptr;
    if (group->session_ != nullptr) weir_session_close(&group->session_);
    group->tried_ = true;
  }
}

RankGroup::RankGroup(MPI_Comm communicator) : communicator_(communicator) {
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &ranks_);
}

int RankGroup::greatest(int number, int most) const {
  const std::array<std::int64_t, 1> mine{number};
  if (const auto all = told_on_board(mine)) return static_cast<int>(std::ranges::max(*all));
  int all = most;
  const int done = MPI_Allreduce(&number, &all, 1, MPI_INT, MPI_MAX, communicator_);
  return done == MPI_SUCCESS ? all : most;
}

void RankGroup::meet() const {
  if (!told_on_board({})) MPI_Barrier(communicator_);
}

std::vector<std::int64_t> RankGroup::gathered(std::span<const std::int64_t> mine) const {
  if (auto told = told_on_board(mine)) return std::move(*told);
  const int each = static_cast<int>(mine.size());
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(ranks_));
  if (MPI_Allgather(mine.data(), each, MPI_INT64_T, all.data(), each, MPI_INT64_T, communicator_) !=
      MPI_SUCCESS) {
    all.clear();
  }
  return all;
}

std::optional<std::vector<std::int64_t>> RankGroup::told_on_board(
    std::span<const std::int64_t> mine) const {
  if (board_ == nullptr) return std::nullopt;
  auto told = board_->gathered(mine);
  if (!told) return std::nullopt;
  return std::move(told).value();
}

std::optional<std::size_t> RankGroup::take_number() {
  const auto free = std::ranges::find(numbers_, false, &Number::is_taken);
  if (board_ == nullptr || free == numbers_.end()) return std::nullopt;
  free->is_taken = true;
  return static_cast<std::size_t>(free - numbers_.begin());
}

aggregation::Collective* RankGroup::session() {
  if (!tried_) {
    tried_ = true;
    if (weir_session_open(communicator_, nullptr, &session_) != WEIR_OK) {
      session_ = nullptr;
      if (rank_ == 0) {
        fmt::print(stderr, "weir: no collective calls of MPI-IO are carried out by Weir: {}\n",
                   weir_last_error());
      }
    } else {
      board_ = session_->collective->board();
    }
  }
  return session_ == nullptr ? nullptr : session_->collective.get();
}

const plan::PlatformRates& RankGroup::rates() const {
  static const plan::PlatformRates estimates;
  return session_ == nullptr ? estimates : session_->platform.rates;
}

void RankGroup::tell_why_not_staged(const char* why) {
  if (!std::exchange(has_told_, true) && rank_ == 0) {
    fmt::print(stderr, "weir: no writes of MPI-IO are handed to a stager: {}\n", why);
  }
}

void RankGroup::note_handed_over(const storage::DataFiles& file) {
  if (handed_over_.size() == most_closed_files) store_handed_over();
  std::erase_if(handed_over_, [&](const HandedOver& one) { return one.file == file; });
  handed_over_.push_back({file});
}

void RankGroup::await_closed(const char* path) {
  int is_over = 0;
  int is_main = 0;
  if (path == nullptr || PMPI_Finalized(&is_over) != MPI_SUCCESS || is_over != 0) return;
  if (PMPI_Is_thread_main(&is_main) != MPI_SUCCESS || is_main == 0) return;
  for (const auto& group : groups()) {
    if (group->process_ != ::getpid() || group->handed_over_.empty()) continue;
    group->await_closed(storage::absolute_path(path));
  }
}

// The file may have several paths. What could not be stored is told at the end.
void RankGroup::await_closed(const std::string& path) {
  const auto identity = storage::identity_of(path);
  const auto is_this = [&](const HandedOver& one) {
    const storage::KnownFile* const known = one.file.known();
    return !one.is_stored && (one.file.path(0) == path ||
                              (identity && known != nullptr && known->identity == *identity));
  };
  if (std::ranges::none_of(handed_over_, is_this) || !session()->drain().ok()) return;
  for (HandedOver& one : handed_over_) one.is_stored = true;
}

void RankGroup::store_handed_over() {
  for (const HandedOver& one : std::exchange(handed_over_, {})) {
    const std::string path = one.file.path(0);
    aggregation::CallQueue::Turn turn(session()->calls(),
                                      aggregation::Call::of("waiting for a closed file"));
    Status stored = turn.entered();
    if (stored.ok()) {
      stored = session()->wait_for_bytes(path);
      turn.end(stored);
    }
    if (stored.ok() || rank_ != 0) continue;
    fmt::print(stderr, "weir: {} was closed, and what a stager had of it is not stored: {}\n",
               storage::printable(path), stored.error().text());
  }
}

bool RankGroup::is_broken() const { return session_ != nullptr && session_->broken(); }

}  // namespace weir::takeover
