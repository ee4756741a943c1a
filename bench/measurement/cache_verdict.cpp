#include "measurement/cache_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "measurement/environment.hpp"

namespace weir::bench {
namespace {

// Between these shares of the bytes the verdict is `mixed`.
constexpr double mostly_memory = 0.1;
constexpr double mostly_storage = 0.9;
// A device that moved more than this multiple of the bytes also served others: journals and
// read-ahead explain some excess, but not a factor of two.
constexpr double shared_device_excess = 2.0;
// A copy from the page cache reaches a good part of the rate of a plain copy; a tenth of that rate
// is unlike a copy. Between the two, the rate says nothing.
constexpr double like_memory = 0.5;
constexpr double unlike_memory = 0.1;

CacheVerdict verdict_of(double storage_fraction) {
  if (storage_fraction >= mostly_storage) return CacheVerdict::storage;
  if (storage_fraction <= mostly_memory) return CacheVerdict::memory;
  return CacheVerdict::mixed;
}

Evidence memory_file_system(const CacheObservations& seen) {
  return {.kind = EvidenceKind::page_residency,
          .storage_fraction = 0.0,
          .text = fmt::format("{} keeps its files in memory, so no storage was involved",
                              seen.file_system)};
}

// Changes evidence that storage was reached, where it only proves that the page cache was not used.
Evidence beside_own_cache(Evidence evidence, const std::string& file_system) {
  if (evidence.storage_fraction.value_or(0) <= mostly_memory) return evidence;
  evidence.storage_fraction.reset();
  evidence.text += fmt::format(
      "; {} may have served them from its own cache, so this proves nothing", file_system);
  return evidence;
}

Evidence direct_io() {
  return {.kind = EvidenceKind::direct_io,
          .storage_fraction = 1.0,
          .text = "O_DIRECT: the page cache was bypassed"};
}

Evidence residency(double resident) {
  return {.kind = EvidenceKind::page_residency,
          .storage_fraction = 1.0 - std::clamp(resident, 0.0, 1.0),
          .text = fmt::format("{:.0f} % of the pages were in the page cache before reading",
                              100 * std::clamp(resident, 0.0, 1.0))};
}

Evidence durable_sync(bool synced) {
  if (synced)
    return {.kind = EvidenceKind::durable_sync,
            .storage_fraction = 1.0,
            .text = "a durable sync was part of the timed write"};
  return {.kind = EvidenceKind::durable_sync,
          .storage_fraction = std::nullopt,
          .text = "the time includes no durable sync: the bytes may still be in the page cache"};
}

Evidence device_counters(const CacheObservations& seen, std::int64_t device_bytes) {
  const char* verb = seen.direction == Direction::read ? "read" : "wrote";
  const double ratio = static_cast<double>(device_bytes) / static_cast<double>(seen.bytes);
  Evidence evidence{.kind = EvidenceKind::device_counters, .storage_fraction = {}, .text = {}};
  if (ratio > shared_device_excess) {
    evidence.text = fmt::format(
        "the block device {} {:.1f} times the requested bytes: other programs use it, so its "
        "counters prove nothing",
        verb, ratio);
    return evidence;
  }
  evidence.storage_fraction = std::clamp(ratio, 0.0, 1.0);
  evidence.text =
      fmt::format("the block device {} {:.0f} % of the requested bytes", verb, 100 * ratio);
  return evidence;
}

Evidence memory_rate(double rate, double memory_rate) {
  const double ratio = rate / memory_rate;
  Evidence evidence{
      .kind = EvidenceKind::memory_rate,
      .storage_fraction = {},
      .text = fmt::format("the rate is {:.0f} % of the rate of a memory copy", 100 * ratio)};
  if (ratio >= like_memory)
    evidence.storage_fraction = 0.0;
  else if (ratio <= unlike_memory)
    evidence.storage_fraction = 1.0;
  return evidence;
}

std::vector<Evidence> strongest_first(const CacheObservations& seen) {
  std::vector<Evidence> evidence;
  if (is_memory_file_system(seen.file_system)) evidence.push_back(memory_file_system(seen));
  const bool own_cache = has_cache_of_its_own(seen.file_system);
  const auto add = [&](Evidence one) {
    evidence.push_back(own_cache ? beside_own_cache(std::move(one), seen.file_system)
                                 : std::move(one));
  };
  if (seen.direct_io) add(direct_io());
  if (seen.direction == Direction::read && seen.resident_fraction_before)
    add(residency(*seen.resident_fraction_before));
  if (seen.direction == Direction::write) evidence.push_back(durable_sync(seen.durable_sync));
  if (seen.device_bytes && seen.bytes > 0)
    evidence.push_back(device_counters(seen, *seen.device_bytes));
  if (seen.rate_bytes_per_second && seen.memory_rate_bytes_per_second.value_or(0) > 0)
    evidence.push_back(
        memory_rate(*seen.rate_bytes_per_second, *seen.memory_rate_bytes_per_second));
  return evidence;
}

}  // namespace

CacheState judge_cache(const CacheObservations& seen) {
  CacheState state{.verdict = CacheVerdict::unknown, .evidence = strongest_first(seen)};
  const Evidence* decisive = nullptr;
  for (Evidence& evidence : state.evidence) {
    if (!evidence.storage_fraction) continue;
    const CacheVerdict verdict = verdict_of(*evidence.storage_fraction);
    if (decisive == nullptr) {
      decisive = &evidence;
      state.verdict = verdict;
    } else if (verdict != state.verdict) {
      evidence.text += fmt::format(" (overruled by {})", name_of(decisive->kind));
    }
  }
  return state;
}

const char* name_of(CacheVerdict verdict) {
  switch (verdict) {
    case CacheVerdict::storage:
      return "storage";
    case CacheVerdict::memory:
      return "memory";
    case CacheVerdict::mixed:
      return "mixed";
    case CacheVerdict::unknown:
      return "unknown";
  }
  return "unknown";
}

const char* name_of(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::device_counters:
      return "device_counters";
    case EvidenceKind::page_residency:
      return "page_residency";
    case EvidenceKind::direct_io:
      return "direct_io";
    case EvidenceKind::memory_rate:
      return "memory_rate";
    case EvidenceKind::durable_sync:
      return "durable_sync";
  }
  return "memory_rate";
}

nlohmann::json to_json(const CacheState& state) {
  nlohmann::json evidence = nlohmann::json::array();
  for (const Evidence& one : state.evidence) {
    evidence.push_back(
        {{"kind", name_of(one.kind)},
         {"storage_fraction",
          one.storage_fraction ? nlohmann::json(*one.storage_fraction) : nlohmann::json(nullptr)},
         {"text", one.text}});
  }
  return {{"verdict", name_of(state.verdict)}, {"evidence", std::move(evidence)}};
}

}  // namespace weir::bench
