#include "capi/chosen_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "array/chunk_grid.hpp"
#include "array/number_theory.hpp"
#include "array/suitable_chunks.hpp"
#include "formats/format.hpp"
#include "stored/extent_map.hpp"

namespace weir::capi {
namespace {

storage::FormatAbilities abilities_of(const weir_file& file) {
  return storage::find_format(file.settings.format).value()->abilities();
}

// Returns the largest block of any rank; nothing if the ranks hold explicit boxes.
std::optional<array::Indices> block_of(const weir_distribution& distribution) {
  const array::RegularDistribution* const regular = distribution.held().regular();
  if (regular == nullptr) return std::nullopt;
  return array::ChunkGrid::natural(*regular).chunk_extents();
}

std::optional<array::Indices> block_of_ranks(const weir_session& session,
                                             const array::Shape& shape) {
  for (const auto& one : session.distributions) {
    if (!(one->held().shape() == shape)) continue;
    if (auto block = block_of(*one)) return block;
  }
  return std::nullopt;
}

bool divides(const array::Indices& chunk, const array::Indices& block) {
  for (int d = 0; d < chunk.size(); ++d) {
    if (block[d] % chunk[d] != 0) return false;
  }
  return true;
}

array::Indices without_steps(const array::Indices& extents) {
  array::Indices of_step;
  for (int d = 1; d < extents.size(); ++d) of_step.push_back(extents[d]);
  return of_step;
}

}  // namespace

void choose_chunks(const weir_session& session, const std::string& format,
                   const std::vector<array::Shape>& shapes,
                   std::vector<storage::ArrayDescription>& arrays) {
  const storage::FormatAbilities abilities = storage::find_format(format).value()->abilities();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    storage::ArrayDescription& one = arrays[i];
    if (!storage::wants_chunks(one, abilities)) continue;
    auto block = block_of_ranks(session, shapes[i]);
    if (block && one.grows) {
      array::Indices with_steps;
      with_steps.push_back(1);
      if (one.shape.dimensions() > 1) {
        for (const std::int64_t extent : *block) with_steps.push_back(extent);
      }
      block = with_steps;
    }
    one.chunk_extents =
        array::suitable_chunks(one.shape.extents(), one.order, one.type.bytes(), block);
  }
}

storage::FileDescription with_chosen_chunks(const weir_file& file) {
  storage::FileDescription description = file.description;
  std::vector<array::Shape> shapes;
  shapes.reserve(file.arrays.size());
  for (const auto& one : file.arrays) shapes.push_back(one->shape);
  choose_chunks(*file.session, file.settings.format, shapes, description.arrays);
  return description;
}

std::string about_chosen_chunks(const weir_array& array, const weir_distribution& distribution) {
  const weir_file* const file = array.container;
  if (file == nullptr || file->open == nullptr) return {};
  if (array.number >= file->description.arrays.size()) return {};  // the file was opened
  const storage::ArrayDescription& defined = file->description.arrays[array.number];
  if (!storage::wants_chunks(defined, abilities_of(*file))) return {};
  const auto& laid_out = file->open->map().arrays[array.number].description;
  if (!laid_out.chunk_extents) return {};
  const array::Indices chunk =
      defined.grows ? without_steps(*laid_out.chunk_extents) : *laid_out.chunk_extents;
  if (chunk.empty()) return {};
  const auto bytes = storage::bytes_of(chunk, defined.type).value_or(0);
  const auto block = block_of(distribution);
  std::string fits = "no rank's block matches these chunks";
  if (block && divides(chunk, *block)) {
    fits =
        fmt::format("a rank's block of {} is a whole number of them", array::extents_text(*block));
  } else if (block && divides(*block, chunk)) {
    fits = fmt::format("each holds whole blocks of ranks, of {}", array::extents_text(*block));
  }
  constexpr std::int64_t kib = 1024;
  return fmt::format(
      "'{}' has chunks of {} ({} KiB), which Weir chose because none were given and {} needs "
      "chunks; {}",
      defined.name, array::extents_text(chunk), array::divide_up(bytes, kib),
      defined.codecs.empty() ? "the format " + file->settings.format : "a codec", fits);
}

}  // namespace weir::capi
