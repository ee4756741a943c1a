#include "workloads/flash/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "measurement/phase_record.hpp"
#include "workloads/flash/tables.hpp"

namespace weir::bench::flash {
namespace {

constexpr std::int64_t name_bytes = 4;

constexpr const char* sedov_variables[] = {"dens", "eint", "ener", "gamc", "game",
                                           "pres", "temp", "velx", "vely", "velz"};

// An array about the tree. Without a name for NetCDF it is in HDF5 files only.
struct TreeArray {
  Values values;
  const char* name;
  const char* netcdf_name;
};
constexpr TreeArray tree_arrays[] = {
    {Values::level, "refine level", "lrefine"},
    {Values::node_type, "node type", "nodetype"},
    {Values::relatives, "gid", "gid"},
    {Values::centre, "coordinates", "coordinates"},
    {Values::size, "block size", "blocksize"},
    {Values::bounds, "bounding box", "bndbox"},
    {Values::which_child, "which child", nullptr},
    {Values::processor, "processor number", nullptr},
};

// Numbers are in the precision of the file's variables.
array::ElementType precision_of(Stream stream) {
  return stream == Stream::checkpoint ? array::ElementKind::float64 : array::ElementKind::float32;
}

std::vector<std::int64_t> variables_of(Stream stream, const Options& options) {
  if (stream == Stream::plot) return options.plot_variables;
  std::vector<std::int64_t> all(static_cast<std::size_t>(options.variables));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

FileArray of_blocks(std::string name, const array::ElementType& type, const Owner& owner) {
  return {.box = {.name = std::move(name),
                  .type = type,
                  .extents = {owner.blocks},
                  .dimension_names = {"dim_tot_blocks"},
                  .box = {.lower = {owner.share.first}, .extent = {owner.share.count}}}};
}

// Adds a dimension along which every rank has all elements.
void add_dimension(FileArray* array, const char* name, std::int64_t extent) {
  array->box.extents.push_back(extent);
  array->box.dimension_names.emplace_back(name);
  array->box.box.lower.push_back(0);
  array->box.box.extent.push_back(extent);
}

FileArray tree_array(const TreeArray& entry, Stream stream, const Owner& owner) {
  const bool real = entry.values == Values::centre || entry.values == Values::size ||
                    entry.values == Values::bounds;
  FileArray made =
      of_blocks(owner.netcdf ? entry.netcdf_name : entry.name,
                real ? precision_of(stream) : array::ElementType(array::ElementKind::int32), owner);
  made.meaning = static_cast<int>(entry.values);
  if (entry.values == Values::relatives) add_dimension(&made, "dim_NGID", relatives_of_block);
  if (real) add_dimension(&made, "dim_NDIM", 3);
  if (entry.values == Values::bounds) add_dimension(&made, "dim_2", 2);
  return made;
}

// Rank 0 writes the names.
FileArray names_array(std::int64_t variables, const Owner& owner) {
  const bool has_them = owner.rank == 0;
  return {.box = {.name = "unknown names",
                  .type = array::ElementType::text(name_bytes).value(),
                  .extents = {variables, 1},
                  .dimension_names = {"dim_variables", "dim_1"},
                  .box = {.lower = {0, 0}, .extent = {has_them ? variables : 0, 1}}},
          .meaning = static_cast<int>(Values::names)};
}

// The tree's arrays have a row of each block, and are divided as the blocks are; a table may have
// as many rows.
constexpr int of_rank_0 = 1;

// Rank 0 writes the tables. One without a name of its own for its rows has one row.
FileArray table_array(const Table& table, const Owner& owner) {
  const std::int64_t own_rows = owner.rank == 0 ? table.rows : 0;
  std::string rows = table.rows == 1 ? "dim_1" : "dim_" + table.name;
  std::ranges::replace(rows, ' ', '_');
  return {.box = {.name = table.name,
                  .type = array::ElementType::record(table.row_bytes).value(),
                  .extents = {table.rows},
                  .dimension_names = {std::move(rows)},
                  .box = {.lower = {0}, .extent = {own_rows}},
                  .division = of_rank_0,
                  .members = table.members},
          .meaning = static_cast<int>(Values::table)};
}

template <typename Number>
void append(std::vector<std::byte>* bytes, const Number& number) {
  const auto* begin = reinterpret_cast<const std::byte*>(&number);
  bytes->insert(bytes->end(), begin, begin + sizeof number);
}

template <std::size_t count>
void append_reals(std::vector<std::byte>* bytes, const std::array<double, count>& numbers,
                  Stream stream) {
  for (const double number : numbers) {
    if (stream == Stream::checkpoint) {
      append(bytes, number);
    } else {
      append(bytes, static_cast<float>(number));
    }
  }
}

void append_values(std::vector<std::byte>* bytes, Values values, Stream stream, std::int64_t rank,
                   const BlockRecord& record) {
  switch (values) {
    case Values::level:
      return append(bytes, record.level);
    case Values::node_type:
      return append(bytes, record.node_type);
    case Values::relatives:
      return append(bytes, record.relatives);
    case Values::centre:
      return append_reals(bytes, record.centre, stream);
    case Values::size:
      return append_reals(bytes, record.size, stream);
    case Values::bounds:
      return append_reals(bytes, record.bounds, stream);
    case Values::processor:
      return append(bytes, static_cast<std::int32_t>(rank));
    case Values::which_child:
      return append(bytes, record.which_child);
    case Values::names:
    case Values::table:
      return;
  }
}

}  // namespace

const char* name_of(Stream stream) { return stream == Stream::checkpoint ? "checkpoint" : "plot"; }

std::int64_t files_of(Stream stream, const Options& options) {
  return stream == Stream::checkpoint ? options.checkpoints : options.plots;
}

std::string file_name(Stream stream, std::int64_t number, const Capabilities& api) {
  return fmt::format("sedov_{}_{}_{:04}{}",
                     api.netcdf ? "ncmpi"
                     : api.bare ? "bare"
                                : "hdf5",
                     stream == Stream::checkpoint ? "chk" : "plt_cnt", number,
                     api.netcdf ? ".nc" : "");
}

std::string variable_name(std::int64_t number) {
  if (number <= std::ssize(sedov_variables)) return sedov_variables[number - 1];
  return fmt::format("s{:03}", number);
}

std::vector<FileArray> arrays_of(Stream stream, const Options& options, const Owner& owner) {
  std::vector<FileArray> all;
  for (const TreeArray& entry : tree_arrays) {
    if (owner.netcdf && entry.netcdf_name == nullptr) continue;
    all.push_back(tree_array(entry, stream, owner));
  }
  const std::vector<std::int64_t> variables = variables_of(stream, options);
  if (!owner.netcdf) {
    all.push_back(names_array(std::ssize(variables), owner));
    for (const Table& one : tables_of(options, owner.blocks)) {
      all.push_back(table_array(one, owner));
    }
  }
  for (const std::int64_t variable : variables) {
    FileArray made = of_blocks(variable_name(variable), precision_of(stream), owner);
    made.variable = variable - 1;
    add_dimension(&made, "dim_nzb", options.nzb);
    add_dimension(&made, "dim_nyb", options.nyb);
    add_dimension(&made, "dim_nxb", options.nxb);
    all.push_back(std::move(made));
  }
  return all;
}

std::vector<std::byte> tree_elements(const FileArray& array, const Options& options, Stream stream,
                                     const Owner& owner, const std::vector<BlockRecord>& records) {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(array.box.bytes()));
  const auto values = static_cast<Values>(array.meaning);
  if (values == Values::names && owner.rank == 0) {
    for (const std::int64_t variable : variables_of(stream, options)) {
      std::array<char, name_bytes> text{};
      std::memcpy(text.data(), variable_name(variable).data(), name_bytes);
      append(&bytes, text);
    }
  }
  if (values == Values::table && owner.rank == 0) {
    for (Table& one : tables_of(options, owner.blocks)) {
      if (one.name == array.box.name) return std::move(one.bytes);
    }
  }
  for (const BlockRecord& record : records) {
    append_values(&bytes, values, stream, owner.rank, record);
  }
  return bytes;
}

FlashContent::FlashContent(const Options& options, std::int64_t ranks)
    : options_(options), distribution_(options.blocks, ranks, options.block_seed) {
  for (const Stream stream : all_streams) {
    if (files_of(stream, options_) > 0) streams_.push_back(stream);
  }
}

Owner FlashContent::owner(std::int64_t rank, bool netcdf) const {
  return {.rank = rank,
          .share = distribution_.share(rank),
          .blocks = distribution_.blocks(),
          .netcdf = netcdf};
}

std::vector<output::Kind> FlashContent::kinds() const {
  std::vector<output::Kind> kinds;
  kinds.reserve(streams_.size());
  for (const Stream stream : streams_) {
    kinds.push_back({.name = name_of(stream),
                     .function = stream == Stream::checkpoint ? function_checkpoint : function_plot,
                     .files = files_of(stream, options_)});
  }
  return kinds;
}

std::string FlashContent::file_name(std::size_t kind, std::int64_t number,
                                    const Interface& api) const {
  return flash::file_name(streams_[kind], number, api.can);
}

std::vector<FileArray> FlashContent::arrays(const output::Form& form, std::int64_t rank) const {
  return arrays_of(streams_[form.kind], options_, owner(rank, form.netcdf));
}

void FlashContent::prepare(std::int64_t rank) {
  const BlockShare share = distribution_.share(rank);
  records_ = Tree(distribution_.blocks()).records(share.first, share.count);
}

// Each kind of file has elements about the tree, in HDF5 and in NetCDF.
std::int64_t FlashContent::memory_bytes() const {
  return Tree::memory_bytes(distribution_.blocks()) +
         5 * distribution_.most() * static_cast<std::int64_t>(sizeof(BlockRecord));
}

std::vector<std::byte> FlashContent::elements(const output::Form& form, const FileArray& array,
                                              std::int64_t rank) const {
  return tree_elements(array, options_, streams_[form.kind], owner(rank, form.netcdf), records_);
}

nlohmann::ordered_json FlashContent::facts() const {
  return {{"blocks", distribution_.blocks()},
          {"least_blocks_per_rank", distribution_.least()},
          {"most_blocks_per_rank", distribution_.most()}};
}

std::string FlashContent::headline() const {
  std::string text = fmt::format("{} blocks of {}x{}x{} cells, {} to {} per rank",
                                 distribution_.blocks(), options_.nxb, options_.nyb, options_.nzb,
                                 distribution_.least(), distribution_.most());
  constexpr double mebibyte = 1048576;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    text +=
        fmt::format("{} {} {} of {:.4g} MiB", i == 0 ? ";" : ",", files_of(streams_[i], options_),
                    streams_[i] == Stream::checkpoint ? "checkpoints" : "plot files",
                    static_cast<double>(bytes_of_file(*this, i, false)) / mebibyte);
  }
  return text;
}

}  // namespace weir::bench::flash
