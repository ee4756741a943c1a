#include "adapters/takeover/kept_view.hpp"

#include <algorithm>
#include <utility>

namespace weir::takeover {
namespace {

using mpiio::Reason;

// A word on the board is the number of a period and a reason.
constexpr std::int64_t reasons = 64;
static_assert(mpiio::reasons <= reasons);

constexpr const char* waited_for = "the other ranks to set a view of a file";

bool is_predefined(MPI_Datatype datatype) {
  int integers = 0;
  int addresses = 0;
  int datatypes = 0;
  int combiner = MPI_COMBINER_NAMED;
  MPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

MPI_Datatype copied_type(MPI_Datatype datatype) {
  MPI_Datatype copy = datatype;
  if (!is_predefined(datatype)) MPI_Type_dup(datatype, &copy);
  return copy;
}

void free_type(MPI_Datatype& copy) {
  if (!is_predefined(copy)) MPI_Type_free(&copy);
  copy = MPI_BYTE;
}

}  // namespace

KeptArguments::KeptArguments(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype shown,
                             MPI_Info info)
    : displacement_(displacement), element_(copied_type(element)), shown_(copied_type(shown)) {
  if (info != MPI_INFO_NULL) MPI_Info_dup(info, &info_);
}

KeptArguments& KeptArguments::operator=(KeptArguments&& other) noexcept {
  if (this == &other) return *this;
  free();
  displacement_ = other.displacement_;
  element_ = std::exchange(other.element_, MPI_BYTE);
  shown_ = std::exchange(other.shown_, MPI_BYTE);
  info_ = std::exchange(other.info_, MPI_INFO_NULL);
  return *this;
}

void KeptArguments::free() {
  free_type(element_);
  free_type(shown_);
  if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
}

int KeptArguments::set(MPI_File file) const {
  return PMPI_File_set_view(file, displacement_, element_, shown_, "native", info_);
}

bool KeptView::can_keep() {
  if (!number_) number_ = group_.take_number();
  return number_.has_value();
}

void KeptView::begin_period(Reason own) {
  own_ = own;
  is_kept_ = true;
  have_begun_ = false;
  period_ = group_.next_period(*number_);
  group_.board()
      ->word_of(*number_, group_.rank())
      .store(period_ * reasons + static_cast<std::int64_t>(own));
}

void KeptView::keep(KeptArguments view, Reason own) {
  view_ = std::move(view);
  begin_period(own);
}

void KeptView::keep_as_before() { begin_period(Reason::arguments); }

bool KeptView::have_all_begun() const {
  for (int rank = 0; rank < group_.ranks(); ++rank) {
    if (group_.board()->word_of(*number_, rank).load() / reasons < period_) return false;
  }
  return true;
}

bool KeptView::wait_for_all() {
  if (have_begun_) return true;
  const auto begun = [this] { return have_all_begun(); };
  have_begun_ = begun() || group_.board()->wait_until(begun, waited_for).ok();
  if (!have_begun_) return false;
  of_all_ = own_;
  for (int rank = 0; rank < group_.ranks(); ++rank) {
    const std::int64_t word = group_.board()->word_of(*number_, rank).load();
    // A rank that has begun a later period makes no more calls in this one.
    if (word / reasons == period_) of_all_ = std::max(of_all_, static_cast<Reason>(word % reasons));
  }
  return true;
}

Reason KeptView::reason_of_all() { return wait_for_all() ? of_all_ : Reason::failed; }

void KeptView::give() {
  if (!is_kept_) return;
  const auto shared = position();
  is_kept_ = false;
  if (view_.set(file_) == MPI_SUCCESS && shared.value_or(0) > 0) {
    PMPI_File_seek_shared(file_, *shared, MPI_SEEK_SET);
  }
}

MPI_File KeptView::stand_in(bool is_pending) {
  const bool has_view = !stand_ins_.empty() && stands_in_since_ == period_;
  if (!has_view && (stand_ins_.empty() || has_pending_)) {
    constexpr int of_the_first = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE;
    MPI_File opened = MPI_FILE_NULL;
    if (PMPI_File_open(MPI_COMM_SELF, path_.c_str(), mode_ & ~of_the_first, MPI_INFO_NULL,
                       &opened) != MPI_SUCCESS) {
      return MPI_FILE_NULL;
    }
    stand_ins_.push_back(opened);
    has_pending_ = false;
  }
  const MPI_File found = stand_ins_.back();
  if (!has_view) {
    if (view_.set(found) != MPI_SUCCESS) return MPI_FILE_NULL;
    stands_in_since_ = period_;
  }
  has_pending_ = has_pending_ || is_pending;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_File_get_errhandler(file_, &handler) == MPI_SUCCESS) {
    PMPI_File_set_errhandler(found, handler);
    MPI_Errhandler_free(&handler);
  }
  return found;
}

// The pointer on the board is that of the period in which it was used last.
template <typename Act>
bool KeptView::with_pointer(const Act& act) {
  aggregation::NodeBoard::Pointer& pointer = group_.board()->pointer_of(*number_);
  const auto take = [&] {
    std::int64_t free = 0;
    return pointer.is_held.compare_exchange_weak(free, 1);
  };
  if (!take() && !group_.board()->wait_until(take, "the shared file pointer").ok()) return false;
  if (std::exchange(pointer.period, period_) != period_) pointer.position = 0;
  act(pointer.position);
  pointer.is_held.store(0);
  return true;
}

std::optional<MPI_Offset> KeptView::reserve(std::int64_t elements) {
  MPI_Offset at = 0;
  const bool moved = wait_for_all() && with_pointer([&](std::int64_t& position) {
                       at = position;
                       position += elements;
                     });
  return moved ? std::optional(at) : std::nullopt;
}

std::optional<MPI_Offset> KeptView::position() { return reserve(0); }

void KeptView::advance(MPI_Offset at, MPI_Offset next) {
  static_cast<void>(with_pointer([&](std::int64_t& position) {
    if (position == at) position = next;
  }));
}

void KeptView::end() {
  for (MPI_File& one : stand_ins_) PMPI_File_close(&one);
  stand_ins_.clear();
  if (number_) group_.free_number(*number_);
  number_.reset();
  is_kept_ = false;
}

}  // namespace weir::takeover
