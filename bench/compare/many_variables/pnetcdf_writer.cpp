// Writes many small variables with PnetCDF as its users do: it posts them one by one and moves them
// together.
#include <pnetcdf.h>

#include "compare/many_variables/writer.hpp"

namespace weir::compare {
namespace {

void pnetcdf_done(int status, const char* what) {
  if (status != NC_NOERR) give_up(what, ncmpi_strerror(status));
}

class PnetcdfWriter final : public Writer {
 public:
  explicit PnetcdfWriter(MPI_Comm communicator) : communicator_(communicator) {
    MPI_Comm_size(communicator, &ranks_);
    MPI_Comm_rank(communicator, &rank_);
  }

  void create(const std::string& path, const Variables& variables) override {
    pnetcdf_done(ncmpi_create(communicator_, path.c_str(), NC_CLOBBER | NC_64BIT_DATA,
                              MPI_INFO_NULL, &file_),
                 "ncmpi_create");
    part_ = variables.elements_per_rank;
    int dimension = 0;
    pnetcdf_done(ncmpi_def_dim(file_, "x", part_ * ranks_, &dimension), "ncmpi_def_dim");
    ids_.resize(static_cast<std::size_t>(variables.count));
    for (int number = 0; number < variables.count; ++number) {
      pnetcdf_done(ncmpi_def_var(file_, name_of_variable(number).c_str(), NC_DOUBLE, 1, &dimension,
                                 &ids_[static_cast<std::size_t>(number)]),
                   "ncmpi_def_var");
    }
    pnetcdf_done(ncmpi_enddef(file_), "ncmpi_enddef");
  }

  void write(const std::vector<double>& values) override {
    const MPI_Offset start = part_ * rank_;
    for (std::size_t number = 0; number < ids_.size(); ++number) {
      pnetcdf_done(
          ncmpi_iput_vara_double(file_, ids_[number], &start, &part_,
                                 values.data() + number * static_cast<std::size_t>(part_), nullptr),
          "ncmpi_iput_vara");
    }
    pnetcdf_done(ncmpi_wait_all(file_, NC_PUT_REQ_ALL, nullptr, nullptr), "ncmpi_wait_all");
  }

  void close() override { pnetcdf_done(ncmpi_close(file_), "ncmpi_close"); }

  std::vector<double> read(const std::string& path, const Variables& variables) override {
    pnetcdf_done(ncmpi_open(communicator_, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file_),
                 "ncmpi_open");
    part_ = variables.elements_per_rank;
    const MPI_Offset start = part_ * rank_;
    std::vector<double> values(static_cast<std::size_t>(variables.count * part_));
    for (int number = 0; number < variables.count; ++number) {
      int id = 0;
      pnetcdf_done(ncmpi_inq_varid(file_, name_of_variable(number).c_str(), &id),
                   "ncmpi_inq_varid");
      pnetcdf_done(ncmpi_iget_vara_double(file_, id, &start, &part_, values.data() + number * part_,
                                          nullptr),
                   "ncmpi_iget_vara");
    }
    pnetcdf_done(ncmpi_wait_all(file_, NC_GET_REQ_ALL, nullptr, nullptr), "ncmpi_wait_all");
    close();
    return values;
  }

 private:
  MPI_Comm communicator_;
  int ranks_ = 1;
  int rank_ = 0;
  MPI_Offset part_ = 0;
  int file_ = -1;
  std::vector<int> ids_;
};

}  // namespace

std::unique_ptr<Writer> pnetcdf_writer(MPI_Comm communicator) {
  return std::make_unique<PnetcdfWriter>(communicator);
}

}  // namespace weir::compare
