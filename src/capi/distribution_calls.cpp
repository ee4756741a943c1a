// Calls on distributions: collective creation and local queries.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "array/box_list.hpp"
#include "array/distribution.hpp"
#include "capi/extents_argument.hpp"
#include "capi/session.hpp"
#include "ranks/messages.hpp"

namespace weir::capi {
namespace {

using array::DistributionFormat;
using array::RegularDistribution;

// Splits the formats into one word per dimension, at commas outside parentheses.
std::vector<std::string> words_of(std::string_view formats) {
  std::vector<std::string> words(1);
  int depth = 0;
  for (const char letter : formats) {
    if (letter == '(') ++depth;
    if (letter == ')') --depth;
    if (letter == ',' && depth == 0) {
      words.emplace_back();
    } else if (std::isspace(static_cast<unsigned char>(letter)) == 0) {
      words.back().push_back(letter);
    }
  }
  return words;
}

// Divides the ranks over the dimensions that are distributed.
Result<array::Indices> chosen_grid(const std::vector<DistributionFormat>& formats, int ranks) {
  std::vector<int> extents;
  extents.reserve(formats.size());
  for (const DistributionFormat& format : formats) {
    extents.push_back(format.kind == DistributionFormat::Kind::whole ? 1 : 0);
  }
  bool distributed = false;
  for (const int extent : extents) distributed = distributed || extent == 0;
  // If no dimension is distributed, one rank holds everything.
  if (distributed) {
    const Status divided =
        ranks::status_of(MPI_Dims_create(ranks, static_cast<int>(extents.size()), extents.data()),
                         "MPI_Dims_create");
    if (!divided.ok()) return divided.error();
  }
  array::Indices grid;
  for (const int extent : extents) grid.push_back(extent);
  return grid;
}

Outcome read_grid(const weir_distribution_options& options, int dimensions,
                  array::ProcessGrid& grid) {
  auto outcome = check_reserved("weir_distribution_options", std::data(options.reserved),
                                std::size(options.reserved), options.reserved_flags);
  if (!outcome.ok()) return outcome;
  if (options.grid_order != WEIR_ROW_MAJOR && options.grid_order != WEIR_COLUMN_MAJOR) {
    return bad_argument(
        fmt::format("options.grid_order is {}: give WEIR_ROW_MAJOR (0) or WEIR_COLUMN_MAJOR (1)",
                    options.grid_order));
  }
  if (options.grid_order == WEIR_COLUMN_MAJOR) grid.order = array::Order::column_major;
  if (options.grid != nullptr) grid.extents = array::Indices(numbers_at(options.grid, dimensions));
  return {};
}

struct Regular {
  std::int32_t dimensions;
  const std::int64_t* extents;
  const char* formats;
  const weir_distribution_options* options;
};

Outcome make_regular(const Regular& given, int ranks,
                     std::optional<plan::SharedDistribution>& distribution) {
  std::optional<array::Shape> shape;
  if (auto read = read_shape(given.dimensions, given.extents, shape); !read.ok()) return read;
  if (given.formats == nullptr) return bad_argument("formats is null");
  const auto words = words_of(given.formats);
  if (words.size() != static_cast<std::size_t>(given.dimensions)) {
    return bad_argument(
        fmt::format("formats is '{}', which has {} words for {} dimensions: give one per dimension",
                    given.formats, words.size(), given.dimensions));
  }
  std::vector<DistributionFormat> formats;
  for (const std::string& word : words) {
    auto format = DistributionFormat::parse(word);
    if (!format) return outcome_of(format.error(), fmt::format("formats is '{}'", given.formats));
    formats.push_back(format.value());
  }
  const auto chosen = chosen_grid(formats, ranks);
  if (!chosen) return outcome_of(chosen.error(), "formats");
  array::ProcessGrid grid{chosen.value(), array::Order::row_major};
  if (given.options != nullptr) {
    if (auto read = read_grid(*given.options, given.dimensions, grid); !read.ok()) return read;
  }
  auto made = RegularDistribution::create(*shape, formats, grid);
  if (!made) return outcome_of(made.error(), fmt::format("formats is '{}'", given.formats));
  if (made.value().ranks() > ranks) {
    return bad_argument(
        fmt::format("options.grid is {}, which has {} ranks, but the session has {}: give a grid "
                    "of at most that many",
                    array::extents_text(grid.extents), made.value().ranks(), ranks));
  }
  distribution.emplace(made.value());
  return {};
}

// Creates the handle of a distribution that all ranks have made alike.
Outcome enter(weir_session& session, const plan::SharedDistribution& made, const std::string& what,
              weir_distribution** result) {
  auto handle = std::make_unique<weir_distribution>(weir_distribution{
      &session, made, fmt::format("distribution {} ({})", ++session.handles_made, what)});
  *result = handle.get();
  session.distributions.push_back(std::move(handle));
  return {};
}

std::string grid_text(const Regular& given) {
  if (given.options == nullptr) return "chosen";
  return fmt::format("{} in order {}", extents_text(given.dimensions, given.options->grid),
                     given.options->grid_order);
}

Outcome create(weir_session& session, const Regular& given, weir_distribution** result) {
  std::optional<plan::SharedDistribution> made;
  auto prepared =
      result == nullptr ? bad_argument("distribution is null") : outcome_without_throwing([&] {
        return make_regular(given, session.collective->ranks(), made);
      });
  if (!prepared.ok()) prepared.text.insert(0, "weir_distribution_create: ");
  return session.call(fmt::format("weir_distribution_create(shape {}, formats {}, grid {})",
                                  extents_text(given.dimensions, given.extents),
                                  quoted(given.formats), grid_text(given)),
                      prepared,
                      [&] { return enter(session, *made, (*made)->regular()->text(), result); });
}

struct Boxes {
  std::int32_t dimensions;
  const std::int64_t* extents;
  std::int64_t boxes;
  const std::int64_t* lower;
  const std::int64_t* extent;
};

// Converts this rank's boxes into numbers to send. All ranks check later, alike, whether the boxes
// lie in the array.
Outcome read_boxes(const Boxes& given, std::optional<array::Shape>& shape,
                   std::vector<std::int64_t>& numbers) {
  if (auto read = read_shape(given.dimensions, given.extents, shape); !read.ok()) return read;
  constexpr std::int64_t most_boxes = std::int64_t{1} << 26;
  if (given.boxes < 0 || given.boxes > most_boxes) {
    return bad_argument(fmt::format("boxes is {}: give 0 to {}", given.boxes, most_boxes));
  }
  if (given.boxes > 0 && given.lower == nullptr) return bad_argument("lower is null");
  if (given.boxes > 0 && given.extent == nullptr) return bad_argument("extent is null");
  for (std::int64_t box = 0; box < given.boxes; ++box) {
    const std::int64_t first = box * given.dimensions;
    const auto lower = numbers_at(given.lower + first, given.dimensions);
    const auto extent = numbers_at(given.extent + first, given.dimensions);
    const auto inside =
        check_inside(array::Box{array::Indices(lower), array::Indices(extent)}, *shape);
    if (!inside) return outcome_of(inside, fmt::format("box {}", box));
    numbers.insert(numbers.end(), lower.begin(), lower.end());
    numbers.insert(numbers.end(), extent.begin(), extent.end());
  }
  return {};
}

Outcome share_boxes(weir_session& session, const array::Shape& shape,
                    std::vector<std::int64_t> mine, weir_distribution** result) {
  auto made =
      session.collective->distribute(shape, array::BoxList(shape.dimensions(), std::move(mine)));
  if (!made) return outcome_of(made.error(), "weir_distribution_from_boxes");
  const auto boxes = made.value()->explicit_boxes()->boxes().boxes();
  return enter(session, made.value(), fmt::format("{} boxes in {}", boxes, shape.text()), result);
}

Outcome create_from_boxes(weir_session& session, const Boxes& given, weir_distribution** result) {
  std::optional<array::Shape> shape;
  std::vector<std::int64_t> mine;
  auto prepared = result == nullptr
                      ? bad_argument("distribution is null")
                      : outcome_without_throwing([&] { return read_boxes(given, shape, mine); });
  if (!prepared.ok()) prepared.text.insert(0, "weir_distribution_from_boxes: ");
  return session.call(fmt::format("weir_distribution_from_boxes(shape {})",
                                  extents_text(given.dimensions, given.extents)),
                      prepared,
                      [&] { return share_boxes(session, *shape, std::move(mine), result); });
}

Outcome find_piece(const weir_distribution* distribution, std::int64_t piece, const void* result,
                   const char* call, array::Region& region) {
  if (distribution == nullptr) return null_argument(call, "distribution");
  if (result == nullptr) return null_argument(call, "the place for the answer");
  const int rank = distribution->session->rank();
  const std::int64_t pieces = distribution->held().pieces(rank);
  if (piece < 0 || piece >= pieces) {
    return bad_argument(fmt::format("{}: piece is {}, but this rank has {} pieces, numbered from 0",
                                    call, piece, pieces));
  }
  region = distribution->held().piece(rank, piece);
  return {};
}

Outcome global_index(const weir_distribution* distribution, std::int64_t piece,
                     const std::int64_t* local, std::int64_t* global) {
  constexpr const char* call = "weir_distribution_global_index";
  array::Region region;
  auto found = find_piece(distribution, piece, global, call, region);
  if (!found.ok()) return found;
  if (local == nullptr) return null_argument(call, "local");
  const array::Indices extents = region.local_extents();
  array::Indices at(numbers_at(local, region.dimensions()));
  for (int d = 0; d < region.dimensions(); ++d) {
    if (at[d] < 0 || at[d] >= extents[d]) {
      return bad_argument(
          fmt::format("{}: local[{}] is {}: give 0 to {}", call, d, at[d], extents[d] - 1));
    }
  }
  at = region.global_index(at);
  std::copy(at.begin(), at.end(), global);
  return {};
}

}  // namespace
}  // namespace weir::capi

extern "C" {

int weir_distribution_create(weir_session* session, std::int32_t dimensions,
                             const std::int64_t* shape, const char* formats,
                             const weir_distribution_options* options,
                             weir_distribution** distribution) {
  if (distribution != nullptr) *distribution = nullptr;
  return weir::capi::report_outcome_of([&] {
    if (session == nullptr) return weir::capi::null_argument("weir_distribution_create", "session");
    return weir::capi::create(*session, {dimensions, shape, formats, options}, distribution);
  });
}

int weir_distribution_from_boxes(weir_session* session, std::int32_t dimensions,
                                 const std::int64_t* shape, std::int64_t boxes,
                                 const std::int64_t* lower, const std::int64_t* extent,
                                 weir_distribution** distribution) {
  if (distribution != nullptr) *distribution = nullptr;
  return weir::capi::report_outcome_of([&] {
    if (session == nullptr) {
      return weir::capi::null_argument("weir_distribution_from_boxes", "session");
    }
    return weir::capi::create_from_boxes(*session, {dimensions, shape, boxes, lower, extent},
                                         distribution);
  });
}

void weir_distribution_free(weir_distribution** distribution) {
  if (distribution == nullptr || *distribution == nullptr) return;
  (*distribution)->session->remove(*distribution);
  *distribution = nullptr;
}

std::int64_t weir_distribution_elements(const weir_distribution* distribution) {
  if (distribution == nullptr) {
    return weir::capi::report(
        weir::capi::null_argument("weir_distribution_elements", "distribution"));
  }
  return distribution->held().elements(distribution->session->rank());
}

std::int64_t weir_distribution_pieces(const weir_distribution* distribution) {
  if (distribution == nullptr) {
    return weir::capi::report(
        weir::capi::null_argument("weir_distribution_pieces", "distribution"));
  }
  return distribution->held().pieces(distribution->session->rank());
}

int weir_distribution_piece_shape(const weir_distribution* distribution, std::int64_t piece,
                                  std::int64_t* shape) {
  return weir::capi::report_outcome_of([&] {
    weir::array::Region region;
    auto found =
        weir::capi::find_piece(distribution, piece, shape, "weir_distribution_piece_shape", region);
    if (found.ok()) {
      const auto extents = region.local_extents();
      std::copy(extents.begin(), extents.end(), shape);
    }
    return found;
  });
}

int weir_distribution_global_index(const weir_distribution* distribution, std::int64_t piece,
                                   const std::int64_t* local, std::int64_t* global) {
  return weir::capi::report_outcome_of(
      [&] { return weir::capi::global_index(distribution, piece, local, global); });
}

}  // extern "C"
