// Did the bytes come from storage, or from memory? A verdict with its evidence. Pure.
//
// Evidence is ranked, because it may disagree. The strongest that says anything decides:
//
//   1. the file system keeps its files in memory (tmpfs): there is no storage to reach
//   2. direct I/O: the page cache was bypassed
//   3. reads: the fraction of the pages that were resident before reading
//      writes: a durable sync inside the timed part
//   4. counters of the block device, which other processes share
//   5. the rate against the rate of a memory copy
//
// 2 and 3 cannot say that storage was reached where the file system has a cache of its own (GPFS,
// ZFS and others: environment.hpp). Weaker evidence that disagrees is kept and says what outranked
// it. None of it sees a cache beyond this node's page cache: a disk's, a hypervisor's or a
// server's.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "storage/engines/transfer.hpp"

namespace weir::bench {

enum class CacheVerdict { storage, memory, mixed, unknown };
enum class EvidenceKind { device_counters, page_residency, direct_io, memory_rate, durable_sync };

struct Evidence {
  EvidenceKind kind = EvidenceKind::memory_rate;
  // Share of the bytes that reached storage by this evidence, 0 to 1; nothing when it cannot tell.
  std::optional<double> storage_fraction;
  std::string text;  // one sentence
};

struct CacheState {
  CacheVerdict verdict = CacheVerdict::unknown;
  std::vector<Evidence> evidence;  // strongest first
};

// What was seen of one function in one direction, over all ranks. What is not known stays empty.
struct CacheObservations {
  Direction direction = Direction::read;
  std::int64_t bytes = 0;        // asked for, all ranks
  std::string file_system = {};  // the type of the one that holds the files
  bool direct_io = false;
  bool durable_sync = false;  // writes: fsync or fdatasync inside the timed part
  // Reads: share of the pages to be read that were in the page cache, 0 to 1.
  std::optional<double> resident_fraction_before = {};
  // Bytes that the devices moved in this direction meanwhile, each device counted once.
  std::optional<std::int64_t> device_bytes = {};
  std::optional<double> rate_bytes_per_second = {};         // all ranks
  std::optional<double> memory_rate_bytes_per_second = {};  // memory copy by all ranks
};

[[nodiscard]] CacheState judge_cache(const CacheObservations& seen);

// As run.json spells them.
[[nodiscard]] const char* name_of(CacheVerdict verdict);
[[nodiscard]] const char* name_of(EvidenceKind kind);
// A CacheState of run.json.
[[nodiscard]] nlohmann::json to_json(const CacheState& state);

}  // namespace weir::bench
