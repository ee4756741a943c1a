// Calls of MPI that SMPI has not, or carries out by messages of all with all, or that are made so
// often that SimGrid 3 takes long for them. The linker directs the library's calls here (--wrap in
// sim/CMakeLists.txt). A blocking call blocks a simulated rank and no other, so that its operation
// has ended when the call returns.
//
// SimGrid 3 keeps all messages that SMPI has buffered in one list, and goes through it whenever one
// of them arrives. Messages of sums, barriers, broadcasts and gathers are therefore synchronous,
// which SMPI does not buffer. They go the ways on which MPI libraries send short ones, and each
// takes its simulated time: binomial trees, recursive doubling, and dissemination for barriers.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "library/simulated_rank.hpp"

namespace {

// No other message of the programs that are simulated has this tag.
constexpr int own_tag = 32'000;

// Data and requests for it are sent on communicators of all ranks, in the order of the world.
void tell_receiver(int to, MPI_Comm communicator) {
  auto& ranks = weir::sim::this_rank().system->ranks;
  int size = 0;
  MPI_Comm_size(communicator, &size);
  if (static_cast<std::size_t>(size) != ranks.size()) return;
  auto* const receiver = ranks[static_cast<std::size_t>(to)];
  if (receiver != nullptr) weir::sim::tell_of_message(*receiver);
}

// Data pass the links of both nodes.
void add_to_links(const weir::sim::SimulatedRank& rank, int to, int bytes) {
  const weir::sim::Description& asked = *rank.system->asked;
  if (asked.messages.bytes_per_second <= 0) return;
  weir::sim::Operations& operations = *rank.system->operations;
  const std::int64_t other = to / asked.ranks_per_node;
  const weir::sim::Machine& machine = operations.machine();
  operations.add_to_link_out_of(rank.number_of_node, bytes,
                                bytes / machine.rate_of_messages(rank.number_of_node));
  operations.add_to_link_into(other, bytes, bytes / machine.rate_of_messages(other));
}

// What is combined by a sum or another operation, element by element.
struct Combined {
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;

  Combined(int elements, MPI_Datatype element, MPI_Op combines, MPI_Comm ranks)
      : count(elements), type(element), operation(combines), communicator(ranks) {
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
  }

  [[nodiscard]] std::size_t bytes() const {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(extent);
  }
  [[nodiscard]] std::vector<std::byte> copy_of(const void* values) const {
    const auto* const first = static_cast<const std::byte*>(values);
    return {first, first + bytes()};
  }
  // Puts what comes from lower ranks before what comes from higher ones.
  void combine(std::vector<std::byte>& mine, std::vector<std::byte>& other, int from) const {
    if (from > rank) {
      MPI_Reduce_local(mine.data(), other.data(), count, type, operation);
      std::swap(mine, other);
    } else {
      MPI_Reduce_local(other.data(), mine.data(), count, type, operation);
    }
  }
};

int send(const Combined& all, const std::vector<std::byte>& mine, int to) {
  return MPI_Ssend(mine.data(), all.count, all.type, to, own_tag, all.communicator);
}

// A message that SMPI has not buffered costs its receiver nothing there.
int receive_message(void* data, int count, MPI_Datatype type, int from, MPI_Comm communicator) {
  const int code = MPI_Recv(data, count, type, from, own_tag, communicator, MPI_STATUS_IGNORE);
  const double seconds = weir::sim::this_rank().system->asked->messages.seconds_each;
  if (seconds > 0) simgrid::s4u::this_actor::sleep_for(seconds);
  return code;
}

int receive(const Combined& all, std::vector<std::byte>& other, int from) {
  return receive_message(other.data(), all.count, all.type, from, all.communicator);
}

// The binomial tree of a communicator. A rank's place is its distance from the root, and the places
// below it are those up to `reach` - 1 after its own, in branches whose widths are powers of two.
struct Tree {
  int root = 0;
  int size = 0;
  int place = 0;
  int reach = 1;

  Tree(int top, MPI_Comm communicator) : root(top) {
    int rank = 0;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    place = (rank - root + size) % size;
    while (reach < size && (place & reach) == 0) reach *= 2;
  }

  [[nodiscard]] int rank_at(int other) const { return (other + root) % size; }
  [[nodiscard]] int above() const { return rank_at(place - reach); }
};

}  // namespace

extern "C" {

int __real_MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag,
                      MPI_Comm communicator, MPI_Request* request);

}  // extern "C"

namespace {

// What the ranks of a communicator that is split tell each other.
struct Splitting {
  struct Rank {
    int color = MPI_UNDEFINED;
    int key = 0;
    MPI_Group group = MPI_GROUP_NULL;
  };
  // A group, and how many of its ranks have no communicator of it yet.
  struct Use {
    MPI_Group group = MPI_GROUP_NULL;
    int left = 0;
  };

  void make_groups(MPI_Comm communicator) {
    std::map<int, std::vector<int>> members;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].color != MPI_UNDEFINED) {
        members[ranks[rank].color].push_back(static_cast<int>(rank));
      }
    }
    const auto key_of = [this](int rank) { return ranks[static_cast<std::size_t>(rank)].key; };
    MPI_Group whole = MPI_GROUP_NULL;
    MPI_Comm_group(communicator, &whole);
    for (auto& [color, own] : members) {
      std::stable_sort(own.begin(), own.end(), [&](int a, int b) { return key_of(a) < key_of(b); });
      MPI_Group group = MPI_GROUP_NULL;
      MPI_Group_incl(whole, static_cast<int>(own.size()), own.data(), &group);
      for (const int rank : own) ranks[static_cast<std::size_t>(rank)].group = group;
      uses[group] = {group, static_cast<int>(own.size())};
    }
    MPI_Group_free(&whole);
  }

  std::vector<Rank> ranks;
  std::map<MPI_Group, Use> uses;
};

int exchange(const Combined& all, const std::vector<std::byte>& mine, std::vector<std::byte>& other,
             int partner) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = __real_MPI_Issend(mine.data(), all.count, all.type, partner, own_tag, all.communicator,
                               &request);
  if (code == MPI_SUCCESS) code = receive(all, other, partner);
  const int sent = MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code == MPI_SUCCESS ? sent : code;
}

}  // namespace

extern "C" {

// Dissemination: in each round a rank tells the rank at twice the distance of the round before that
// it has come, which says the same of all ranks whose messages it has received.
int __wrap_MPI_Barrier(MPI_Comm communicator) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  int code = MPI_SUCCESS;
  for (int distance = 1; distance < size && code == MPI_SUCCESS; distance *= 2) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int next = (rank + distance) % size;
    code = __real_MPI_Issend(nullptr, 0, MPI_BYTE, next, own_tag, communicator, &request);
    if (code != MPI_SUCCESS) return code;
    const int before = (rank - distance + size) % size;
    code = receive_message(nullptr, 0, MPI_BYTE, before, communicator);
    const int sent = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = sent;
  }
  return code;
}

// Data go down a tree from the root, to the largest branch first. A rank has all its messages on
// their way at once, as if MPI had buffered them.
int __wrap_MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  const Tree tree(root, communicator);
  if (tree.place != 0) {
    const int code = receive_message(data, count, type, tree.above(), communicator);
    if (code != MPI_SUCCESS) return code;
  }
  std::vector<MPI_Request> sent;
  for (int distance = tree.reach / 2; distance > 0; distance /= 2) {
    if (tree.place + distance >= tree.size) continue;
    sent.push_back(MPI_REQUEST_NULL);
    const int code = __real_MPI_Issend(data, count, type, tree.rank_at(tree.place + distance),
                                       own_tag, communicator, &sent.back());
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
}

// Values go up a tree to the root, each message with those of a whole branch. The programs use no
// types with gaps. Fails if the values of all ranks are more than MPI counts.
int __wrap_MPI_Gather(const void* mine, int count, MPI_Datatype type, void* all, int all_count,
                      MPI_Datatype all_type, int root, MPI_Comm communicator) {
  const Tree tree(root, communicator);
  const bool is_there = tree.place == 0 && mine == MPI_IN_PLACE;
  int element_bytes = 0;
  MPI_Type_size(is_there ? all_type : type, &element_bytes);
  const std::int64_t each_bytes =
      static_cast<std::int64_t>(is_there ? all_count : count) * element_bytes;
  if (each_bytes > std::numeric_limits<int>::max() / tree.size) return MPI_ERR_COUNT;
  const int each = static_cast<int>(each_bytes);
  const auto bytes = static_cast<std::size_t>(each);
  const int width = std::min(tree.reach, tree.size - tree.place);  // ranks from this one down
  std::vector<std::byte> values(static_cast<std::size_t>(width) * bytes);
  auto* const result = static_cast<std::byte*>(all);
  const auto* const own = is_there ? result + static_cast<std::size_t>(root) * bytes
                                   : static_cast<const std::byte*>(mine);
  std::copy_n(own, bytes, values.begin());
  for (int distance = 1; distance < width; distance *= 2) {
    const int branch = std::min(distance, width - distance);
    const int code =
        receive_message(values.data() + static_cast<std::size_t>(distance) * bytes, branch * each,
                        MPI_BYTE, tree.rank_at(tree.place + distance), communicator);
    if (code != MPI_SUCCESS) return code;
  }
  if (tree.place != 0) {
    return MPI_Ssend(values.data(), width * each, MPI_BYTE, tree.above(), own_tag, communicator);
  }
  for (int place = 0; place < tree.size; ++place) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(place) * each, bytes,
                result + static_cast<std::size_t>(tree.rank_at(place)) * bytes);
  }
  return MPI_SUCCESS;
}

// Ranks exchange the sums of ever larger groups. Where their number is no power of two, some ranks
// give their values to the next one before, and get the result from it afterwards.
int __wrap_MPI_Allreduce(const void* mine, void* result, int count, MPI_Datatype type,
                         MPI_Op operation, MPI_Comm communicator) {
  const Combined all(count, type, operation, communicator);
  std::vector<std::byte> sum = all.copy_of(mine == MPI_IN_PLACE ? result : mine);
  std::vector<std::byte> other(sum.size());
  int width = 1;
  while (2 * width <= all.size) width *= 2;
  const int pairs = all.size - width;  // of the first ranks, each of which acts as one
  const bool gives = all.rank < 2 * pairs && all.rank % 2 == 0;
  int code = MPI_SUCCESS;
  if (gives) {
    code = send(all, sum, all.rank + 1);
    if (code == MPI_SUCCESS) code = receive(all, sum, all.rank + 1);
  } else {
    if (all.rank < 2 * pairs) {
      code = receive(all, other, all.rank - 1);
      all.combine(sum, other, all.rank - 1);
    }
    const int place = all.rank < 2 * pairs ? all.rank / 2 : all.rank - pairs;
    for (int distance = 1; distance < width && code == MPI_SUCCESS; distance *= 2) {
      const int next = place ^ distance;
      const int partner = next < pairs ? 2 * next + 1 : next + pairs;
      code = exchange(all, sum, other, partner);
      all.combine(sum, other, partner);
    }
    if (code == MPI_SUCCESS && all.rank < 2 * pairs) code = send(all, sum, all.rank - 1);
  }
  std::copy(sum.begin(), sum.end(), static_cast<std::byte*>(result));
  return code;
}

// Values go up a tree to the root. All operations of the programs are commutative.
int __wrap_MPI_Reduce(const void* mine, void* result, int count, MPI_Datatype type,
                      MPI_Op operation, int root, MPI_Comm communicator) {
  const Combined all(count, type, operation, communicator);
  std::vector<std::byte> sum = all.copy_of(mine == MPI_IN_PLACE ? result : mine);
  std::vector<std::byte> other(sum.size());
  const Tree tree(root, communicator);
  for (int distance = 1; distance < tree.reach; distance *= 2) {
    if (tree.place + distance >= tree.size) continue;
    const int from = tree.rank_at(tree.place + distance);
    const int code = receive(all, other, from);
    if (code != MPI_SUCCESS) return code;
    all.combine(sum, other, from);
  }
  if (tree.place != 0) return send(all, sum, tree.above());
  std::copy(sum.begin(), sum.end(), static_cast<std::byte*>(result));
  return MPI_SUCCESS;
}

// Rank 0 makes the groups in memory that all simulated ranks have in common. SMPI's own rank 0
// waits for any message of all, and each rank would have a group of its own.
int __wrap_MPI_Comm_split(MPI_Comm communicator, int color, int key, MPI_Comm* made) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  auto own = std::make_shared<Splitting>();
  if (rank == 0) own->ranks.resize(static_cast<std::size_t>(size));
  std::shared_ptr<Splitting>* first = &own;
  __wrap_MPI_Bcast(static_cast<void*>(&first), sizeof(void*), MPI_BYTE, 0, communicator);
  const std::shared_ptr<Splitting> all = *first;
  Splitting::Rank& mine = all->ranks[static_cast<std::size_t>(rank)];
  mine.color = color;
  mine.key = key;
  __wrap_MPI_Barrier(communicator);
  if (rank == 0) all->make_groups(communicator);
  __wrap_MPI_Barrier(communicator);
  *made = MPI_COMM_NULL;
  if (color == MPI_UNDEFINED) return MPI_SUCCESS;
  const int code = MPI_Comm_create_group(communicator, mine.group, own_tag, made);
  Splitting::Use& use = all->uses[mine.group];
  if (--use.left == 0) MPI_Group_free(&use.group);
  return code;
}

int __wrap_MPI_Comm_split_type(MPI_Comm communicator, int type, int key, MPI_Info /*info*/,
                               MPI_Comm* made) {
  const auto node = static_cast<int>(weir::sim::this_rank().number_of_node);
  return __wrap_MPI_Comm_split(communicator, type == MPI_COMM_TYPE_SHARED ? node : MPI_UNDEFINED,
                               key, made);
}

int __wrap_MPI_Comm_idup(MPI_Comm communicator, MPI_Comm* made, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return MPI_Comm_dup(communicator, made);
}

int __wrap_MPI_Ibarrier(MPI_Comm communicator, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Barrier(communicator);
}

int __wrap_MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator,
                      MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Bcast(data, count, type, root, communicator);
}

int __wrap_MPI_Igather(const void* mine, int count, MPI_Datatype type, void* all, int all_count,
                       MPI_Datatype all_type, int root, MPI_Comm communicator,
                       MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Gather(mine, count, type, all, all_count, all_type, root, communicator);
}

int __wrap_MPI_Ireduce(const void* mine, void* result, int count, MPI_Datatype type,
                       MPI_Op operation, int root, MPI_Comm communicator, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Reduce(mine, result, count, type, operation, root, communicator);
}

int __wrap_MPI_Iallreduce(const void* mine, void* all, int count, MPI_Datatype type,
                          MPI_Op operation, MPI_Comm communicator, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Allreduce(mine, all, count, type, operation, communicator);
}

int __wrap_MPI_Iallgather(const void* mine, int count, MPI_Datatype type, void* all, int all_count,
                          MPI_Datatype all_type, MPI_Comm communicator, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return MPI_Allgather(mine, count, type, all, all_count, all_type, communicator);
}

int __wrap_MPI_Iallgatherv(const void* mine, int count, MPI_Datatype type, void* all,
                           const int* counts, const int* places, MPI_Datatype all_type,
                           MPI_Comm communicator, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return MPI_Allgatherv(mine, count, type, all, counts, places, all_type, communicator);
}

// Ranks exchange the sums of ever larger groups: those of the group before a rank's own come to it
// first among all that it has not seen.
int __wrap_MPI_Exscan(const void* mine, void* before, int count, MPI_Datatype type,
                      MPI_Op operation, MPI_Comm communicator) {
  const Combined all(count, type, operation, communicator);
  std::vector<std::byte> group = all.copy_of(mine);  // of all ranks of the group so far
  std::vector<std::byte> other(group.size());
  bool has_any_before = false;
  for (int width = 1; width < all.size; width *= 2) {
    const int partner = all.rank ^ width;
    if (partner >= all.size) continue;
    const int code = exchange(all, group, other, partner);
    if (code != MPI_SUCCESS) return code;
    if (partner < all.rank) {
      if (has_any_before) MPI_Reduce_local(other.data(), before, count, type, operation);
      if (!has_any_before) {
        std::copy(other.begin(), other.end(), static_cast<std::byte*>(before));
      }
      has_any_before = true;
    }
    all.combine(group, other, partner);
  }
  return MPI_SUCCESS;
}

// The root receives one message after the other. SMPI's own root waits for any of all, and then
// looks at each of them, so that the time grows with the cube of the ranks. The others send one
// message at a time: SimGrid 3 goes through a list of all that SMPI has buffered when one arrives.
int __wrap_MPI_Gatherv(const void* mine, int count, MPI_Datatype type, void* all, const int* counts,
                       const int* places, MPI_Datatype all_type, int root, MPI_Comm communicator) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  if (rank != root) return MPI_Ssend(mine, count, type, root, own_tag, communicator);
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(all_type, &lower, &extent);
  int code = MPI_SUCCESS;
  for (int from = 0; from < size && code == MPI_SUCCESS; ++from) {
    auto* const at = static_cast<std::byte*>(all) + places[from] * extent;
    code = from == rank ? MPI_Sendrecv(mine, count, type, rank, own_tag, at, counts[from], all_type,
                                       rank, own_tag, communicator, MPI_STATUS_IGNORE)
                        : MPI_Recv(at, counts[from], all_type, from, own_tag, communicator,
                                   MPI_STATUS_IGNORE);
  }
  return code;
}

int __wrap_MPI_Igatherv(const void* mine, int count, MPI_Datatype type, void* all,
                        const int* counts, const int* places, MPI_Datatype all_type, int root,
                        MPI_Comm communicator, MPI_Request* request) {
  weir::sim::wake_looking(*weir::sim::this_rank().node);
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Gatherv(mine, count, type, all, counts, places, all_type, root, communicator);
}

int __real_MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                     MPI_Comm communicator, MPI_Request* request);
int __wrap_MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                     MPI_Comm communicator, MPI_Request* request) {
  const int sent = __real_MPI_Isend(data, count, type, to, tag, communicator, request);
  tell_receiver(to, communicator);
  return sent;
}

// Messages of data, and no others, are sent so.
int __wrap_MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag,
                      MPI_Comm communicator, MPI_Request* request) {
  weir::sim::SimulatedRank& rank = weir::sim::this_rank();
  if (!rank.aside) {
    ++rank.messages;
    rank.message_bytes += count;
    add_to_links(rank, to, count);
  }
  const int sent = __real_MPI_Issend(data, count, type, to, tag, communicator, request);
  tell_receiver(to, communicator);
  return sent;
}

}  // extern "C"
