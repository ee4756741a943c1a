#include "aggregation/node_group.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <limits>
#include <new>

namespace weir::aggregation {
namespace {

constexpr std::int64_t page = 4096;

struct Header {
  alignas(64) std::atomic<std::int64_t> failed_request;
};

std::int64_t round_to_pages(std::int64_t bytes) { return (bytes + page - 1) / page * page; }

// Cores that this process may use.
std::int64_t usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace

NodeGroup::~NodeGroup() {
  if (window_ != MPI_WIN_NULL) {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
}

void NodeGroup::abandon() {
  window_ = MPI_WIN_NULL;
  node_ = MPI_COMM_NULL;
}

Status NodeGroup::create(MPI_Comm world, std::int64_t ranks_per_node, std::int64_t aggregators,
                         std::int64_t buffers, std::int64_t buffer_bytes) {
  buffers_ = buffers;
  buffer_bytes_ = round_to_pages(buffer_bytes);
  if (Status found = find_nodes(world, ranks_per_node, aggregators); !found.ok()) return found;
  return make_window();
}

Status NodeGroup::find_nodes(MPI_Comm world, std::int64_t ranks_per_node,
                             std::int64_t aggregators) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm sharing = MPI_COMM_NULL;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &sharing);
  if (ranks_per_node > 0) {
    int sharing_rank = 0;
    MPI_Comm_rank(sharing, &sharing_rank);
    MPI_Comm_split(sharing, static_cast<int>(sharing_rank / ranks_per_node), sharing_rank, &node_);
    MPI_Comm_free(&sharing);
  } else {
    node_ = sharing;
  }
  int node_rank = 0;
  int node_size = 0;
  MPI_Comm_rank(node_, &node_rank);
  MPI_Comm_size(node_, &node_size);
  ranks_on_node_.resize(static_cast<std::size_t>(node_size));
  MPI_Allgather(&rank, 1, MPI_INT, ranks_on_node_.data(), 1, MPI_INT, node_);

  std::int64_t wanted = aggregators > 0 ? aggregators : usable_cores();
  MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_INT64_T, MPI_MIN, world);
  per_node_ = wanted;
  count_on_node_ = std::min<std::int64_t>(wanted, node_size);
  // Spread over the node's ranks: neighbours in rank often hold neighbours in the file.
  std::vector<int> own;
  for (std::int64_t number = 0; number < count_on_node_; ++number) {
    own.push_back(ranks_on_node_[static_cast<std::size_t>(number * node_size / count_on_node_)]);
  }

  // The nodes' leaders tell each other of their aggregators: a table over nodes, not over ranks.
  MPI_Comm leaders = MPI_COMM_NULL;
  MPI_Comm_split(world, node_rank == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
  std::vector<int> counts;
  int total = 0;
  if (leaders != MPI_COMM_NULL) {
    MPI_Comm_size(leaders, &nodes_);
    counts.resize(static_cast<std::size_t>(nodes_));
    const auto mine = static_cast<int>(own.size());
    MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, leaders);
    std::vector<int> places;
    for (const int count : counts) {
      places.push_back(total);
      total += count;
    }
    aggregator_ranks_.resize(static_cast<std::size_t>(total));
    MPI_Allgatherv(own.data(), mine, MPI_INT, aggregator_ranks_.data(), counts.data(),
                   places.data(), MPI_INT, leaders);
    MPI_Comm_free(&leaders);
  }
  MPI_Bcast(&nodes_, 1, MPI_INT, 0, node_);
  MPI_Bcast(&total, 1, MPI_INT, 0, node_);
  aggregator_ranks_.resize(static_cast<std::size_t>(total));
  MPI_Bcast(aggregator_ranks_.data(), total, MPI_INT, 0, node_);
  first_on_node_ = std::find(aggregator_ranks_.begin(), aggregator_ranks_.end(), own.front()) -
                   aggregator_ranks_.begin();
  const auto mine = std::find(own.begin(), own.end(), rank);
  own_aggregator_ = mine == own.end() ? -1 : first_on_node_ + (mine - own.begin());
  return {};
}

std::int64_t NodeGroup::header_bytes() const {
  return round_to_pages(static_cast<std::int64_t>(sizeof(Header)) +
                        buffers_ * static_cast<std::int64_t>(sizeof(BufferControl)));
}

Status NodeGroup::make_window() {
  const std::int64_t bytes =
      own_aggregator_ >= 0 ? header_bytes() + buffers_ * buffer_bytes_ + page : 0;
  void* base = nullptr;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  // Each part on pages of its own, near the core of its aggregator.
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN);
  const int made =
      MPI_Win_allocate_shared(bytes, 1, info, node_, static_cast<void*>(&base), &window_);
  MPI_Info_free(&info);
  if (made != MPI_SUCCESS) {
    window_ = MPI_WIN_NULL;
    Error error;
    error.code = ErrorCode::insufficient;
    error.message = fmt::format(
        "no shared memory for {} buffers of {} bytes: give smaller ones, or make room "
        "in /dev/shm",
        buffers_, buffer_bytes_);
    return error;
  }
  // One epoch for ever: the protocol's atomics order all accesses.
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  for (std::int64_t number = 0; number < count_on_node_; ++number) {
    const int world_rank = rank_of_aggregator(first_on_node_ + number);
    const auto place = std::find(ranks_on_node_.begin(), ranks_on_node_.end(), world_rank);
    MPI_Aint size = 0;
    int unit = 0;
    void* start = nullptr;
    MPI_Win_shared_query(window_, static_cast<int>(place - ranks_on_node_.begin()), &size, &unit,
                         static_cast<void*>(&start));
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const auto aligned = (address % page == 0) ? 0 : page - address % page;
    segments_.push_back(static_cast<std::byte*>(start) + aligned);
  }
  if (own_aggregator_ >= 0) {
    std::byte* const own = segments_[static_cast<std::size_t>(own_aggregator_ - first_on_node_)];
    new (own) Header{};
    for (std::int64_t number = 0; number < buffers_; ++number) {
      auto* const made_control = new (&control(own_aggregator_, number)) BufferControl{};
      made_control->open.store(-1);
    }
  }
  MPI_Barrier(node_);
  return {};
}

bool NodeGroup::is_on_node(std::int64_t rank) const {
  return rank <= std::numeric_limits<int>::max() &&
         std::binary_search(ranks_on_node_.begin(), ranks_on_node_.end(), static_cast<int>(rank));
}

BufferControl& NodeGroup::control(std::int64_t aggregator, std::int64_t buffer) const {
  std::byte* const segment = segments_[static_cast<std::size_t>(aggregator - first_on_node_)];
  return reinterpret_cast<BufferControl*>(segment + sizeof(Header))[buffer];
}

std::byte* NodeGroup::buffer(std::int64_t aggregator, std::int64_t buffer) const {
  std::byte* const segment = segments_[static_cast<std::size_t>(aggregator - first_on_node_)];
  return segment + header_bytes() + buffer * buffer_bytes_;
}

std::atomic<std::int64_t>& NodeGroup::failed_request() const {
  return reinterpret_cast<Header*>(segments_.front())->failed_request;
}

}  // namespace weir::aggregation
