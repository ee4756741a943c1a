// A probe measures cells: one for each operation, size, number of ranks and place. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::bench::probe {

inline constexpr std::int64_t KiB = 1024;
inline constexpr std::int64_t MiB = 1024 * KiB;

inline constexpr std::int64_t copied_run_bytes = 64;
// Size of a row of the file that the ranks of a host write together.
inline constexpr std::int64_t shared_row_bytes = 512;

// The operations that python/weir/results/probe.py names and explains. `files` and `shared_files`
// are the steps of empty_items.hpp, in a directory of each rank and in one of all ranks.
enum class Operation {
  memory_copy,
  run_copy,
  cache_write,
  cache_read,
  storage_write,
  storage_read,
  direct_write,
  direct_read,
  call,
  shared_write,
  fsync,
  files,
  shared_files,
  barrier,
  latency,
  bandwidth,
  busy_work,
};

// Returns the names of an operation's samples, in the order of its trial's times.
[[nodiscard]] std::vector<std::string> sample_names(Operation operation);
// Returns whether the operation moves the bytes of a test file.
[[nodiscard]] bool moves_file(Operation operation);
// Returns whether the operation's samples are the steps on empty files and directories.
[[nodiscard]] bool makes_items(Operation operation);

struct Cell {
  Operation operation = Operation::barrier;
  int ranks = 1;           // ranks that work at the same time; for messages, the senders
  std::int64_t bytes = 0;  // of one operation of one rank
  int target = -1;         // for operations on files
  int sender_host = -1;    // for messages
  int receiver_host = -1;
  // Limit for one rank in a trial, including the lead-in, for operations that move bytes.
  std::int64_t most_bytes = 0;
  std::int64_t most_operations = 1;  // limit for one rank in a trial
  double weight = 1;                 // of the cell's time
};

// A target as the preparation of its test files found it.
struct TargetShape {
  bool direct = true;           // the file system accepts O_DIRECT
  std::int64_t file_bytes = 0;  // of a rank's file if all ranks work
  double bytes_per_second = 0;  // of all ranks together, written and synced
};

struct Shape {
  std::vector<int> host_ranks;  // ranks of each host
  std::vector<TargetShape> targets;
  std::int64_t largest_file_bytes = 0;  // of one rank
  std::int64_t copy_bytes = 0;          // of one memory copy
};

// Returns request sizes from 4 KiB to 16 MiB in equal ratios. For three or more targets it returns
// a small and a large size; the large one still shows bursts of slow devices in short trials.
[[nodiscard]] std::vector<std::int64_t> request_sizes(int targets);

// Returns the numbers of ranks that work at the same time, in ascending order: one, one on each
// host (on a single host the geometric mean), all.
[[nodiscard]] std::vector<int> rank_counts(const std::vector<int>& host_ranks);

// Returns a rank's position in the order in which ranks take part, 0 ≤ position < ranks. The order
// alternates between the hosts, so that the first ranks are on different hosts.
[[nodiscard]] int position_of(const std::vector<int>& host_ranks, int host, int rank_on_host);

// Returns the bytes of the test file of the rank at `position`. With fewer active ranks each moves
// more, so that a trial takes the same time.
[[nodiscard]] std::int64_t file_bytes_at(const Shape& shape, int target, int position);

// Returns the sender and the receiver of each pair of hosts whose link is measured: every host with
// its neighbours on a ring, in both directions, so that a slow link shows on any host. At most
// `most` hosts, spread evenly.
struct HostPair {
  int sender = 0;
  int receiver = 0;
};
[[nodiscard]] std::vector<HostPair> host_pairs(int hosts, int most);
inline constexpr int most_linked_hosts = 32;

// Returns the pairs of hosts that are no neighbours on the ring; none if there are more than `most`
// hosts.
[[nodiscard]] std::vector<HostPair> distant_pairs(int hosts, int most);
inline constexpr int most_paired_hosts = 8;

// All cells, with the sizes of one operation in ascending order. Cells for which a target's files
// are too small, or that need O_DIRECT on a target that rejects it, are omitted and listed in
// `warnings`, which names targets by their number.
struct Cells {
  std::vector<Cell> cells;
  std::vector<std::string> warnings;
};
[[nodiscard]] Cells make_cells(const Shape& shape, const std::vector<std::string>& directories);

}  // namespace weir::bench::probe
