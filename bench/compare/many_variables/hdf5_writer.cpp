// Writes many small datasets with parallel HDF5 as its users do: contiguous, allocated early and
// not filled, with one collective transfer each.
#include <hdf5.h>

#include <array>

#include "compare/many_variables/writer.hpp"

namespace weir::compare {
namespace {

hid_t opened(hid_t id, const char* what) {
  if (id < 0) give_up(what, "HDF5 failed");
  return id;
}
void hdf5_done(herr_t status, const char* what) {
  if (status < 0) give_up(what, "HDF5 failed");
}

class Hdf5Writer final : public Writer {
 public:
  explicit Hdf5Writer(MPI_Comm communicator) : communicator_(communicator) {
    MPI_Comm_size(communicator, &ranks_);
    MPI_Comm_rank(communicator, &rank_);
  }

  void create(const std::string& path, const Variables& variables) override {
    const hid_t access = file_access();
    file_ = opened(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), "H5Fcreate");
    H5Pclose(access);
    part_ = static_cast<hsize_t>(variables.elements_per_rank);
    const hsize_t whole = part_ * static_cast<hsize_t>(ranks_);
    const hid_t space = opened(H5Screate_simple(1, &whole, nullptr), "H5Screate_simple");
    const hid_t made = opened(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
    hdf5_done(H5Pset_alloc_time(made, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
    hdf5_done(H5Pset_fill_time(made, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
    for (int number = 0; number < variables.count; ++number) {
      datasets_.push_back(
          opened(H5Dcreate2(file_, name_of_variable(number).c_str(), H5T_NATIVE_DOUBLE, space,
                            H5P_DEFAULT, made, H5P_DEFAULT),
                 "H5Dcreate"));
    }
    H5Pclose(made);
    H5Sclose(space);
  }

  void write(const std::vector<double>& values) override {
    transfer([&](hid_t dataset, std::size_t number, hid_t memory, hid_t space, hid_t collective) {
      hdf5_done(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, collective,
                         values.data() + number * part_),
                "H5Dwrite");
    });
  }

  void close() override {
    for (const hid_t dataset : datasets_) hdf5_done(H5Dclose(dataset), "H5Dclose");
    datasets_.clear();
    hdf5_done(H5Fclose(file_), "H5Fclose");
  }

  std::vector<double> read(const std::string& path, const Variables& variables) override {
    const hid_t access = file_access();
    file_ = opened(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "H5Fopen");
    H5Pclose(access);
    part_ = static_cast<hsize_t>(variables.elements_per_rank);
    for (int number = 0; number < variables.count; ++number) {
      datasets_.push_back(
          opened(H5Dopen2(file_, name_of_variable(number).c_str(), H5P_DEFAULT), "H5Dopen"));
    }
    std::vector<double> values(static_cast<std::size_t>(variables.count) * part_);
    transfer([&](hid_t dataset, std::size_t number, hid_t memory, hid_t space, hid_t collective) {
      hdf5_done(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, collective,
                        values.data() + number * part_),
                "H5Dread");
    });
    close();
    return values;
  }

 private:
  [[nodiscard]] hid_t file_access() const {
    const hid_t access = opened(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
    hdf5_done(H5Pset_fapl_mpio(access, communicator_, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    return access;
  }
  template <typename Move>
  void transfer(const Move& move) {
    const hsize_t whole = part_ * static_cast<hsize_t>(ranks_);
    const hsize_t start = part_ * static_cast<hsize_t>(rank_);
    const hid_t memory = opened(H5Screate_simple(1, &part_, nullptr), "H5Screate_simple");
    const hid_t space = opened(H5Screate_simple(1, &whole, nullptr), "H5Screate_simple");
    hdf5_done(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &part_, nullptr),
              "H5Sselect_hyperslab");
    const hid_t collective = opened(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
    hdf5_done(H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
    for (std::size_t number = 0; number < datasets_.size(); ++number) {
      move(datasets_[number], number, memory, space, collective);
    }
    H5Pclose(collective);
    H5Sclose(space);
    H5Sclose(memory);
  }

  MPI_Comm communicator_;
  int ranks_ = 1;
  int rank_ = 0;
  hsize_t part_ = 0;
  hid_t file_ = H5I_INVALID_HID;
  std::vector<hid_t> datasets_;
};

}  // namespace

std::unique_ptr<Writer> hdf5_writer(MPI_Comm communicator) {
  return std::make_unique<Hdf5Writer>(communicator);
}

}  // namespace weir::compare
