// Collective calls of MPI, in memory that all simulated ranks have in common (group.hpp). The
// linker directs the programs' calls here (--wrap in sim/CMakeLists.txt). SMPI would carry them out
// by messages of all with all, or of all to one, whose time grows with the square or the cube of
// the ranks. A call blocks a simulated rank and no other, so that its operation has ended when the
// call returns, also where MPI would return a request.
//
// The programs use no operations that are not commutative.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "library/communicators.hpp"
#include "library/group.hpp"

namespace {

using weir::sim::bytes_of;
using weir::sim::CollectiveCall;
using weir::sim::Group;
using weir::sim::rank_in;
using weir::sim::Seat;
using weir::sim::Tree;

constexpr int nobody = -1;

template <typename Act>
int call(MPI_Comm communicator, const void* mine, void* result, const Act& act) {
  const std::shared_ptr<Group> group = weir::sim::group_of(communicator);
  if (group == nullptr) return MPI_ERR_COMM;
  const int rank = rank_in(communicator);
  group->call(rank, mine == MPI_IN_PLACE ? result : mine, result,
              [&](CollectiveCall& all) { act(all, rank); });
  return MPI_SUCCESS;
}

// Makes a call that ends for nobody before all have come. `act` is called then.
template <typename Act>
int call_together(MPI_Comm communicator, const void* mine, void* result, const Act& act) {
  return call(communicator, mine, result, [&](CollectiveCall& all, int /*rank*/) {
    if (!all.is_complete()) return;
    act(all);
    all.let_all_go();
  });
}

// What is combined by a sum or another operation, element by element.
struct Combined {
  int count;
  MPI_Datatype type;
  MPI_Op operation;

  [[nodiscard]] std::size_t bytes() const { return bytes_of(count, type); }
  // Combines values with those of higher ranks, in whose place the result is.
  void combine(const std::byte* lower, std::byte* higher) const {
    MPI_Reduce_local(lower, higher, count, type, operation);
  }
};

// Ranks exchange the sums of ever larger groups. Where their number is no power of two, some ranks
// give their values to the next one before, and get the result from it afterwards. Sums are made in
// the order in which the ranks would make them.
void reduce_to_all(CollectiveCall& all, const Combined& what) {
  const std::size_t bytes = what.bytes();
  std::vector<std::byte> values(bytes * all.seats().size());
  std::vector<std::byte*> parts;
  for (const Seat& seat : all.seats()) {
    parts.push_back(values.data() + bytes * parts.size());
    std::copy_n(seat.mine, bytes, parts.back());
  }
  int width = 1;
  while (2 * width <= all.size()) width *= 2;
  const int pairs = all.size() - width;  // of the first ranks, each of which acts as one
  const auto bytes_of_each = [&](int /*rank*/) { return static_cast<double>(bytes); };
  const auto is_paired = [&](int rank) { return rank < 2 * pairs; };
  const auto place_of = [&](int rank) { return is_paired(rank) ? rank / 2 : rank - pairs; };
  const auto rank_at = [&](int place) { return place < pairs ? 2 * place + 1 : place + pairs; };
  const auto gives = [&](int rank) { return is_paired(rank) && rank % 2 == 0; };

  if (pairs > 0) {
    all.receive_each([&](int rank) { return is_paired(rank) && !gives(rank) ? rank - 1 : nobody; },
                     bytes_of_each);
  }
  for (int distance = 1; distance < width; distance *= 2) {
    all.receive_each(
        [&](int rank) { return gives(rank) ? nobody : rank_at(place_of(rank) ^ distance); },
        bytes_of_each);
  }
  if (pairs > 0) {
    all.receive_each([&](int rank) { return gives(rank) ? rank + 1 : nobody; }, bytes_of_each);
  }

  const auto combine_neighbours = [&](std::size_t ranks) {
    std::vector<std::byte*> combined;
    for (std::size_t first = 0; first < ranks; first += 2) {
      what.combine(parts[first], parts[first + 1]);
      combined.push_back(parts[first + 1]);
    }
    combined.insert(combined.end(), parts.begin() + static_cast<std::ptrdiff_t>(ranks),
                    parts.end());
    parts = std::move(combined);
  };
  combine_neighbours(2 * static_cast<std::size_t>(pairs));
  while (parts.size() > 1) combine_neighbours(parts.size());
  for (const Seat& seat : all.seats()) std::copy_n(parts.front(), bytes, seat.result);
}

// Data go down a tree, from a place that has them to the largest branch first. The link of a node
// carries one of these messages at a time, and none waits for its receiver.
void hand_down(CollectiveCall& all, const Tree& tree, int from, std::size_t bytes,
               const std::byte* data) {
  std::vector<int> places{from};
  while (!places.empty()) {
    const int place = places.back();
    places.pop_back();
    Seat& seat = all.seat(tree.rank_at(place));
    double sent = seat.seconds;
    for (int distance = tree.reach_of(place) / 2; distance > 0; distance /= 2) {
      if (place + distance >= tree.size) continue;
      const int to = tree.rank_at(place + distance);
      Seat& below = all.seat(to);
      sent += all.seconds_between(tree.rank_at(place), to, bytes);
      below.due = sent;
      if (below.rank == nullptr) continue;
      below.seconds = std::max(below.seconds, below.due) + all.seconds_each();
      std::copy_n(data, bytes, below.result);
      places.push_back(place + distance);
    }
    all.let_go(seat);
  }
}

// Values go up a tree. A rank that has those of all below it adds them to its own by `take`, in the
// order of their places, and leaves once they are on their way; the root leaves after `end`. Other
// ranks run while one is told to go, and may have handed on what this one is about to.
template <typename Take, typename End>
void hand_up(CollectiveCall& all, const Tree& tree, int from, const Take& take, const End& end) {
  for (int place = from;; place = tree.above(place)) {
    Seat& seat = all.seat(tree.rank_at(place));
    if (seat.rank == nullptr || seat.leaves) return;
    const auto for_each_below = [&](const auto& act) {
      for (int distance = 1; distance < tree.reach_of(place); distance *= 2) {
        if (place + distance < tree.size) act(tree.rank_at(place + distance));
      }
    };
    bool all_are_there = true;
    for_each_below([&](int below) { all_are_there = all_are_there && all.seat(below).leaves; });
    if (!all_are_there) return;
    for_each_below([&](int rank) {
      Seat& below = all.seat(rank);
      const double comes =
          below.seconds + all.seconds_between(rank, tree.rank_at(place), below.values.size());
      seat.seconds = std::max(seat.seconds, comes) + all.seconds_each();
      take(seat.values, below.values);
      below.values = {};
    });
    if (place == 0) end(seat);
    all.let_go(seat);
    if (place == 0) return;
  }
}

}  // namespace

extern "C" {

int __wrap_MPI_Barrier(MPI_Comm communicator) {
  return call_together(communicator, nullptr, nullptr,
                       [](CollectiveCall& all) { all.disseminate(0); });
}

int __wrap_MPI_Ibarrier(MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Barrier(communicator);
}

int __wrap_MPI_Allreduce(const void* mine, void* result, int count, MPI_Datatype type,
                         MPI_Op operation, MPI_Comm communicator) {
  const Combined what{count, type, operation};
  return call_together(communicator, mine, result,
                       [&](CollectiveCall& all) { reduce_to_all(all, what); });
}

int __wrap_MPI_Iallreduce(const void* mine, void* all, int count, MPI_Datatype type,
                          MPI_Op operation, MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Allreduce(mine, all, count, type, operation, communicator);
}

// The messages are those of sums, each with the sum of a rank's group so far.
int __wrap_MPI_Exscan(const void* mine, void* before, int count, MPI_Datatype type,
                      MPI_Op operation, MPI_Comm communicator) {
  const Combined what{count, type, operation};
  return call_together(communicator, mine, before, [&](CollectiveCall& all) {
    const std::size_t bytes = what.bytes();
    for (int distance = 1; distance < all.size(); distance *= 2) {
      all.receive_each(
          [&](int rank) { return (rank ^ distance) < all.size() ? rank ^ distance : nobody; },
          [&](int /*rank*/) { return static_cast<double>(bytes); });
    }
    // The result of a rank may be where its own values are.
    std::vector<std::byte> sum(all.seat(0).mine, all.seat(0).mine + bytes);
    for (int rank = 1; rank < all.size(); ++rank) {
      Seat& seat = all.seat(rank);
      std::vector<std::byte> next(seat.mine, seat.mine + bytes);
      std::copy_n(sum.begin(), bytes, seat.result);
      what.combine(sum.data(), next.data());
      sum = std::move(next);
    }
  });
}

int __wrap_MPI_Iexscan(const void* mine, void* before, int count, MPI_Datatype type,
                       MPI_Op operation, MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Exscan(mine, before, count, type, operation, communicator);
}

int __wrap_MPI_Allgatherv(const void* mine, int /*count*/, MPI_Datatype /*type*/, void* all,
                          const int* counts, const int* places, MPI_Datatype all_type,
                          MPI_Comm communicator) {
  const int own = rank_in(communicator);
  const std::size_t element = bytes_of(1, all_type);
  const auto at = [&](int rank) { return static_cast<std::size_t>(places[rank]) * element; };
  const bool is_there = mine == MPI_IN_PLACE;
  const void* const values = is_there ? static_cast<std::byte*>(all) + at(own) : mine;
  return call_together(communicator, values, all, [&](CollectiveCall& each) {
    double bytes = 0;
    for (int rank = 0; rank < each.size(); ++rank) {
      bytes += static_cast<double>(bytes_of(counts[rank], all_type));
    }
    each.disseminate(bytes / each.size());
    for (int rank = 0; rank < each.size(); ++rank) {
      const std::size_t own_bytes = bytes_of(counts[rank], all_type);
      const std::byte* const from = each.seat(rank).mine;
      for (const Seat& seat : each.seats()) {
        if (seat.result + at(rank) != from) std::copy_n(from, own_bytes, seat.result + at(rank));
      }
    }
  });
}

int __wrap_MPI_Allgather(const void* mine, int count, MPI_Datatype type, void* all, int all_count,
                         MPI_Datatype all_type, MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  const std::vector<int> counts(static_cast<std::size_t>(size), all_count);
  std::vector<int> places(counts.size());
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    places[rank] = static_cast<int>(rank) * all_count;
  }
  return __wrap_MPI_Allgatherv(mine, count, type, all, counts.data(), places.data(), all_type,
                               communicator);
}

int __wrap_MPI_Iallgather(const void* mine, int count, MPI_Datatype type, void* all, int all_count,
                          MPI_Datatype all_type, MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Allgather(mine, count, type, all, all_count, all_type, communicator);
}

int __wrap_MPI_Iallgatherv(const void* mine, int count, MPI_Datatype type, void* all,
                           const int* counts, const int* places, MPI_Datatype all_type,
                           MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Allgatherv(mine, count, type, all, counts, places, all_type, communicator);
}

int __wrap_MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  const std::size_t bytes = bytes_of(count, type);
  return call(communicator, data, data, [&](CollectiveCall& all, int rank) {
    const Tree tree{root, all.size()};
    const int place = tree.place_of(rank);
    Seat& own = all.seat(rank);
    // The root may go on before the others have come, so that its data stay in the call.
    std::vector<std::byte>& kept = all.seat(root).values;
    if (place == 0) {
      kept.assign(own.mine, own.mine + bytes);
    } else {
      if (!all.seat(tree.rank_at(tree.above(place))).leaves) return;
      own.seconds = std::max(own.seconds, own.due) + all.seconds_each();
      std::copy_n(kept.begin(), bytes, own.result);
    }
    hand_down(all, tree, place, bytes, kept.data());
  });
}

int __wrap_MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator,
                      MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Bcast(data, count, type, root, communicator);
}

int __wrap_MPI_Reduce(const void* mine, void* result, int count, MPI_Datatype type,
                      MPI_Op operation, int root, MPI_Comm communicator) {
  const Combined what{count, type, operation};
  return call(communicator, mine, result, [&](CollectiveCall& all, int rank) {
    const Tree tree{root, all.size()};
    Seat& own = all.seat(rank);
    own.values.assign(own.mine, own.mine + what.bytes());
    hand_up(
        all, tree, tree.place_of(rank),
        [&](std::vector<std::byte>& values, std::vector<std::byte>& below) {
          what.combine(values.data(), below.data());
          std::swap(values, below);
        },
        [](Seat& top) { std::copy(top.values.begin(), top.values.end(), top.result); });
  });
}

int __wrap_MPI_Ireduce(const void* mine, void* result, int count, MPI_Datatype type,
                       MPI_Op operation, int root, MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Reduce(mine, result, count, type, operation, root, communicator);
}

// Each message has the values of a whole branch. Fails if those of all ranks are more than MPI
// counts.
int __wrap_MPI_Gather(const void* mine, int count, MPI_Datatype type, void* all, int all_count,
                      MPI_Datatype all_type, int root, MPI_Comm communicator) {
  const bool is_there = mine == MPI_IN_PLACE;
  const std::size_t bytes = is_there ? bytes_of(all_count, all_type) : bytes_of(count, type);
  int size = 0;
  MPI_Comm_size(communicator, &size);
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max() / size)) {
    return MPI_ERR_COUNT;
  }
  const void* const values =
      is_there ? static_cast<std::byte*>(all) + static_cast<std::size_t>(root) * bytes : mine;
  return call(communicator, values, all, [&](CollectiveCall& each, int rank) {
    const Tree tree{root, each.size()};
    Seat& own = each.seat(rank);
    own.values.assign(own.mine, own.mine + bytes);
    hand_up(
        each, tree, tree.place_of(rank),
        [](std::vector<std::byte>& some, const std::vector<std::byte>& below) {
          some.insert(some.end(), below.begin(), below.end());
        },
        [&](Seat& top) {
          for (int place = 0; place < tree.size; ++place) {
            std::copy_n(top.values.begin() + static_cast<std::ptrdiff_t>(bytes) * place, bytes,
                        top.result + static_cast<std::size_t>(tree.rank_at(place)) * bytes);
          }
        });
  });
}

int __wrap_MPI_Igather(const void* mine, int count, MPI_Datatype type, void* all, int all_count,
                       MPI_Datatype all_type, int root, MPI_Comm communicator,
                       MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Gather(mine, count, type, all, all_count, all_type, root, communicator);
}

// The root receives one message after the other, in the order of the ranks.
int __wrap_MPI_Gatherv(const void* mine, int count, MPI_Datatype type, void* all,
                       const int* /*counts*/, const int* places, MPI_Datatype all_type, int root,
                       MPI_Comm communicator) {
  return call(communicator, mine, all, [&](CollectiveCall& each, int rank) {
    Seat& own = each.seat(rank);
    own.values.assign(own.mine, own.mine + bytes_of(count, type));
    Seat& top = each.seat(root);
    if (rank == root) {
      for (int from = 0; from < each.size(); ++from) {
        top.places.push_back(bytes_of(places[from], all_type));
      }
    } else {
      each.let_go(own);
    }
    if (!each.is_complete()) return;
    for (int from = 0; from < each.size(); ++from) {
      const Seat& seat = each.seat(from);
      std::copy(seat.values.begin(), seat.values.end(),
                top.result + top.places[static_cast<std::size_t>(from)]);
      if (from == root) continue;
      const double comes = seat.seconds + each.seconds_between(from, root, seat.values.size());
      top.seconds = std::max(top.seconds, comes) + each.seconds_each();
    }
    each.let_go(top);
  });
}

int __wrap_MPI_Igatherv(const void* mine, int count, MPI_Datatype type, void* all,
                        const int* counts, const int* places, MPI_Datatype all_type, int root,
                        MPI_Comm communicator, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Gatherv(mine, count, type, all, counts, places, all_type, root, communicator);
}

}  // extern "C"
