// The individual file pointer of a file, as calls that are taken over move it.
//
// The MPI library has one, too. It is asked for once, stays behind when calls are taken over, and
// is moved to where the program's is before the MPI library carries out a call that begins there.
// Where several threads may make calls at the same time, the MPI library's is the only one.
#pragma once

#include <mpi.h>

#include <optional>

namespace weir::takeover {

class OwnPointer {
 public:
  OwnPointer(MPI_File file, bool has_threads) : file_(file), is_kept_(!has_threads) {}

  // Returns where the next call begins, in elements of the view; nothing if MPI does not tell.
  [[nodiscard]] std::optional<MPI_Offset> get() { return at_ ? at_ : asked(); }
  // Moves it. `at` is at least 0.
  void set(MPI_Offset at) {
    if (!is_kept_) return move(at);
    at_ = at;
    is_ahead_ = true;
  }
  // Called before the MPI library carries out a call that begins at the pointer or moves it.
  void give();
  // Called when the MPI library gets such calls with another handle from now on, whose view is the
  // present one. The pointer stays where it is.
  void follow(MPI_File file);
  [[nodiscard]] bool is_kept() const { return is_kept_; }

 private:
  void reset();
  [[nodiscard]] std::optional<MPI_Offset> asked();
  void move(MPI_Offset at);

  MPI_File file_;
  bool is_kept_;
  bool is_ahead_ = false;         // the MPI library's pointer is elsewhere
  std::optional<MPI_Offset> at_;  // nothing: the MPI library has it
};

}  // namespace weir::takeover
