// Judges whether the bytes came from storage or from memory, and keeps the evidence. The functions
// are pure.
//
// The pieces of evidence may disagree, so they are ranked. The strongest one that says anything
// decides:
//
//   1. The file system keeps its files in memory (tmpfs), so there is no storage to reach.
//   2. Direct I/O bypassed the page cache.
//   3. Reads: the fraction of the pages that were resident before reading.
//      Writes: a durable sync inside the timed part.
//   4. The counters of the block device, which other processes share.
//   5. The rate, compared with the rate of a memory copy.
//
// Where the file system has a cache of its own (GPFS, ZFS and others: environment.hpp), 2 and 3
// cannot prove that storage was reached. Weaker evidence that disagrees is kept, with a note of
// what outranked it. No evidence sees a cache beyond this node's page cache, such as that of a
// disk, a hypervisor or a server.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/direction.hpp"

namespace weir::bench {

enum class CacheVerdict { storage, memory, mixed, unknown };
enum class EvidenceKind { device_counters, page_residency, direct_io, memory_rate, durable_sync };

struct Evidence {
  EvidenceKind kind = EvidenceKind::memory_rate;
  // The share of the bytes that reached storage according to this evidence, from 0 to 1. It is
  // empty if the evidence cannot tell.
  std::optional<double> storage_fraction;
  std::string text;  // one sentence
};

struct CacheState {
  CacheVerdict verdict = CacheVerdict::unknown;
  std::vector<Evidence> evidence;  // strongest first
};

// Says what was observed for one function in one direction, over all ranks. Unknown values stay
// empty.
struct CacheObservations {
  Direction direction = Direction::read;
  std::int64_t bytes = 0;        // requested, summed over all ranks
  std::string file_system = {};  // the type of the file system that holds the files
  bool direct_io = false;
  bool durable_sync = false;  // writes: fsync or fdatasync inside the timed part
  // Reads: the share of the pages to be read that were in the page cache before, from 0 to 1.
  std::optional<double> resident_fraction_before = {};
  // Bytes that the devices moved in this direction during the phase. Each device counts once.
  std::optional<std::int64_t> device_bytes = {};
  std::optional<double> rate_bytes_per_second = {};         // over all ranks
  std::optional<double> memory_rate_bytes_per_second = {};  // of a memory copy by all ranks
};

[[nodiscard]] CacheState judge_cache(const CacheObservations& seen);

// These functions return the names that run.json uses.
[[nodiscard]] const char* name_of(CacheVerdict verdict);
[[nodiscard]] const char* name_of(EvidenceKind kind);
// Returns a CacheState record of run.json.
[[nodiscard]] nlohmann::json to_json(const CacheState& state);

}  // namespace weir::bench
