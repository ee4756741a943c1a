// Parallel HDF5: one dataset of 64-bit words as long as the layout's file; every transfer is a
// hyperslab of it. Offsets are relative to the dataset, which follows the library's own header.
#include <hdf5.h>

#include <array>
#include <utility>

#include "interfaces/library.hpp"
#include "measurement/mpi_hints.hpp"
#include "workloads/stream/channel.hpp"

namespace weir::bench::stream {
namespace {

constexpr const char* dataset_name = "stream";
constexpr std::int64_t element_bytes = 8;

class Hdf5Channel final : public Channel {
 public:
  explicit Hdf5Channel(const ChannelRequest& request) : path_(request.path) {}
  Hdf5Channel(const Hdf5Channel&) = delete;
  Hdf5Channel& operator=(const Hdf5Channel&) = delete;
  // After a failure the other ranks may be anywhere in the code. Closing the file is collective, so
  // open objects stay open until the process ends.
  ~Hdf5Channel() override = default;

  Status open(const ChannelRequest& request, const MpiHints& hints) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors come back as values
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, request.communicator(), hints.info());
    if (request.options.alignment > 1) {
      H5Pset_alignment(access, 1, static_cast<hsize_t>(request.options.alignment));
    }
    if (request.options.collective_metadata) {
      H5Pset_all_coll_metadata_ops(access, true);
      H5Pset_coll_metadata_write(access, true);
    }
    file_ = request.creates()
                ? H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access)
                : H5Fopen(path_.c_str(), request.write ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (file_ < 0) return hdf5_failure(request.creates() ? "H5Fcreate" : "H5Fopen", path_);
    if (Status status = open_dataset(request); !status) return status;
    file_space_ = H5Dget_space(dataset_);
    const hsize_t words = words_of(request.layout.transfer_bytes);
    memory_space_ = H5Screate_simple(1, &words, nullptr);
    transfer_list_ = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer_list_,
                     request.variant.collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    return {};
  }

  Status move(const storage::TransferRequest& request, std::int64_t /*index*/) override {
    const hsize_t start = words_of(request.offset);
    const hsize_t count = words_of(request.bytes);
    if (H5Sselect_hyperslab(file_space_, H5S_SELECT_SET, &start, nullptr, &count, nullptr) < 0) {
      return hdf5_failure("H5Sselect_hyperslab", path_, request.offset);
    }
    const bool reading = request.direction == Direction::read;
    const herr_t result = reading ? H5Dread(dataset_, H5T_NATIVE_UINT64, memory_space_, file_space_,
                                            transfer_list_, request.buffer)
                                  : H5Dwrite(dataset_, H5T_NATIVE_UINT64, memory_space_,
                                             file_space_, transfer_list_, request.buffer);
    if (result < 0) return hdf5_failure(reading ? "H5Dread" : "H5Dwrite", path_, request.offset);
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
    if (H5Dclose(dataset_) < 0) return hdf5_failure("H5Dclose", path_);
    if (H5Fclose(file_) < 0) return hdf5_failure("H5Fclose", path_);
    return {};
  }

 private:
  static hsize_t words_of(std::int64_t bytes) {
    return static_cast<hsize_t>(bytes / element_bytes);
  }

  Status open_dataset(const ChannelRequest& request) {
    const hsize_t words = words_of(request.layout.file_bytes());
    if (!request.creates()) {
      dataset_ = H5Dopen2(file_, dataset_name, H5P_DEFAULT);
      if (dataset_ < 0) return hdf5_failure("H5Dopen", path_);
      return {};
    }
    const hid_t space = H5Screate_simple(1, &words, nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (request.options.no_fill) H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    dataset_ = H5Dcreate2(file_, dataset_name, H5T_NATIVE_UINT64, space, H5P_DEFAULT, creation,
                          H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    if (dataset_ < 0) return hdf5_failure("H5Dcreate", path_);
    return {};
  }

  std::string path_;
  hid_t file_ = -1;
  hid_t dataset_ = -1;
  hid_t file_space_ = -1;
  hid_t memory_space_ = -1;
  hid_t transfer_list_ = -1;
};

}  // namespace

Result<std::unique_ptr<Channel>> open_hdf5_channel(const ChannelRequest& request) {
  const auto hints = MpiHints::read(request.options.hints_file, request.striping);
  if (!hints) return hints.error();
  auto channel = std::make_unique<Hdf5Channel>(request);
  if (Status opened = channel->open(request, hints.value()); !opened) return opened.error();
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace weir::bench::stream
