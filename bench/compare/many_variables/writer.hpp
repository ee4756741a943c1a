// One way to write several 1-D variables of equal size to a file, each distributed in blocks to the
// ranks. The program many_variables compares several such ways.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

namespace weir::compare {

struct Variables {
  int count = 1;
  long long elements_per_rank = 1;  // float64 elements of one variable
};

class Writer {
 public:
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  virtual ~Writer() = default;

  // The functions are collective and, on a failure, print a line and end the program. `values`
  // contains the rank's parts of all variables, one after the other.
  virtual void create(const std::string& path, const Variables& variables) = 0;
  virtual void write(const std::vector<double>& values) = 0;
  virtual void close() = 0;
  virtual std::vector<double> read(const std::string& path, const Variables& variables) = 0;
};

std::unique_ptr<Writer> weir_writer(MPI_Comm communicator, const std::string& format);
// These return null if this build lacks the library.
std::unique_ptr<Writer> hdf5_writer(MPI_Comm communicator);
std::unique_ptr<Writer> pnetcdf_writer(MPI_Comm communicator);

[[noreturn]] void give_up(const char* what, const std::string& why);
[[nodiscard]] std::string name_of_variable(int number);

}  // namespace weir::compare
