// Passes a call on to the MPI library, or lets it be taken over, and counts it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "adapters/mpiio/file_counts.hpp"
#include "adapters/mpiio/handle.hpp"
#include "adapters/mpiio/ordered.hpp"
#include "adapters/mpiio/stopwatch.hpp"
#include "adapters/mpiio/taking.hpp"

namespace weir::mpiio {

inline constexpr int success = 0;  // MPI_SUCCESS

// Returns the function of that name behind this library: that of the MPI library, or of another
// tool that is loaded in between. Ends the process, as ld.so would, if there is none.
void* find_real(const char* name);

// A function behind this library, looked up at its first call. `Signature` is a pointer to it.
template <typename Signature>
class Real {
 public:
  explicit constexpr Real(const char* name) : name_(name) {}
  Signature get() {
    void* found = found_.load(relaxed);
    if (found == nullptr) {
      found = find_real(name_);
      found_.store(found, relaxed);
    }
    return reinterpret_cast<Signature>(found);
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

// True if WEIR_MPIIO_FOLDER requests a record.
inline constinit std::atomic<bool> counting{false};

// Calls that an MPI library or a tool makes inside a call are not counted: MPI_File_open of a
// program that calls PMPI_File_open. The library is loaded with the program, so that the variable
// is found without a call.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local bool inside = false;

// Makes this process the one whose record is written, unless one is: a forked child that goes on
// with the counts of its parent writes no record.
void take_record();

[[nodiscard]] inline bool is_counted() { return counting.load(relaxed) && !inside; }

// Says what a call returned, and how long it took. The period is in ticks; where calls are recorded
// in their order, these are nanoseconds.
struct Passed {
  int result;
  Period period;

  [[nodiscard]] std::int64_t ticks() const { return period.end_ns - period.start_ns; }
};

template <typename Call>
Passed passed(const Call& call) {
  inside = true;
  const std::int64_t start = now_ticks();
  const int result = call();
  const std::int64_t end = now_ticks();
  inside = false;
  return {result, {start, end}};
}

// Returns the size of a datatype; 0 if the MPI library does not tell it.
std::uint64_t bytes_of(Handle datatype);

// Asks MPI once whether several threads may be in calls at the same time.
void ask_for_threads();

// Counts a call on an open file, and calls note(period) if it succeeded and calls are recorded in
// their order.
template <typename Call, typename Note>
int counted_noting(Function function, File file, const Call& call, const Note& note) {
  if (!is_counted()) return call();
  const Passed done = passed(call);
  counts().of_handle(file).add(function, done.result != success, 0, done.ticks());
  if (done.result == success && is_ordering()) note(done.period);
  return done.result;
}

template <typename Call>
int counted(Function function, File file, const Call& call) {
  return counted_noting(function, file, call, [](const Period&) {});
}

// Waits for staged bytes before a call that would meet them, and makes the call, of which `note` is
// that of counted_noting().
template <typename Call, typename Note>
int counted_settling(Function function, File file, Settling settling, Offset size, const Call& call,
                     const Note& note) {
  const auto settle_and_call = [&] {
    TakenFile* const taken = inside ? counts().taken_of(file) : nullptr;
    const int refused = taken != nullptr ? take_over()->settle(taken, settling, size) : success;
    const int result = call();
    return result == success ? refused : result;
  };
  return counted_noting(function, file, settle_and_call, note);
}

// Counts a call that tells the size of a file.
template <typename Call>
int counted_sizing(Function function, File file, Offset* size, const Call& call) {
  return counted(function, file, [&] {
    const int result = call();
    const TakenFile* const taken = inside ? counts().taken_of(file) : nullptr;
    if (result == success && taken != nullptr) *size = take_over()->size_of(taken, *size);
    return result;
  });
}

// Returns the bytes of a transfer that has returned `result`. The size of the datatype is asked
// for after the call, which has checked it: an invalid one might end the program.
inline std::uint64_t bytes_of(const Transfer& transfer, int result) {
  if (result != success || transfer.count <= 0) return 0;
  return static_cast<std::uint64_t>(transfer.count) * bytes_of(transfer.datatype);
}

// Counts a call that moves, or begins to move, elements of a file of which no calls are taken over.
template <typename Call>
int counted_moving(Function function, File file, FileCounts& counts, const Transfer& transfer,
                   const Call& call) {
  const Offset at = is_ordering() ? begin_of(file, transfer) : -1;
  const Passed done = passed(call);
  const bool failed = done.result != success;
  counts.add(function, failed, bytes_of(transfer, done.result), done.ticks());
  if (!failed && is_ordering()) note_transfer(function, file, transfer, at, done.period);
  return done.result;
}

// Counts a call that moves elements, and lets it be taken over if the file is. Calls on such a file
// are not recorded in their order. In this and the functions below, call() uses `file`, which is
// changed where another handle stands in for it.
template <typename Call>
int counted_taking(Function function, File& file, const Transfer& transfer, const Call& call) {
  if (!is_counted()) return call();
  const Counts::Open open = counts().open_file(file);
  if (open.taken == nullptr) return counted_moving(function, file, open.counts, transfer, call);
  Moved moved;
  const Passed done = passed([&] {
    moved = take_over()->move(open.taken, transfer);
    if (moved.reason == Reason::taken) return moved.result;
    file = take_over()->handle(open.taken);
    const int result = call();
    if (transfer.writing && transfer.way == Way::collective) take_over()->passed_on(open.taken);
    return result;
  });
  const std::uint64_t bytes = moved.reason == Reason::taken
                                  ? static_cast<std::uint64_t>(moved.bytes)
                                  : bytes_of(transfer, done.result);
  open.counts.add(function, done.result != success, bytes, done.ticks());
  open.counts.add(function, moved.reason);
  if (moved.reason == Reason::taken) {
    // The MPI library is thought to fail in the same time.
    const Without failed{Without::Basis::own_time};
    open.counts.add(function, moved.result == success ? moved.without : failed, done.ticks());
  }
  if (moved.staged) open.counts.add_staged(function);
  return done.result;
}

// Counts a call about the individual file pointer. Of a file of which calls are taken over,
// known(functions, file) may carry it out, or returns false.
template <typename Call, typename Known>
int counted_pointing(Function function, File& file, const Call& call, const Known& known) {
  TakenFile* const taken = is_counted() ? counts().taken_of(file) : nullptr;
  if (taken == nullptr) return counted(function, file, call);
  FileCounts& counted_file = counts().of_handle(file);
  bool is_done = false;
  const int result = counted(function, file, [&] {
    is_done = known(*take_over(), taken);
    if (is_done) return success;
    file = take_over()->handle(taken);
    return call();
  });
  if (is_done) {
    counted_file.add(function, Reason::taken);
    counted_file.add(function, Without{}, 0);
  }
  return result;
}

// Counts a call that asks for the view of a file.
template <typename Call>
int counted_showing(Function function, File& file, const Call& call) {
  TakenFile* const taken = is_counted() ? counts().taken_of(file) : nullptr;
  return counted(function, file, [&] {
    if (taken != nullptr) file = take_over()->handle(taken);
    return call();
  });
}

// Counts the end of a split collective call, whose beginning was taken over or not.
template <typename Call>
int counted_ending(Function function, File file, bool writing, void* status, const Call& call) {
  TakenFile* const taken = is_counted() ? counts().taken_of(file) : nullptr;
  if (taken == nullptr) return counted(function, file, call);
  bool ended = false;
  const int result = counted(function, file, [&] {
    ended = take_over()->end_split(taken, status);
    if (ended) return success;
    const int passed_on = call();
    if (writing) take_over()->passed_on(taken);
    return passed_on;
  });
  if (ended) {
    FileCounts& counted_file = counts().of_handle(file);
    counted_file.add(function, Reason::taken);
    counted_file.add(function, Without{}, 0);
  }
  return result;
}

template <typename Call>
int counted_opening(Handle communicator, const char* path, int mode, const File* file,
                    const Call& call) {
  if (!is_counted()) return call();
  take_record();
  ask_for_threads();
  FileCounts& opened = counts().file(path);
  Reason reason = Reason::taken;
  const Passed done = passed([&] {
    if (take_over() != nullptr) take_over()->await_closed(path);
    const int result = call();
    const bool is_open = result == success;
    const bool has_room = is_open && counts().set_handle(*file, opened);
    if (is_ordering()) return result;  // calls that are recorded are passed on
    TakenFile* const taken = taken_if_asked(
        {communicator, path, mode, is_open ? *file : 0, result, has_room, true}, reason);
    if (taken != nullptr) counts().set_taken(*file, taken);
    return result;
  });
  opened.add(Function::file_open, done.result != success, 0, done.ticks());
  if (done.result == success && is_ordering()) {
    note_opened(opened, communicator, mode, *file, done.period);
  }
  if (reason != Reason::taken) opened.add(Function::file_open, reason);
  return done.result;
}

// Counts a call that sets the atomic mode of a file.
template <typename Call>
int counted_atomicity(Function function, File file, int on, const Call& call) {
  const auto call_and_set = [&] {
    const int result = call();
    TakenFile* const taken = inside ? counts().taken_of(file) : nullptr;
    if (taken != nullptr) take_over()->set_atomicity(taken, result, on);
    return result;
  };
  return counted_settling(function, file, on != 0 ? Settling::atomicity : Settling::none, 0,
                          call_and_set, [](const Period&) {});
}

// Counts a call that sets a view.
template <typename Call>
int counted_viewing(Function function, File file, const SetView& view, Handle info,
                    const Call& call) {
  // The library that takes over gives views, too, inside a call.
  TakenFile* const taken = is_counted() ? counts().taken_of(file) : nullptr;
  const auto keep_or_set = [&] {
    int result = success;
    if (taken != nullptr && take_over()->keep_view(taken, view, info, result)) return result;
    result = call();
    if (taken != nullptr) {
      take_over()->set_view(taken, result, view.displacement, view.element, view.view,
                            view.representation);
    }
    return result;
  };
  return counted_noting(function, file, keep_or_set, [&](const Period&) { note_view(file, view); });
}

// The handle is forgotten before the call, since another thread may then get the same value.
template <typename Call>
int counted_closing(const File* file, const Call& call) {
  if (!is_counted() || file == nullptr) return call();
  const File handle = *file;
  FileCounts& closed = counts().of_handle(handle);
  TakenFile* const taken = counts().taken_of(handle);
  forget_view(handle);
  counts().forget_handle(handle);
  bool is_closed = false;
  const Passed done = passed([&] {
    const int refused = taken != nullptr ? take_over()->close(taken) : success;
    const int result = call();
    is_closed = result == success;
    return is_closed ? refused : result;
  });
  closed.add(Function::file_close, done.result != success, 0, done.ticks());
  if (!is_closed) counts().set_handle(handle, closed);
  if (is_closed && is_ordering()) note_closed(closed, done.period);
  return done.result;
}

template <typename Call>
int counted_deleting(const char* path, const Call& call) {
  if (!is_counted()) return call();
  take_record();
  FileCounts& deleted = counts().file(path);
  const Passed done = passed([&] {
    if (take_over() != nullptr) take_over()->await_closed(path);
    return call();
  });
  deleted.add(Function::file_delete, done.result != success, 0, done.ticks());
  return done.result;
}

}  // namespace weir::mpiio
