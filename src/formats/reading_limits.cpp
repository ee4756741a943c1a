#include "formats/reading_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/settings.hpp"
#include "stored/extent_map.hpp"

namespace weir::storage {
namespace {

constexpr double longest_seconds = 1e6;  // its milliseconds fit into 32 bits
constexpr double least_bytes = 1 << 20;

// Returns why the array is refused, or nothing.
std::optional<RefusedArray> refused_for_chunks(const StoredArray& one, std::int64_t most_bytes) {
  const EncodedChunks* const chunks = one.map.encoded();
  if (chunks == nullptr) return std::nullopt;
  const std::int64_t bytes = bytes_of(chunks->stored_extents, one.map.type)
                                 .value_or(std::numeric_limits<std::int64_t>::max());
  if (bytes <= most_bytes) return std::nullopt;
  return RefusedArray{
      one.description.name,
      fmt::format("a chunk has {} bytes when it is decoded, and at most {} are read: set "
                  "WEIR_READ_CHUNK_BYTES to read it",
                  bytes, most_bytes)};
}

std::span<const Setting> declarations() {
  static const std::array<Setting, 3> settings = {
      {{.name = "read-seconds",
        .kind = SettingKind::real,
        .default_value = "60",
        .range = {.least = 0, .most = longest_seconds, .above_least = true}},
       {.name = "read-bytes",
        .kind = SettingKind::bytes,
        .default_value = "4g",
        .range = {.least = least_bytes}},
       {.name = "read-chunk-bytes",
        .kind = SettingKind::bytes,
        .default_value = "4294967295",
        .range = {.least = 1}}}};
  return settings;
}

}  // namespace

Result<ReadingLimits> reading_limits(const EnvironmentLookup& environment) {
  // WEIR_SETTINGS is ignored: it names a file with the settings of a program.
  const auto lookup = [&](const std::string& name) {
    return name.starts_with("WEIR_READ_") ? environment(name) : std::nullopt;
  };
  auto resolved = resolve_settings("", "", declarations(), {}, lookup);
  if (!resolved) return resolved.error();
  const Settings& settings = resolved.value().settings;
  constexpr double milliseconds = 1000;
  constexpr std::size_t memory_of_document_byte = 32;
  const auto memory = static_cast<std::size_t>(settings.integer("read-bytes"));
  const double time = std::ceil(settings.real("read-seconds") * milliseconds);
  return ReadingLimits{
      .header = {.time = std::chrono::milliseconds(static_cast<std::int64_t>(time)),
                 .more_memory = memory},
      .document_bytes = memory / memory_of_document_byte,
      .chunk_bytes = settings.integer("read-chunk-bytes")};
}

void refuse_large_chunks(FileMap& map, std::int64_t most_bytes) {
  const auto refuse = [&](const StoredArray& one) {
    auto refused = refused_for_chunks(one, most_bytes);
    if (!refused) return false;
    map.refused.push_back(*std::move(refused));
    return true;
  };
  std::erase_if(map.arrays, refuse);
  std::erase_if(map.texts, [&](const StoredTexts& one) { return refuse(one.array); });
}

}  // namespace weir::storage
