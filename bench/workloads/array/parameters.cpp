#include "workloads/array/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "array/chunk_grid.hpp"
#include "interfaces/node_settings.hpp"
#include "measurement/target_directories.hpp"
#include "plan/engine.hpp"
#include "plan/parameters.hpp"
#include "workloads/array/refusal.hpp"

namespace weir::bench::array_io {
namespace {

constexpr std::int64_t most_count =
    2147483647;  // limit of the int counts of MPI and the other libraries

struct GeometryWords {
  std::string shape;
  std::string type;
  std::string distribution;
  std::string grid;
  std::string read_distribution;
  std::string read_grid;
  std::string section;
  bool half_section = false;
};

struct ChunkWords {
  std::string extents;
  std::string counts;
};

// Returns the interfaces that move parts of arrays: those that plan, then those that describe
// parts.
std::vector<Word<const Interface*>> api_words() {
  auto words = interface_words([](const Capabilities& can) { return can.parts; }, &Interface::name);
  const auto order = [](const Word<const Interface*>& one) {
    return one.value->can.plans ? 0 : one.value->can.part_by_runs ? 2 : 1;
  };
  std::stable_sort(words.begin(), words.end(),
                   [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return words;
}

std::vector<Word<FileLayout>> layout_words() {
  return {{"shared", FileLayout::shared},
          {"per-aggregator", FileLayout::per_aggregator},
          {"per-rank", FileLayout::per_rank}};
}

// Returns the names of all values of a plan's parameter, after that for the library's choice.
template <typename Values>
std::vector<std::string_view> automatic_or(const Values& values) {
  std::vector<std::string_view> names{"automatic"};
  for (const auto value : values) names.push_back(plan::name_of(value));
  return names;
}

FieldSettings<GeometryWords> geometry_table() {
  return {
      {&GeometryWords::shape,
       "shape",
       "extents of the array, slowest dimension first; suffixes k, m, g",
       {.default_value = "1024x1024", .metavar = "NxMx..."}},
      {&GeometryWords::type,
       "type",
       "element type, by NumPy's name, or record[BYTES]",
       {.default_value = "float64", .metavar = "TYPE"}},
      {&GeometryWords::distribution,
       "distribution",
       "distribution over the ranks: BLOCK, BLOCK(b), CYCLIC, CYCLIC(k) or * per "
       "dimension, or one for all",
       {.default_value = "BLOCK", .metavar = "LIST"}},
      {&GeometryWords::grid,
       "grid",
       "processes per dimension; 0: as MPI_Dims_create chooses [as MPI_Dims_create]",
       {.metavar = "NxMx..."}},
      {&GeometryWords::read_distribution,
       "read-distribution",
       "distribution for reading [as for writing]",
       {.metavar = "LIST"}},
      {&GeometryWords::read_grid,
       "read-grid",
       "processes per dimension for reading; with a product below the number of ranks, "
       "fewer ranks read",
       {.metavar = "NxMx..."}},
      {&GeometryWords::section,
       "section",
       "write and read only these indices of an existing array: every S-th from A to before B",
       {.metavar = "A:B[:S],..."}},
      {&GeometryWords::half_section, "half-section",
       "use a section that covers half of the array and begins on no boundary of blocks or "
       "chunks"},
  };
}

FieldSettings<ChunkWords> chunk_table() {
  return {
      {&ChunkWords::extents,
       "chunk",
       "extents of the chunks on disk (weir, hdf5); natural: the blocks of --distribution",
       {.default_value = "none", .metavar = "NxM...|natural|none"}},
      {&ChunkWords::counts,
       "chunk-counts",
       "number of chunks per dimension, of equal extents, instead of --chunk",
       {.metavar = "NxMx..."}},
  };
}

FieldSettings<Options> options_table() {
  return {
      {&Options::write, "write", "write, timed; without -w and -r both are done", {.letter = "w"}},
      {&Options::read, "read", "read, timed", {.letter = "r"}},
      {&Options::existing, "existing",
       "overwrite the file of the previous repetition instead of creating a new one"},
      {&Options::peak, "peak",
       "also write and read as many bytes as one contiguous piece per rank, interleaved; "
       "the table shows rates as a share of that rate"},
      {&Options::codec,
       "codec",
       "codecs of the chunks (weir-hdf5, weir-zarr): zstd:1, shuffle,deflate:4, … [none]",
       {.metavar = "CODECS"}},
      {&Options::layout,
       layout_words(),
       "layout",
       "weir: store the array in one file, one per aggregator, or one per rank",
       {.default_value = "shared", .metavar = "FILES"}},
      {&Options::column_major,
       {{"row-major", false}, {"column-major", true}},
       "file-order",
       "weir: order of the elements on disk",
       {.default_value = "row-major", .metavar = "ORDER"}},
      {&Options::strategy,
       "strategy",
       "weir: strategy of collective requests",
       {.default_value = "automatic",
        .metavar = "HOW",
        .choices = automatic_or(plan::all_strategies)}},
      {&Options::engine,
       "engine",
       "weir: how bytes are moved between buffers and files",
       {.default_value = "automatic",
        .metavar = "HOW",
        .choices = automatic_or(plan::all_engines)}},
      {&Options::explain, "explain",
       "weir: print the strategy of each direction, the reason, and the estimated time of "
       "each strategy"},
      {&Options::aggregators,
       "aggregators",
       "weir: aggregators per node; MPI-IO: aggregators of the job (hint cb_nodes); 0: "
       "automatic",
       {.default_value = "0", .metavar = "N"}},
      {&Options::buffer_bytes,
       "buffer",
       "size of an aggregator's buffer (MPI-IO: hint cb_buffer_size); 0: automatic",
       {.kind = SettingKind::bytes,
        .default_value = "0",
        .metavar = "BYTES",
        .recorded = "buffer_bytes"}},
      {&Options::buffers,
       "buffers",
       "weir: buffers per aggregator; 0: automatic",
       {.default_value = "0", .metavar = "N"}},
      {&Options::ranks_per_node, "ranks-per-node", ranks_per_node_help, ranks_per_node_setting()},
      {&Options::io_groups, "io-groups", io_groups_help, io_groups_setting()},
      {&Options::placement,
       "placement",
       "weir: nodes on which aggregators are [spread]",
       {.metavar = "HOW", .choices = topology::placement_rule_names()}},
      {&Options::hints_file,
       "hints",
       "file with MPI-IO hints, one NAME = VALUE per line",
       {.metavar = "FILE", .letter = "U"}},
  };
}

Result<std::optional<array::Indices>> chunk_of(const ChunkWords& words, const Geometry& geometry) {
  std::optional<array::Indices> chunk;
  const array::Shape& shape = geometry.shape;
  const std::string& text = words.extents;
  if (!words.counts.empty()) {
    if (text != "none")
      return refuse("--chunk and --chunk-counts are both given: give one of them");
    auto counts = parse_extents("chunk-counts", words.counts);
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
    if (options.ranks_per_node != 0) return only_weir("--ranks-per-node");
    if (!options.io_groups.empty()) return only_weir("--io-groups");
    if (!options.placement.empty()) return only_weir("--placement");
  }
  if (!can.layouts) {
    if (options.layout != FileLayout::shared) return only_weir("--layout");
    if (options.column_major) return only_weir("--file-order");
  }
  if (!options.directories.empty() && (!can.layouts || options.layout == FileLayout::shared)) {
    return refuse(
        fmt::format("--directory: {} writes one file, in one directory; give several directories "
                    "only for weir with --layout per-aggregator or per-rank",
                    name));
  }
  if (can.layouts && options.layout != FileLayout::shared && !options.chunk) {
    return refuse(fmt::format(
        "--layout {}: only chunks can be distributed to files: give --chunk or --chunk-counts",
        word_for(layout_words(), options.layout)));
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

FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::api,
       api_words(),
       "api",
       "interface; several make several configurations, interleaved",
       {.default_value = "mpiio", .metavar = "LIST", .letter = "a"}},
  });
}

std::vector<Setting> declarations() {
  return with_core_settings(
      declarations_of(variant_table(), geometry_table(), chunk_table(), options_table()),
      {{.name = "sync",
        .help = "make all written data durable at the end of the write phase, timed"},
       {.name = "directory",
        .metavar = "DIR[,DIR...]",
        .help = "directory of the test files; over several the files of a weir array are "
                "distributed round-robin [files/ if it exists in the current directory, otherwise "
                ".]"},
       {.name = "direct", .help = "not allowed for arrays"},
       {.name = "rank-shift", .help = "not allowed for arrays"}});
}

Result<Geometry> geometry_of(const Settings& settings, std::int64_t ranks) {
  GeometryWords words;
  fill(settings, geometry_table(), &words);
  const auto extents = parse_extents("shape", words.shape);
  if (!extents) return extents.error();
  const auto shape = array::Shape::create(extents.value());
  if (!shape) {
    return refuse(fmt::format("--shape {}: {}", words.shape, shape.error().message));
  }
  const auto type = array::ElementType::parse(words.type);
  if (!type) {
    return refuse(fmt::format("--type {}: {}", words.type, type.error().message));
  }
  if (const auto bytes = shape.value().bytes(type.value()); !bytes) {
    return refuse(fmt::format("--shape {}: {}", words.shape, bytes.error().message));
  }
  if (shape.value().elements() == 0) {
    return refuse(fmt::format("--shape {}: the array has no elements", words.shape));
  }
  const DistributionWords written{"distribution", words.distribution, "grid", words.grid};
  DistributionWords read = written;
  if (!words.read_distribution.empty()) {
    read.formats_option = "read-distribution";
    read.formats = words.read_distribution;
  }
  if (!words.read_grid.empty() || !words.read_distribution.empty()) {
    read.grid_option = "read-grid";
    read.grid = words.read_grid;
  }
  const auto writing = distribution_of(written, shape.value(), ranks);
  if (!writing) return writing.error();
  const auto reading = distribution_of(read, shape.value(), ranks);
  if (!reading) return reading.error();
  array::Section asked = array::Section::of(shape.value().box());
  if (!words.section.empty()) {
    if (words.half_section)
      return refuse("--section and --half-section are both given: give one of them");
    const auto section = parse_section(words.section, shape.value());
    if (!section) return section.error();
    asked = section.value();
  } else if (words.half_section) {
    asked = array::Section::of(half_section(shape.value()));
  }
  const auto formats_of = [&](const DistributionWords& by) {
    std::string text;
    const auto parsed = parse_formats(by.formats_option, by.formats, shape.value().dimensions());
    for (const auto& format : parsed.value()) text += (text.empty() ? "" : ",") + format.text();
    return text;
  };
  return Geometry{shape.value(), type.value(),        writing.value(), reading.value(),
                  asked,         formats_of(written), formats_of(read)};
}

Result<Options> options_of(const Settings& settings, const Geometry& geometry) {
  ChunkWords chunk_words;
  Options options;
  fill(settings, chunk_table(), &chunk_words);
  fill(settings, options_table(), &options);
  if (!options.write && !options.read) options.write = options.read = true;
  auto directories = directories_of(settings, "array");
  if (!directories) return directories.error();
  options.directories = std::move(directories).value();
  auto chunk = chunk_of(chunk_words, geometry);
  if (!chunk) return chunk.error();
  options.chunk = chunk.value();
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings, bool peak) {
  std::vector<Variant> variants = combinations(settings, variant_table());
  std::set<const Interface*> seen;
  for (Variant& variant : variants) {
    if (!seen.insert(variant.api).second) {
      return refuse(fmt::format("--api: '{}' is given twice", variant.api->name));
    }
    variant.label = variant.slug = variant.api->name;
  }
  if (peak) {
    variants.push_back({.api = interface_named("posix"),
                        .contiguous = true,
                        .label = contiguous_name,
                        .slug = contiguous_name});
  }
  return variants;
}

Status check_combination(const Geometry& geometry, const Options& options, const CoreSettings& core,
                         const std::vector<Variant>& variants) {
  if (options.engine == plan::name_of(plan::Engine::null)) {
    if (core.verify) {
      return refuse("--engine null: what is dropped cannot be checked: add --no-verify");
    }
    if (!options.codec.empty()) {
      return refuse(
          "--engine null: chunks with a codec are stored whatever the engine: leave out "
          "--codec");
    }
  }
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
