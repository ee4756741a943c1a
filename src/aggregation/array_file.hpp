// An array on disk as a Collective has it open.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "aggregation/collective.hpp"
#include "array/chunk_grid.hpp"
#include "storage/formats/raw_files.hpp"
#include "topology/topology.hpp"

namespace weir::aggregation {

class OpenArray final : public ArrayFile {
 public:
  // `number` is the same on all ranks, and no other array of the Collective has it.
  OpenArray(storage::RawArray array, std::string path, bool writable, std::uint64_t number,
            const topology::FileTargets& targets)
      : grid_(array.grid().value()),
        files_(std::move(array), std::move(path), writable),
        number_(number),
        targets_(targets) {}

  [[nodiscard]] const storage::RawArray& array() const override { return files_.array(); }
  [[nodiscard]] const std::string& path() const override { return files_.path(); }
  [[nodiscard]] bool writable() const override { return files_.writable(); }

  [[nodiscard]] const array::ChunkGrid& grid() const { return grid_; }
  [[nodiscard]] storage::RawFiles& files() { return files_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // As the file system told rank 0.
  [[nodiscard]] const topology::FileTargets& targets() const { return targets_; }
  [[nodiscard]] bool closed() const { return closed_; }
  void set_closed() { closed_ = true; }

 private:
  array::ChunkGrid grid_;
  storage::RawFiles files_;
  std::uint64_t number_;
  topology::FileTargets targets_;
  bool closed_ = false;
};

}  // namespace weir::aggregation
