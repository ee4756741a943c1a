// Parallel HDF5: the file and one dataset in it, opened as HDF5's documentation advises: one rank
// reads the metadata and passes them on.
#include <hdf5.h>

#include "interfaces/library.hpp"
#include "measurement/mpi_hints.hpp"
#include "workloads/open/shared_file.hpp"

namespace weir::bench::opening {
namespace {

constexpr const char* dataset_name = "pieces";

class Hdf5File final : public SharedFile {
 public:
  explicit Hdf5File(const FileRequest& request) : request_(request) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors come back as values
  }

  Status create(const std::string& path) override {
    path_ = path;
    const hid_t access = access_list();
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    if (file_ < 0) return hdf5_failure("H5Fcreate", path_);
    const hsize_t words = static_cast<hsize_t>(request_.who.places) * words_of_piece();
    const hid_t space = H5Screate_simple(1, &words, nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    dataset_ = H5Dcreate2(file_, dataset_name, H5T_NATIVE_UINT64, space, H5P_DEFAULT, creation,
                          H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    return dataset_ < 0 ? Status(hdf5_failure("H5Dcreate", path_)) : Status();
  }

  Status open(const std::string& path) override {
    path_ = path;
    const hid_t access = access_list();
    file_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (file_ < 0) return hdf5_failure("H5Fopen", path_);
    dataset_ = H5Dopen2(file_, dataset_name, H5P_DEFAULT);
    return dataset_ < 0 ? Status(hdf5_failure("H5Dopen", path_)) : Status();
  }

  Status write(const std::byte* piece) override {
    return moved("H5Dwrite", [&](hid_t memory, hid_t place, hid_t collective) {
      return H5Dwrite(dataset_, H5T_NATIVE_UINT64, memory, place, collective, piece);
    });
  }
  Status read(std::byte* piece) override {
    return moved("H5Dread", [&](hid_t memory, hid_t place, hid_t collective) {
      return H5Dread(dataset_, H5T_NATIVE_UINT64, memory, place, collective, piece);
    });
  }

  Status close() override {
    if (H5Dclose(dataset_) < 0) return hdf5_failure("H5Dclose", path_);
    return H5Fclose(file_) < 0 ? Status(hdf5_failure("H5Fclose", path_)) : Status();
  }

  [[nodiscard]] std::vector<OwnName> own_names(const std::string& path) const override {
    return one_name(request_, path);
  }

 private:
  [[nodiscard]] hsize_t words_of_piece() const {
    return static_cast<hsize_t>(request_.options.bytes / 8);
  }
  [[nodiscard]] hid_t access_list() const {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    // Without a file of hints, this cannot fail.
    const auto hints = MpiHints::read("", request_.striping);
    H5Pset_fapl_mpio(access, request_.who.file, hints ? hints.value().info() : MPI_INFO_NULL);
    H5Pset_all_coll_metadata_ops(access, true);
    H5Pset_coll_metadata_write(access, true);
    return access;
  }

  template <typename Call>
  Status moved(const char* operation, const Call& call) {
    const hsize_t count = words_of_piece();
    const hsize_t start = static_cast<hsize_t>(request_.who.place) * count;
    const hid_t memory = H5Screate_simple(1, &count, nullptr);
    const hid_t place = H5Dget_space(dataset_);
    const hid_t collective = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
    H5Sselect_hyperslab(place, H5S_SELECT_SET, &start, nullptr, &count, nullptr);
    const herr_t result = call(memory, place, collective);
    H5Pclose(collective);
    H5Sclose(place);
    H5Sclose(memory);
    return result < 0 ? Status(hdf5_failure(operation, path_)) : Status();
  }

  FileRequest request_;
  std::string path_;
  hid_t file_ = -1;
  hid_t dataset_ = -1;
};

}  // namespace

std::unique_ptr<SharedFile> make_hdf5_file(const FileRequest& request) {
  return std::make_unique<Hdf5File>(request);
}

}  // namespace weir::bench::opening
