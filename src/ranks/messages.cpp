#include "ranks/messages.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "ranks/mpi_error.hpp"
#include "ranks/progress.hpp"

namespace weir::ranks {
namespace {

Error failed(const char* operation, const std::string& why) {
  return Error(ErrorCode::communication,
               fmt::format("{}: {}; the ranks can no longer communicate: close the session",
                           operation, why));
}

Status check_length(const MPI_Status& status, std::int64_t expected) {
  int bytes = 0;
  const int code = MPI_Get_count(&status, MPI_BYTE, &bytes);
  if (code != MPI_SUCCESS) return status_of(code, "MPI_Get_count");
  if (bytes == expected) return {};
  return failed(
      "a message",
      fmt::format("{} bytes arrived from rank {} of its communicator, but {} were expected", bytes,
                  status.MPI_SOURCE, expected));
}

Status check_fits(std::int64_t bytes, const char* operation) {
  if (bytes >= 0 && bytes <= std::numeric_limits<int>::max()) return {};
  return failed(operation, fmt::format("{} bytes do not fit into one message", bytes));
}

}  // namespace

Status status_of(int code, const char* operation) {
  if (code == MPI_SUCCESS) return {};
  return failed(operation, mpi_error_text(code));
}

Result<Place> place_in(MPI_Comm communicator) {
  Place place;
  Status found = status_of(MPI_Comm_rank(communicator, &place.own), "MPI_Comm_rank");
  if (found.ok()) {
    found = status_of(MPI_Comm_size(communicator, &place.ranks), "MPI_Comm_size");
  }
  if (!found.ok()) return found.error();
  return place;
}

Status free_communicator(MPI_Comm& communicator) {
  if (communicator == MPI_COMM_NULL) return {};
  return status_of(MPI_Comm_free(&communicator), "MPI_Comm_free");
}

// Code that is common to all functions that begin an operation.
struct Begin {
  template <typename Call>
  static Status with(Pending& pending, std::int64_t expected, const char* operation, Call call) {
    pending.expected_ = expected;
    Status begun = status_of(call(&pending.request_), operation);
    // After an error MPI may leave anything in the handle.
    if (!begun.ok()) pending.request_ = MPI_REQUEST_NULL;
    return begun;
  }
  static constexpr std::int64_t any = Pending::any_length;
};

Status send(Pending& pending, const void* data, std::int64_t bytes, int to, int tag,
            MPI_Comm communicator) {
  if (Status fits = check_fits(bytes, "MPI_Isend"); !fits.ok()) return fits;
  return Begin::with(pending, Begin::any, "MPI_Isend", [&](MPI_Request* request) {
    return MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, communicator, request);
  });
}

Status send_synchronously(Pending& pending, const void* data, std::int64_t bytes, int to, int tag,
                          MPI_Comm communicator) {
  if (Status fits = check_fits(bytes, "MPI_Issend"); !fits.ok()) return fits;
  return Begin::with(pending, Begin::any, "MPI_Issend", [&](MPI_Request* request) {
    return MPI_Issend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, communicator, request);
  });
}

Status receive(Pending& pending, void* data, std::int64_t bytes, int from, int tag,
               MPI_Comm communicator) {
  if (Status fits = check_fits(bytes, "MPI_Irecv"); !fits.ok()) return fits;
  return Begin::with(pending, bytes, "MPI_Irecv", [&](MPI_Request* request) {
    return MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, communicator, request);
  });
}

Status duplicate(Pending& pending, MPI_Comm communicator, MPI_Comm& made) {
  return Begin::with(pending, Begin::any, "MPI_Comm_idup", [&](MPI_Request* request) {
    return MPI_Comm_idup(communicator, &made, request);
  });
}

Status broadcast(Pending& pending, void* data, std::int64_t bytes, int root,
                 MPI_Comm communicator) {
  if (Status fits = check_fits(bytes, "MPI_Ibcast"); !fits.ok()) return fits;
  return Begin::with(pending, Begin::any, "MPI_Ibcast", [&](MPI_Request* request) {
    return MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, communicator, request);
  });
}

Status reduce_to_all(Pending& pending, const void* mine, void* all, int count, MPI_Datatype type,
                     MPI_Op operation, MPI_Comm communicator) {
  return Begin::with(pending, Begin::any, "MPI_Iallreduce", [&](MPI_Request* request) {
    return MPI_Iallreduce(mine, all, count, type, operation, communicator, request);
  });
}

Status gather_at_all(Pending& pending, const void* mine, int count, void* all, MPI_Datatype type,
                     MPI_Comm communicator) {
  return Begin::with(pending, Begin::any, "MPI_Iallgather", [&](MPI_Request* request) {
    return MPI_Iallgather(mine, count, type, all, count, type, communicator, request);
  });
}

Status gather_at_all(Pending& pending, const void* mine, int count, void* all,
                     std::span<const int> counts, std::span<const int> places, MPI_Datatype type,
                     MPI_Comm communicator) {
  return Begin::with(pending, Begin::any, "MPI_Iallgatherv", [&](MPI_Request* request) {
    return MPI_Iallgatherv(mine, count, type, all, counts.data(), places.data(), type, communicator,
                           request);
  });
}

Status gather_at_first(Pending& pending, const void* mine, int count, void* all, MPI_Datatype type,
                       MPI_Comm communicator) {
  return Begin::with(pending, Begin::any, "MPI_Igather", [&](MPI_Request* request) {
    return MPI_Igather(mine, count, type, all, count, type, 0, communicator, request);
  });
}

Status gather_at_first(Pending& pending, const void* mine, int count, void* all,
                       std::span<const int> counts, std::span<const int> places, MPI_Datatype type,
                       MPI_Comm communicator) {
  return Begin::with(pending, Begin::any, "MPI_Igatherv", [&](MPI_Request* request) {
    return MPI_Igatherv(mine, count, type, all, counts.data(), places.data(), type, 0, communicator,
                        request);
  });
}

Result<bool> test(Pending& pending) {
  if (!pending.is_under_way()) return true;
  int ended = 0;
  MPI_Status status;
  if (Status tested = status_of(MPI_Test(&pending.request_, &ended, &status), "MPI_Test");
      !tested.ok()) {
    return tested.error();
  }
  if (ended == 0) return false;
  if (pending.expected_ != Pending::any_length) {
    if (Status length = check_length(status, pending.expected_); !length.ok()) {
      return length.error();
    }
  }
  return true;
}

Result<bool> probe(MPI_Comm communicator, int tag) {
  int found = 0;
  const Status probed = status_of(
      MPI_Iprobe(MPI_ANY_SOURCE, tag, communicator, &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
  if (!probed.ok()) return probed.error();
  return found != 0;
}

void PendingSet::clear() {
  requests_.clear();
  expected_.clear();
  under_way_ = 0;
}

void PendingSet::add(Pending& pending) {
  requests_.push_back(pending.request_);
  expected_.push_back(pending.expected_);
  pending.request_ = MPI_REQUEST_NULL;
  ++under_way_;
}

Result<std::span<const int>> PendingSet::test_some() {
  if (under_way_ == 0) return std::span<const int>();
  ended_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                ended_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < count; ++i) {
      const int one = statuses_[static_cast<std::size_t>(i)].MPI_ERROR;
      if (one != MPI_SUCCESS && one != MPI_ERR_PENDING)
        return failed("a message", mpi_error_text(one));
    }
  }
  if (code != MPI_SUCCESS) return status_of(code, "MPI_Testsome").error();
  if (count == MPI_UNDEFINED) count = 0;
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<std::size_t>(ended_[static_cast<std::size_t>(i)]);
    if (expected_[number] == Pending::any_length) continue;
    Status length = check_length(statuses_[static_cast<std::size_t>(i)], expected_[number]);
    if (!length.ok()) return length.error();
  }
  under_way_ -= static_cast<std::size_t>(count);
  return std::span<const int>(ended_.data(), static_cast<std::size_t>(count));
}

Status wait_for(Pending& pending, Revocation& revocation, double deadline_seconds, const char* what,
                LifeSigns* life) {
  Status tested;
  const auto has_ended = [&] {
    const Result<bool> ended = test(pending);
    if (!ended) tested = ended.error();
    return !ended || ended.value();
  };
  Status waited = wait_until(has_ended, revocation, deadline_seconds, what, life);
  if (tested.ok()) return waited;
  revocation.revoke(tested.error());
  return tested;
}

Status finish(const Status& begun, Pending& pending, const Meeting& meeting) {
  if (begun.ok()) {
    return wait_for(pending, meeting.revocation, meeting.deadline_seconds, meeting.what,
                    meeting.life);
  }
  meeting.revocation.revoke(begun.error());
  return begun;
}

Status meet(MPI_Comm communicator, Revocation& revocation, double deadline_seconds,
            const char* what) {
  Pending barrier;
  const Status begun = Begin::with(barrier, Begin::any, "MPI_Ibarrier", [&](MPI_Request* request) {
    return MPI_Ibarrier(communicator, request);
  });
  return finish(begun, barrier, {revocation, deadline_seconds, what});
}

bool ends_communication(const Error& error) {
  return error.code == ErrorCode::deadline || error.code == ErrorCode::communication;
}

}  // namespace weir::ranks
