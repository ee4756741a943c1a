// The files contain the arrays that FLASH's checkpoints and plot files have, by FLASH's names in
// HDF5 and in NetCDF, and the elements that describe the tree. Bare files have the arrays of HDF5.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "interfaces/interface.hpp"
#include "workloads/flash/parameters.hpp"
#include "workloads/flash/tree.hpp"
#include "workloads/output/content.hpp"

namespace weir::bench::flash {

enum class Stream : std::int8_t { checkpoint, plot };
inline constexpr Stream all_streams[] = {Stream::checkpoint, Stream::plot};
[[nodiscard]] const char* name_of(Stream stream);
[[nodiscard]] std::int64_t files_of(Stream stream, const Options& options);
// Returns the name of a file, as FLASH would name it: "sedov_hdf5_chk_0003".
[[nodiscard]] std::string file_name(Stream stream, std::int64_t number, const Capabilities& api);

// Returns the name of a variable, from number 1 on. The first ten are those of the Sedov problem.
[[nodiscard]] std::string variable_name(std::int64_t number);

// Says what an array has that is no variable.
enum class Values {
  names,
  level,
  node_type,
  relatives,
  centre,
  size,
  bounds,
  processor,
  which_child,
  table
};

using output::FileArray;

// The rank whose part of the files is described, and the format of the files.
struct Owner {
  std::int64_t rank = 0;
  BlockShare share = {};
  std::int64_t blocks = 0;  // of all ranks
  bool netcdf = false;
};

// Returns the arrays of a file, with the rows of one rank. Their meanings are `Values`.
[[nodiscard]] std::vector<FileArray> arrays_of(Stream stream, const Options& options,
                                               const Owner& owner);
// Returns the elements of the rank's rows of an array that is no variable. `records` are those of
// the rank's blocks.
[[nodiscard]] std::vector<std::byte> tree_elements(const FileArray& array, const Options& options,
                                                   Stream stream, const Owner& owner,
                                                   const std::vector<BlockRecord>& records);

class FlashContent final : public output::Content {
 public:
  FlashContent(const Options& options, std::int64_t ranks);

  [[nodiscard]] const BlockDistribution& distribution() const { return distribution_; }

  [[nodiscard]] std::vector<output::Kind> kinds() const override;
  [[nodiscard]] std::int64_t variables() const override { return options_.variables; }
  [[nodiscard]] std::string file_name(std::size_t kind, std::int64_t number,
                                      const Interface& api) const override;
  [[nodiscard]] std::vector<FileArray> arrays(const output::Form& form,
                                              std::int64_t rank) const override;
  [[nodiscard]] std::int64_t fullest_rank() const override { return distribution_.fullest_rank(); }
  // Makes the tree.
  void prepare(std::int64_t rank) override;
  [[nodiscard]] std::int64_t memory_bytes() const override;
  [[nodiscard]] std::vector<std::byte> elements(const output::Form& form, const FileArray& array,
                                                std::int64_t rank) const override;
  [[nodiscard]] nlohmann::ordered_json facts() const override;
  [[nodiscard]] std::string headline() const override;

 private:
  [[nodiscard]] Owner owner(std::int64_t rank, bool netcdf) const;

  Options options_;
  BlockDistribution distribution_;
  std::vector<Stream> streams_;       // those of which there are files
  std::vector<BlockRecord> records_;  // of the rank's blocks
};

}  // namespace weir::bench::flash
