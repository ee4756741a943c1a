#include "plan/piece_sample.hpp"

#include <algorithm>

#include "array/number_theory.hpp"

namespace weir::plan {
namespace {

// The number of slabs that a sample has from one place of a piece, if it has those of several.
constexpr std::int64_t neighbours = 64;

// Returns a number of stretch `i` of the `stretches` that [0, all) is cut into.
std::int64_t scattered_in(std::int64_t all, std::int64_t stretches, std::int64_t i) {
  // The product of the numbers may not fit into 64 bits.
  const auto begin = [&](std::int64_t stretch) {
    return all / stretches * stretch + all % stretches * stretch / stretches;
  };
  return begin(i) + scattered(i + 1, begin(i + 1) - begin(i));
}

// Bundles count as one unit.
std::int64_t units_and_bundles(const Plan& plan, std::int64_t aggregator, int array) {
  const bool in_bundle =
      plan.bundle(array) != nullptr && plan.piece({0, 0, array, 0, 0}).id.aggregator == aggregator;
  return (in_bundle ? 1 : 0) + units_of(plan, aggregator, array);
}

// Adds at most `most` parts of a unit, which stands for `times` units.
void add_parts(const Plan& plan, const PieceId& first, std::int64_t most, double times,
               std::vector<SampledPiece>& sample) {
  const std::int64_t parts = parts_of(plan.units(first.array), first.unit);
  const std::int64_t looked_at = std::min(most, parts);
  for (std::int64_t i = 0; i < looked_at; ++i) {
    sample.push_back({first, times * static_cast<double>(parts) / static_cast<double>(looked_at)});
    sample.back().id.part = scattered_in(parts, looked_at, i);
  }
}

}  // namespace

std::int64_t scattered(std::int64_t number, std::int64_t end) {
  auto mixed = static_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15U;
  mixed ^= mixed >> 31;
  mixed *= 0xBF58476D1CE4E5B9U;
  mixed ^= mixed >> 29;
  return static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(end));
}

std::int64_t units_of(const Plan& plan, std::int64_t aggregator, int array) {
  std::int64_t has = 0;
  std::int64_t end = plan.units(array).steps();
  while (has < end) {
    const std::int64_t middle = has + (end - has) / 2;
    if (plan.unit_at(aggregator, array, middle)) {
      has = middle + 1;
    } else {
      end = middle;
    }
  }
  return has;
}

std::int64_t parts_of(const Units& units, std::int64_t unit) {
  std::int64_t elements = 0;
  for (const array::Section& section : units.sections(unit)) elements += section.elements();
  return array::divide_up(elements, units.elements_per_part());
}

std::vector<SampledPiece> piece_sample(const Plan& plan, std::int64_t aggregator,
                                       std::int64_t most) {
  std::int64_t all = 0;
  for (const int array : plan.scheduled()) all += units_and_bundles(plan, aggregator, array);
  const std::int64_t looked_at = std::min(most, all);
  std::vector<SampledPiece> sample;
  if (looked_at <= 0) return sample;
  const double times = static_cast<double>(all) / static_cast<double>(looked_at);
  // The units of all arrays are numbered one after the other.
  std::int64_t before = 0;
  std::int64_t next = 0;
  for (const int array : plan.scheduled()) {
    const std::int64_t units = units_and_bundles(plan, aggregator, array);
    for (; next < looked_at; ++next) {
      const std::int64_t number = scattered_in(all, looked_at, next) - before;
      if (number >= units) break;
      if (plan.bundle(array) != nullptr) {
        // An array that a bundle is named after has no units of its own.
        sample.push_back({plan.piece({0, 0, array, 0, 0}).id, times});
        continue;
      }
      const PieceId first = plan.id_of(array, *plan.unit_at(aggregator, array, number));
      add_parts(plan, first, most / looked_at, times, sample);
    }
    before += units;
  }
  return sample;
}

SlabSample slab_sample(const Plan& plan, const PieceId& id, std::int64_t most) {
  SlabSample sample;
  const Units& units = plan.units(id.array);
  const array::Interval chunks = units.chunks(id.unit);
  if (plan.bundle(id.array) != nullptr || chunks.size() <= most) {
    sample.stretches.push_back(plan.piece(id));
    sample.bytes = sample.stretches.back().bytes;
    return sample;
  }
  // Many chunks are in a unit only if they fit into a buffer together, as one part.
  const Image& image = plan.request().arrays[static_cast<std::size_t>(id.array)].image;
  for (const array::Section& section : units.sections(id.unit)) {
    sample.bytes += section.elements() * image.element_bytes();
  }
  const std::int64_t stretches = std::max<std::int64_t>(1, most / neighbours);
  std::int64_t bytes = 0;
  std::int64_t end = chunks.lower;
  for (std::int64_t i = 0; i < stretches; ++i) {
    // The first stretch begins with the first chunk, so that some chunk is found, however few are
    // requested.
    const std::int64_t from =
        i == 0 ? end : std::max(end, chunks.lower + scattered_in(chunks.size(), stretches, i));
    const auto contents = units.contents({from, chunks.upper}, std::min(most, neighbours));
    if (contents.empty()) break;
    end = contents.back().chunk + 1;
    sample.stretches.push_back(plan.piece(id, contents));
    bytes += sample.stretches.back().bytes;
  }
  if (bytes > 0) sample.times = static_cast<double>(sample.bytes) / static_cast<double>(bytes);
  return sample;
}

}  // namespace weir::plan
