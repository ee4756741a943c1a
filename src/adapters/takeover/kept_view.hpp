// The view of a file that the program has set, and that the MPI library has not been given.
//
// MPI_File_set_view makes the ranks of an MPI library wait for each other several times, and
// libraries such as HDF5 call it twice for each array. Weir's own calls need no view of the MPI
// library. So where the session of a file's ranks has a board (aggregation/node_board.hpp), all
// ranks keep their views here, and:
//
//   a collective call that is passed on    all ranks first give the MPI library their views
//   any other call that is passed on, or   the MPI library gets a handle that stands in for the
//   that asks for the view                 program's: this rank alone has opened it, with the view
//
// A period is the time between two views. A rank writes on the board that it has begun a period,
// and why calls in its view cannot be carried out by Weir, and waits for nobody. A rank that makes
// an independent call in a period for the first time waits until all ranks have begun it: then
// none still makes calls in an earlier view. The shared file pointer of a kept view is on the
// board, too, since that of the MPI library counts elements of another view.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/mpiio/reason.hpp"
#include "adapters/takeover/rank_group.hpp"

namespace weir::takeover {

// A datatype and hints that stay what they were when the program frees its own.
class KeptArguments {
 public:
  KeptArguments() = default;
  KeptArguments(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype shown, MPI_Info info);
  KeptArguments(const KeptArguments&) = delete;
  KeptArguments& operator=(const KeptArguments&) = delete;
  KeptArguments(KeptArguments&& other) noexcept { *this = std::move(other); }
  KeptArguments& operator=(KeptArguments&& other) noexcept;
  ~KeptArguments() { free(); }

  // Sets the view of a file of the MPI library; collective if the file is.
  int set(MPI_File file) const;

 private:
  void free();

  MPI_Offset displacement_ = 0;
  MPI_Datatype element_ = MPI_BYTE;
  MPI_Datatype shown_ = MPI_BYTE;
  MPI_Info info_ = MPI_INFO_NULL;
};

class KeptView {
 public:
  // `path` leads to the file, and `mode` is that of its opening.
  KeptView(RankGroup& group, MPI_File file, std::string path, int mode)
      : group_(group), file_(file), path_(std::move(path)), mode_(mode) {}
  KeptView(const KeptView&) = delete;
  KeptView& operator=(const KeptView&) = delete;
  ~KeptView() = default;

  // Called on all ranks alike when a view is set. Returns whether they keep it.
  [[nodiscard]] bool can_keep();
  // Begins a period with this view, in which Weir carries out no calls for the reason `own`.
  void keep(KeptArguments view, mpiio::Reason own);
  // Begins a period in which the view is the one before, since this rank's arguments are wrong.
  void keep_as_before();
  // Returns whether the program's view is here, and the MPI library has another one.
  [[nodiscard]] bool is_kept() const { return is_kept_; }
  // Called when the MPI library has set a view itself.
  void note_set() { is_kept_ = false; }
  // Returns why no rank carries calls in its kept view out; the first call in a period waits for
  // the others.
  [[nodiscard]] mpiio::Reason reason_of_all();
  // Returns the reason of this rank alone.
  [[nodiscard]] mpiio::Reason own_reason() const { return own_; }

  // Collective. Gives the MPI library the view and the shared file pointer.
  void give();
  // Returns the handle for a call of this rank alone in a kept view; MPI_FILE_NULL if the MPI
  // library fails. `is_pending`: the call may return before it has ended.
  [[nodiscard]] MPI_File stand_in(bool is_pending);

  // The shared file pointer of a kept view. Local: moves it by so many elements, and returns where
  // it was; nothing if the others do not come.
  [[nodiscard]] std::optional<MPI_Offset> reserve(std::int64_t elements);
  // Returns where it is. In a call that all ranks make, nobody is waited for.
  [[nodiscard]] std::optional<MPI_Offset> position();
  // Moves it from `at` to `next`, unless another rank has moved it.
  void advance(MPI_Offset at, MPI_Offset next);

  // Collective, before the file is closed.
  void end();

 private:
  void begin_period(mpiio::Reason own);
  [[nodiscard]] bool have_all_begun() const;
  // Waits until all ranks have begun the period. Returns false if they do not.
  [[nodiscard]] bool wait_for_all();
  template <typename Act>
  bool with_pointer(const Act& act);

  RankGroup& group_;
  MPI_File file_;
  std::string path_;
  int mode_;
  std::optional<std::size_t> number_;  // of the file on the board
  bool is_kept_ = false;
  KeptArguments view_;
  std::int64_t period_ = 0;
  bool have_begun_ = false;                      // all ranks, this period
  mpiio::Reason own_ = mpiio::Reason::taken;     // of this rank's view
  mpiio::Reason of_all_ = mpiio::Reason::taken;  // if they have begun
  // Handles that stand in, of which the last one may be used again.
  std::vector<MPI_File> stand_ins_;
  std::int64_t stands_in_since_ = 0;  // the period whose view it has
  bool has_pending_ = false;          // it may have calls that have not ended
};

}  // namespace weir::takeover
