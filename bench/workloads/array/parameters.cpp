#include "workloads/array/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "array/chunk_grid.hpp"
#include "workloads/array/refusal.hpp"

namespace weir::bench::array_io {
namespace {

constexpr std::int64_t most_count =
    2147483647;  // limit of the int counts of MPI and the other libraries

Result<std::optional<array::Indices>> chunk_of(const Settings& settings, const Geometry& geometry) {
  std::optional<array::Indices> chunk;
  const array::Shape& shape = geometry.shape;
  const std::string& text = settings.text("chunk");
  if (settings.has("chunk-counts")) {
    if (text != "none")
      return refuse("--chunk and --chunk-counts are both given: give one of them");
    auto counts = parse_extents("chunk-counts", settings.text("chunk-counts"));
    if (!counts) return counts.error();
    chunk = counts.value();
    for (int d = 0; d < std::min(chunk->size(), shape.dimensions()); ++d) {
      const std::int64_t count = (*chunk)[d];
      if (count < 1) return refuse("--chunk-counts: give at least 1 along each dimension");
      (*chunk)[d] = std::max<std::int64_t>(1, (shape.extent(d) + count - 1) / count);
    }
  } else if (text == "natural") {
    chunk = array::ChunkGrid::natural(geometry.writing).chunk_extents();
  } else if (text != "none") {
    auto extents = parse_extents("chunk", text);
    if (!extents) return extents.error();
    chunk = extents.value();
  }
  if (!chunk) return chunk;
  const auto grid = array::ChunkGrid::create(shape, *chunk);
  if (!grid) return refuse(fmt::format("--chunk {}: {}", text, grid.error().message));
  return std::optional(grid.value().chunk_extents());
}

// Returns the directories of --directory as absolute paths if it names several.
Result<std::vector<std::string>> directories_of(const Settings& settings) {
  std::vector<std::string> directories;
  if (!settings.has("directory")) return directories;
  const std::string& text = settings.text("directory");
  std::istringstream names(text);
  for (std::string one; std::getline(names, one, ',');) {
    if (one.empty()) {
      return refuse(fmt::format("--directory {}: one of the names is empty: leave it out", text));
    }
    std::error_code error;
    std::string whole =
        std::filesystem::weakly_canonical(std::filesystem::absolute(one), error).string();
    if (error || whole.empty()) whole = one;
    if (std::find(directories.begin(), directories.end(), whole) != directories.end()) {
      return refuse(fmt::format("--directory {}: {} is given twice", text, one));
    }
    directories.push_back(std::move(whole));
  }
  if (directories.size() < 2) directories.clear();
  return directories;
}

// Returns whether a rank may hold more than one box. Rank 0 holds at least as many blocks as any
// rank.
bool is_cyclic(const array::RegularDistribution& distribution) {
  for (int d = 0; d < distribution.shape().dimensions(); ++d) {
    const array::DistributedDimension& along = distribution.along(d);
    const std::int64_t blocks = (along.extent() + along.block() - 1) / along.block();
    if (blocks > along.processes()) return true;
  }
  return false;
}

// Fails for settings that an interface does not support; no setting is ignored.
Status check_api(const Geometry& geometry, const Options& options, const Interface& api) {
  const std::string_view name = api.name;
  const Capabilities& can = api.can;
  const auto only_weir = [&](const char* option) {
    return refuse(fmt::format("{} applies only to weir; given: {}", option, name));
  };
  if (!can.plans) {
    if (options.strategy != "automatic") return only_weir("--strategy");
    if (options.engine != "automatic") return only_weir("--engine");
    if (options.explain) return only_weir("--explain");
    if (options.buffers != 0) return only_weir("--buffers");
  }
  if (!can.layouts) {
    if (options.layout != "shared") return only_weir("--layout");
    if (options.column_major) return only_weir("--file-order");
  }
  if (!options.directories.empty() && (!can.layouts || options.layout == "shared")) {
    return refuse(
        fmt::format("--directory: {} writes one file, in one directory; give several directories "
                    "only for weir with --layout per-aggregator or per-rank",
                    name));
  }
  if (can.layouts && options.layout != "shared" && !options.chunk) {
    return refuse(fmt::format(
        "--layout {}: only chunks can be distributed to files: give --chunk or --chunk-counts",
        options.layout));
  }
  if (!can.chunks && options.chunk) {
    return refuse(fmt::format(
        "--chunk: {} cannot store chunks: use weir, weir-hdf5, weir-zarr or hdf5", name));
  }
  if (!options.codec.empty() && (!options.chunk || !can.codecs)) {
    return refuse(fmt::format(
        "--codec: {} cannot encode chunks: use weir-hdf5 or weir-zarr, with --chunk", name));
  }
  if (!options.codec.empty() && options.existing) {
    return refuse("--codec with --existing: encoded chunks cannot be rewritten in place");
  }
  if (!can.mpi_io) {
    if (!options.hints_file.empty()) {
      return refuse(
          fmt::format("--hints applies only to mpiio, hdf5 and pnetcdf; given: {}", name));
    }
    if (!can.plans && (options.aggregators != 0 || options.buffer_bytes != 0)) {
      return refuse(fmt::format("--aggregators and --buffer: {} has neither", name));
    }
  }
  const bool cyclic = is_cyclic(geometry.writing) || is_cyclic(geometry.reading);
  if (can.one_box && cyclic) {
    return refuse(fmt::format(
        "--distribution: {} allows one box per rank (put_vara): use another API for CYCLIC", name));
  }
  if (can.datatypes && cyclic && geometry.is_section()) {
    return refuse(fmt::format(
        "--section: {} has no datatype for a section of a CYCLIC array: use weir, hdf5 or posix",
        name));
  }
  if (!can.mpi_io) return {};
  for (const array::RegularDistribution* one : {&geometry.writing, &geometry.reading}) {
    if (one->elements(0) > most_count) {
      return refuse(fmt::format("--shape: a rank has {} elements, but {} allows at most {}",
                                one->elements(0), name, most_count));
    }
  }
  const auto& extents = geometry.shape.extents();
  if (can.datatypes && *std::max_element(extents.begin(), extents.end()) > most_count) {
    return refuse(fmt::format("--shape {}: MPI's datatypes allow extents of at most {}",
                              geometry.shape.text(), most_count));
  }
  return {};
}

}  // namespace

Result<array::RegularDistribution> distribution_of(const Settings& settings,
                                                   const std::string& formats_name,
                                                   const std::string& grid_name,
                                                   const array::Shape& shape, std::int64_t ranks) {
  const auto formats = parse_formats(formats_name, settings.text(formats_name), shape.dimensions());
  if (!formats) return formats.error();
  array::Indices given;
  if (settings.has(grid_name)) {
    const auto extents = parse_extents(grid_name, settings.text(grid_name));
    if (!extents) return extents.error();
    given = extents.value();
  }
  const auto grid = process_grid(grid_name, ranks, formats.value(), given);
  if (!grid) return grid.error();
  auto made = array::RegularDistribution::create(shape, formats.value(), {.extents = grid.value()});
  if (made) return made;
  return refuse(fmt::format("--{} {} over {} ranks: {}", formats_name, settings.text(formats_name),
                            ranks, made.error().message));
}

Result<Geometry> geometry_of(const Settings& settings, std::int64_t ranks) {
  const auto extents = parse_extents("shape", settings.text("shape"));
  if (!extents) return extents.error();
  const auto shape = array::Shape::create(extents.value());
  if (!shape) {
    return refuse(fmt::format("--shape {}: {}", settings.text("shape"), shape.error().message));
  }
  const auto type = array::ElementType::parse(settings.text("type"));
  if (!type) {
    return refuse(fmt::format("--type {}: {}", settings.text("type"), type.error().message));
  }
  if (const auto bytes = shape.value().bytes(type.value()); !bytes) {
    return refuse(fmt::format("--shape {}: {}", settings.text("shape"), bytes.error().message));
  }
  if (shape.value().elements() == 0) {
    return refuse(fmt::format("--shape {}: the array has no elements", settings.text("shape")));
  }
  const auto writing = distribution_of(settings, "distribution", "grid", shape.value(), ranks);
  if (!writing) return writing.error();
  const std::string formats =
      settings.has("read-distribution") ? "read-distribution" : "distribution";
  const bool own_grid = settings.has("read-grid") || settings.has("read-distribution");
  const auto reading =
      distribution_of(settings, formats, own_grid ? "read-grid" : "grid", shape.value(), ranks);
  if (!reading) return reading.error();
  array::Section asked = array::Section::of(shape.value().box());
  if (settings.has("section")) {
    if (settings.flag("half-section"))
      return refuse("--section and --half-section are both given: give one of them");
    const auto section = parse_section(settings.text("section"), shape.value());
    if (!section) return section.error();
    asked = section.value();
  } else if (settings.flag("half-section")) {
    asked = array::Section::of(half_section(shape.value()));
  }
  const auto words = [&](const std::string& name) {
    std::string text;
    const auto parsed = parse_formats(name, settings.text(name), shape.value().dimensions());
    for (const auto& format : parsed.value()) text += (text.empty() ? "" : ",") + format.text();
    return text;
  };
  return Geometry{shape.value(), type.value(),          writing.value(), reading.value(),
                  asked,         words("distribution"), words(formats)};
}

Result<Options> options_of(const Settings& settings, const Geometry& geometry) {
  Options options;
  const bool write = settings.flag("write");
  const bool read = settings.flag("read");
  options.write = write || !read;
  options.read = read || !write;
  options.existing = settings.flag("existing");
  options.peak = settings.flag("peak");
  options.aggregators = settings.integer("aggregators");
  options.buffer_bytes = settings.integer("buffer");
  options.buffers = settings.integer("buffers");
  options.strategy = settings.text("strategy");
  options.engine = settings.text("engine");
  if (settings.has("codec")) options.codec = settings.text("codec");
  options.explain = settings.flag("explain");
  options.layout = settings.text("layout");
  options.column_major = settings.text("file-order") == "column-major";
  if (settings.has("hints")) options.hints_file = settings.text("hints");
  auto directories = directories_of(settings);
  if (!directories) return directories.error();
  options.directories = std::move(directories).value();
  auto chunk = chunk_of(settings, geometry);
  if (!chunk) return chunk.error();
  options.chunk = chunk.value();
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings) {
  std::vector<Variant> variants;
  std::set<std::string> seen;
  for (const std::string& name : settings.list("api")) {
    if (!seen.insert(name).second) {
      return refuse(fmt::format("--api: '{}' is given twice", name));
    }
    variants.push_back({.api = interface_named(name), .label = name, .slug = name});
  }
  if (settings.flag("peak")) {
    variants.push_back({.api = interface_named("posix"),
                        .contiguous = true,
                        .label = contiguous_name,
                        .slug = contiguous_name});
  }
  return variants;
}

Status check_combination(const Geometry& geometry, const Options& options, const CoreSettings& core,
                         const std::vector<Variant>& variants) {
  if (core.direct)
    return refuse("--direct: this workload always uses the page cache: leave it out");
  if (core.rank_shift != 0) {
    return refuse("--rank-shift: use --read-distribution to let other ranks read the data");
  }
  for (const Variant& variant : variants) {
    if (variant.contiguous) continue;
    if (Status status = check_api(geometry, options, *variant.api); !status) return status;
  }
  return {};
}

}  // namespace weir::bench::array_io
