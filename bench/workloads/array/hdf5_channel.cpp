// Parallel HDF5: one dataset with the array's shape, contiguous or chunked, transferred
// collectively by hyperslabs.
#include <hdf5.h>

#include <utility>
#include <vector>

#include "interfaces/library.hpp"
#include "measurement/mpi_hints.hpp"
#include "workloads/array/channel.hpp"

namespace weir::bench::array_io {
namespace {

constexpr const char* dataset_name = "array";

std::vector<hsize_t> as_sizes(const array::Indices& values) {
  std::vector<hsize_t> sizes;
  for (const std::int64_t value : values) sizes.push_back(static_cast<hsize_t>(value));
  return sizes;
}

// Returns HDF5's own type if it has one, otherwise opaque bytes. The caller closes the type.
hid_t element_type(const array::ElementType& type) {
  switch (type.kind()) {
    case array::ElementKind::float64:
      return H5Tcopy(H5T_NATIVE_DOUBLE);
    case array::ElementKind::float32:
      return H5Tcopy(H5T_NATIVE_FLOAT);
    case array::ElementKind::int64:
      return H5Tcopy(H5T_NATIVE_INT64);
    case array::ElementKind::int32:
      return H5Tcopy(H5T_NATIVE_INT32);
    default:
      return H5Tcreate(H5T_OPAQUE, static_cast<std::size_t>(type.bytes()));
  }
}

herr_t select(hid_t space, H5S_seloper_t how, const array::UniformRegion& region) {
  std::vector<hsize_t> start;
  std::vector<hsize_t> stride;
  std::vector<hsize_t> count;
  std::vector<hsize_t> block;
  for (const array::UniformBlocks& along : region) {
    start.push_back(static_cast<hsize_t>(along.start));
    stride.push_back(static_cast<hsize_t>(along.count > 1 ? along.stride : along.length));
    count.push_back(static_cast<hsize_t>(along.count));
    block.push_back(static_cast<hsize_t>(along.length));
  }
  return H5Sselect_hyperslab(space, how, start.data(), stride.data(), count.data(), block.data());
}

// Selects one hyperslab, or several if blocks are cut.
herr_t select(hid_t space, const std::vector<array::UniformRegion>& regions) {
  if (regions.empty()) return H5Sselect_none(space);
  herr_t result = 0;
  H5S_seloper_t how = H5S_SELECT_SET;
  for (const array::UniformRegion& one : regions) {
    if (result < 0) break;
    result = select(space, how, one);
    how = H5S_SELECT_OR;
  }
  return result;
}

class Hdf5Channel final : public Channel {
 public:
  explicit Hdf5Channel(const ChannelRequest& request) : path_(request.path) {}

  Status open(const ChannelRequest& request, const MpiHints& hints) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors come back as values
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, request.job.world, hints.info());
    file_ = request.create
                ? H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access)
                : H5Fopen(path_.c_str(), request.write ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (file_ < 0) return hdf5_failure(request.create ? "H5Fcreate" : "H5Fopen", path_);
    type_ = element_type(request.geometry.type);
    if (Status status = open_dataset(request); !status) return status;
    file_space_ = H5Dget_space(dataset_);
    if (select(file_space_, request.part.asked()) < 0) return hdf5_failure("H5Sselect", path_);
    if (Status status = make_memory_space(request.part); !status) return status;
    transfer_list_ = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer_list_, H5FD_MPIO_COLLECTIVE);
    return {};
  }

  Status write(const std::byte* memory) override {
    if (H5Dwrite(dataset_, type_, memory_space_, file_space_, transfer_list_, memory) < 0) {
      return hdf5_failure("H5Dwrite", path_);
    }
    return {};
  }

  Status read(std::byte* memory) override {
    if (H5Dread(dataset_, type_, memory_space_, file_space_, transfer_list_, memory) < 0) {
      return hdf5_failure("H5Dread", path_);
    }
    return {};
  }

  Status sync() override {
    if (H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) return hdf5_failure("H5Fflush", path_);
    return {};
  }

  Status close() override {
    H5Pclose(transfer_list_);
    H5Sclose(memory_space_);
    H5Sclose(file_space_);
    H5Tclose(type_);
    if (H5Dclose(dataset_) < 0) return hdf5_failure("H5Dclose", path_);
    if (H5Fclose(file_) < 0) return hdf5_failure("H5Fclose", path_);
    return {};
  }

 private:
  Status open_dataset(const ChannelRequest& request) {
    if (!request.create) {
      dataset_ = H5Dopen2(file_, dataset_name, H5P_DEFAULT);
      return dataset_ < 0 ? Status(hdf5_failure("H5Dopen", path_)) : Status();
    }
    const std::vector<hsize_t> extents = as_sizes(request.geometry.shape.extents());
    const int dimensions = static_cast<int>(extents.size());
    const hid_t space = H5Screate_simple(dimensions, extents.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    // Every element is written, so filling the dataset first would write everything twice.
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    if (request.options.chunk) {
      const std::vector<hsize_t> chunk = as_sizes(*request.options.chunk);
      H5Pset_chunk(creation, dimensions, chunk.data());
    }
    dataset_ = H5Dcreate2(file_, dataset_name, type_, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    return dataset_ < 0 ? Status(hdf5_failure("H5Dcreate", path_)) : Status();
  }

  Status make_memory_space(const Part& part) {
    std::vector<hsize_t> extents = as_sizes(part.local_extents());
    if (part.empty()) extents.assign(extents.size(), 1);
    memory_space_ = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    if (select(memory_space_, part.asked_in_memory()) < 0) return hdf5_failure("H5Sselect", path_);
    return {};
  }

  std::string path_;
  hid_t file_ = -1;
  hid_t type_ = -1;
  hid_t dataset_ = -1;
  hid_t file_space_ = -1;
  hid_t memory_space_ = -1;
  hid_t transfer_list_ = -1;
};

}  // namespace

Result<std::unique_ptr<Channel>> open_hdf5_channel(const ChannelRequest& request) {
  auto hints = MpiHints::read(request.options.hints_file, request.striping);
  if (!hints) return hints.error();
  hints.value().set("cb_nodes", request.options.aggregators);
  hints.value().set("cb_buffer_size", request.options.buffer_bytes);
  auto channel = std::make_unique<Hdf5Channel>(request);
  if (Status opened = channel->open(request, hints.value()); !opened) return opened.error();
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace weir::bench::array_io
