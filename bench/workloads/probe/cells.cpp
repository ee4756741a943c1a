#include "workloads/probe/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/probe/empty_items.hpp"

namespace weir::bench::probe {
namespace {

constexpr std::int64_t smallest_request = 4 * KiB;
constexpr std::int64_t large_request = MiB;
constexpr std::int64_t large_request_of_many = 256 * KiB;
constexpr std::int64_t message_bytes = MiB;

// Rates at large sizes decide most expectations.
constexpr double large_weight = 3;
constexpr double small_weight = 1;
constexpr double small_weight_of_many = 0.4;
constexpr double cache_weight = 0.5;
constexpr double other_weight = 0.5;
// Ten kinds of operations share this weight.
constexpr double items_weight = 1.5;
constexpr int many_targets = 3;

constexpr std::int64_t most_copied = std::int64_t{1} << 30;
constexpr std::int64_t most_calls = 200'000;
constexpr std::int64_t most_shared_writes = 20'000;
constexpr std::int64_t most_syncs = 1000;
constexpr std::int64_t most_files = 2000;
constexpr std::int64_t most_messages = 50'000;
constexpr std::int64_t most_sent = std::int64_t{4} << 30;
constexpr std::int64_t most_work = std::int64_t{1} << 34;

// Data written to the cache is synced after the trial, so less is written on slow storage.
constexpr double cache_write_sync_seconds = 0.1;

int sum(const std::vector<int>& values) { return std::accumulate(values.begin(), values.end(), 0); }

class Maker {
 public:
  Maker(const Shape& shape, const std::vector<std::string>& directories)
      : shape_(shape),
        directories_(directories),
        counts_(rank_counts(shape.host_ranks)),
        ranks_(sum(shape.host_ranks)),
        hosts_(static_cast<int>(shape.host_ranks.size())) {}

  Cells make() {
    of_processors();
    for (int target = 0; target < static_cast<int>(shape_.targets.size()); ++target) {
      of_target(target);
    }
    of_messages();
    return std::move(made_);
  }

 private:
  void add(const Cell& cell) { made_.cells.push_back(cell); }

  // For operations that need no intermediate number of ranks.
  [[nodiscard]] std::vector<int> one_and_all() const {
    return ranks_ == 1 ? std::vector<int>{1} : std::vector<int>{1, ranks_};
  }

  void of_processors() {
    for (const int ranks : counts_) {
      add({.operation = Operation::memory_copy,
           .ranks = ranks,
           .bytes = shape_.copy_bytes,
           .most_operations = std::max<std::int64_t>(1, most_copied / shape_.copy_bytes),
           .weight = other_weight});
    }
    add({.operation = Operation::run_copy,
         .bytes = copied_run_bytes,
         .most_operations = most_copied / copied_run_bytes,
         .weight = other_weight});
    for (const int ranks : one_and_all()) {
      add({.operation = Operation::busy_work,
           .ranks = ranks,
           .most_operations = most_work,
           .weight = other_weight});
    }
    add({.operation = Operation::barrier,
         .ranks = ranks_,
         .most_operations = most_messages,
         .weight = other_weight});
  }

  void of_target(int target) {
    const TargetShape& what = shape_.targets[static_cast<std::size_t>(target)];
    const bool many = shape_.targets.size() >= many_targets;
    for (const int ranks : one_and_all()) {
      add({.operation = Operation::files,
           .ranks = ranks,
           .target = target,
           .most_operations = most_files,
           .weight = many ? small_weight_of_many : items_weight});
      if (ranks > 1) {
        add({.operation = Operation::shared_files,
             .ranks = ranks,
             .target = target,
             .most_operations = most_files,
             .weight = many ? small_weight_of_many : items_weight});
      }
      if (many && ranks != ranks_) continue;
      if (!many || target == 0) {
        add({.operation = Operation::call,
             .ranks = ranks,
             .bytes = 8,
             .target = target,
             .most_operations = most_calls,
             .weight = other_weight});
        add({.operation = Operation::shared_write,
             .ranks = ranks,
             .bytes = shared_row_bytes,
             .target = target,
             .most_operations = most_shared_writes,
             .weight = other_weight});
      }
      add({.operation = Operation::fsync,
           .ranks = ranks,
           .target = target,
           .most_operations = most_syncs,
           .weight = many ? small_weight_of_many : other_weight});
    }
    for (const std::int64_t bytes : request_sizes(static_cast<int>(shape_.targets.size()))) {
      for (const int ranks : counts_) {
        const bool large = bytes >= (many ? large_request_of_many : large_request);
        const bool intermediate = ranks != 1 && ranks != ranks_;
        // With many targets, small requests only measure the fixed cost, for which one rank
        // suffices.
        if ((intermediate || (many && ranks != 1)) && !large) continue;
        if (!many || target == 0) {
          for (const auto operation : {Operation::cache_write, Operation::cache_read}) {
            if (!intermediate) of_file(target, operation, bytes, ranks);
          }
        }
        for (const auto operation : {Operation::storage_write, Operation::storage_read}) {
          of_file(target, operation, bytes, ranks);
        }
        if (!what.direct) continue;
        for (const auto operation : {Operation::direct_write, Operation::direct_read}) {
          of_file(target, operation, bytes, ranks);
        }
      }
    }
    if (!what.direct) {
      warn(target, "the file system refuses O_DIRECT, so its samples are missing");
    }
  }

  void of_file(int target, Operation operation, std::int64_t bytes, int ranks) {
    const TargetShape& what = shape_.targets[static_cast<std::size_t>(target)];
    const bool cached = operation == Operation::cache_write || operation == Operation::cache_read;
    std::int64_t most_bytes = file_bytes_at(shape_, target, ranks - 1);
    if (operation == Operation::cache_write) {
      const double synced = what.bytes_per_second * cache_write_sync_seconds / ranks;
      most_bytes = std::min(
          most_bytes, std::max({bytes, MiB, static_cast<std::int64_t>(std::min(synced, 1e15))}));
    }
    if (most_bytes < bytes) {
      warn(target, fmt::format("requests of {} KiB by {} ranks are left out: the time, the free "
                               "memory or the free disk is too small for them",
                               bytes / KiB, ranks));
      return;
    }
    const bool many = shape_.targets.size() >= many_targets;
    add({.operation = operation,
         .ranks = ranks,
         .bytes = bytes,
         .target = target,
         .most_bytes = most_bytes,
         .most_operations = most_bytes / bytes,
         .weight = cached                                                    ? cache_weight
                   : bytes >= (many ? large_request_of_many : large_request) ? large_weight
                   : many                                                    ? small_weight_of_many
                                                                             : small_weight});
  }

  void add_messages(int senders, HostPair pair) {
    for (const std::int64_t bytes : {64 * KiB, message_bytes}) {
      // Between hosts the link's rate is measured; the latency gives the fixed cost of a message.
      if (pair.sender != pair.receiver && bytes != message_bytes) continue;
      add({.operation = Operation::bandwidth,
           .ranks = senders,
           .bytes = bytes,
           .sender_host = pair.sender,
           .receiver_host = pair.receiver,
           .most_operations = most_sent / bytes,
           .weight = pair.sender == pair.receiver ? other_weight : large_weight});
    }
  }

  void add_latency(HostPair pair, double weight = other_weight) {
    add({.operation = Operation::latency,
         .ranks = 1,
         .bytes = 8,
         .sender_host = pair.sender,
         .receiver_host = pair.receiver,
         .most_operations = most_messages,
         .weight = weight});
  }

  void of_messages() {
    const auto ranks_of = [this](int host) {
      return shape_.host_ranks[static_cast<std::size_t>(host)];
    };
    if (ranks_of(0) >= 2) {
      add_latency({0, 0});
      add_messages(1, {0, 0});
      if (ranks_of(0) >= 4) add_messages(ranks_of(0) / 2, {0, 0});
    }
    for (const HostPair pair : host_pairs(hosts_, most_linked_hosts)) {
      if (pair.sender < pair.receiver) add_latency(pair);
      add_messages(1, pair);
      const int senders = std::min(ranks_of(pair.sender), ranks_of(pair.receiver));
      if (senders > 1) add_messages(senders, pair);
    }
    // Pairs beside the ring show which hosts are near to each other. All of them together get the
    // time of one figure.
    const std::vector<HostPair> distant = distant_pairs(hosts_, most_paired_hosts);
    for (const HostPair pair : distant) {
      add_latency(pair, other_weight / static_cast<double>(distant.size()));
    }
    if (hosts_ > most_linked_hosts) {
      made_.warnings.push_back(
          fmt::format("links between {} of {} hosts were measured", most_linked_hosts, hosts_));
    }
  }

  void warn(int target, const std::string& what) {
    std::string text = fmt::format("{}: {}", directories_[static_cast<std::size_t>(target)], what);
    const auto& known = made_.warnings;
    if (std::find(known.begin(), known.end(), text) == known.end()) {
      made_.warnings.push_back(std::move(text));
    }
  }

  const Shape& shape_;
  const std::vector<std::string>& directories_;
  std::vector<int> counts_;
  int ranks_;
  int hosts_;
  Cells made_;
};

}  // namespace

std::vector<std::string> sample_names(Operation operation) {
  switch (operation) {
    case Operation::memory_copy:
      return {"memory_copy"};
    case Operation::run_copy:
      return {"run_copy"};
    case Operation::cache_write:
      return {"cache_write"};
    case Operation::cache_read:
      return {"cache_read"};
    case Operation::storage_write:
      return {"storage_write"};
    case Operation::storage_read:
      return {"storage_read"};
    case Operation::direct_write:
      return {"direct_write"};
    case Operation::direct_read:
      return {"direct_read"};
    case Operation::call:
      return {"call"};
    case Operation::shared_write:
      return {"shared_write"};
    case Operation::fsync:
      return {"fsync"};
    case Operation::files:
    case Operation::shared_files: {
      std::vector<std::string> names;
      for (const ItemStep& step : item_steps(operation == Operation::shared_files))
        names.emplace_back(step.name);
      return names;
    }
    case Operation::barrier:
      return {"barrier"};
    case Operation::latency:
      return {"latency"};
    case Operation::bandwidth:
      return {"bandwidth"};
    case Operation::busy_work:
      return {"busy_work"};
  }
  return {};
}

bool makes_items(Operation operation) {
  return operation == Operation::files || operation == Operation::shared_files;
}

bool moves_file(Operation operation) {
  switch (operation) {
    case Operation::cache_write:
    case Operation::cache_read:
    case Operation::storage_write:
    case Operation::storage_read:
    case Operation::direct_write:
    case Operation::direct_read:
      return true;
    default:
      return false;
  }
}

std::vector<std::int64_t> request_sizes(int targets) {
  if (targets >= many_targets) return {smallest_request, large_request_of_many};
  const std::int64_t ratio = targets < 2 ? 4 : 16;
  constexpr std::int64_t largest = 16 * MiB;
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = smallest_request; bytes <= largest; bytes *= ratio) {
    sizes.push_back(bytes);
  }
  return sizes;
}

std::vector<int> rank_counts(const std::vector<int>& host_ranks) {
  const int ranks = sum(host_ranks);
  const int hosts = static_cast<int>(host_ranks.size());
  const int between =
      hosts > 1 ? hosts : static_cast<int>(std::lround(std::sqrt(static_cast<double>(ranks))));
  std::vector<int> counts{1};
  if (between > 1 && between < ranks) counts.push_back(between);
  if (ranks > 1) counts.push_back(ranks);
  return counts;
}

int position_of(const std::vector<int>& host_ranks, int host, int rank_on_host) {
  int before = 0;
  for (int other = 0; other < static_cast<int>(host_ranks.size()); ++other) {
    const int ranks = host_ranks[static_cast<std::size_t>(other)];
    before += std::min(ranks, rank_on_host);
    if (other < host && ranks > rank_on_host) ++before;
  }
  return before;
}

std::int64_t file_bytes_at(const Shape& shape, int target, int position) {
  const int ranks = sum(shape.host_ranks);
  const auto counts = rank_counts(shape.host_ranks);
  const auto fewest = std::upper_bound(counts.begin(), counts.end(), position);
  const std::int64_t file_bytes = shape.targets[static_cast<std::size_t>(target)].file_bytes;
  const int workers = fewest == counts.end() ? ranks : *fewest;
  const std::int64_t wanted = file_bytes * (ranks / workers);
  return std::max(file_bytes, std::min(wanted, shape.largest_file_bytes));
}

std::vector<HostPair> host_pairs(int hosts, int most) {
  const int linked = std::min(hosts, most);
  const auto host_at = [&](int i) {
    return static_cast<int>(static_cast<std::int64_t>(i % linked) * hosts / linked);
  };
  std::vector<HostPair> pairs;
  if (linked < 2) return pairs;
  for (int i = 0; i < (linked == 2 ? 1 : linked); ++i) {
    pairs.push_back({host_at(i), host_at(i + 1)});
    pairs.push_back({host_at(i + 1), host_at(i)});
  }
  return pairs;
}

std::vector<HostPair> distant_pairs(int hosts, int most) {
  std::vector<HostPair> pairs;
  if (hosts > most) return pairs;
  for (int first = 0; first < hosts; ++first) {
    // The first host and the last one are neighbours too.
    const int end = first == 0 ? hosts - 1 : hosts;
    for (int second = first + 2; second < end; ++second) pairs.push_back({first, second});
  }
  return pairs;
}

Cells make_cells(const Shape& shape, const std::vector<std::string>& directories) {
  return Maker(shape, directories).make();
}

}  // namespace weir::bench::probe
