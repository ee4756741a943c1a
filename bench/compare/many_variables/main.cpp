// Writes many small variables in one step and, for comparison, one variable of the same total size.
//
//     mpiexec -n 4 many_variables FOLDER [VARIABLES] [ELEMENTS_PER_RANK] [ROUNDS]
//
// Each round writes, with every interface in turn, VARIABLES variables of ELEMENTS_PER_RANK float64
// on each rank, and one variable of VARIABLES times as many. Rank 0 prints a line of JSON for each,
// with the slowest rank's seconds of creating (including defining), writing and closing. The data
// stays in the page cache: nothing is made durable. It is read back and compared once, outside the
// times.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "compare/many_variables/writer.hpp"

namespace weir::compare {

void give_up(const char* what, const std::string& why) {
  std::fprintf(stderr, "many_variables: %s: %s\n", what, why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

std::string name_of_variable(int number) { return "variable_" + std::to_string(number); }

namespace {

// Returns the longest time since `began` on any rank.
double slowest_since(double began) {
  double mine = MPI_Wtime() - began;
  double longest = 0;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

std::vector<double> values_of(const Variables& variables, int rank, int round) {
  std::vector<double> values(static_cast<std::size_t>(variables.count) *
                             static_cast<std::size_t>(variables.elements_per_rank));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i) + 1e9 * rank + 1e6 * round;
  }
  return values;
}

void measure(Writer& writer, const std::string& name, const std::string& path,
             const Variables& variables, int rank, int round) {
  const auto values = values_of(variables, rank, round);
  MPI_Barrier(MPI_COMM_WORLD);
  double began = MPI_Wtime();
  writer.create(path, variables);
  const double creating = slowest_since(began);
  began = MPI_Wtime();
  writer.write(values);
  const double writing = slowest_since(began);
  began = MPI_Wtime();
  writer.close();
  const double closing = slowest_since(began);
  if (round == 0 && writer.read(path, variables) != values) {
    give_up(name.c_str(), "what was read is not what was written");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  std::printf(
      "{\"interface\": \"%s\", \"variables\": %d, \"round\": %d, \"creating\": %.6f, "
      "\"writing\": %.6f, \"closing\": %.6f}\n",
      name.c_str(), variables.count, round, creating, writing, closing);
  std::fflush(stdout);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace weir::compare

int main(int argc, char** argv) {
  using namespace weir::compare;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 2) give_up("usage", "many_variables FOLDER [VARIABLES] [ELEMENTS_PER_RANK] [ROUNDS]");
  const auto number = [&](int at, int otherwise) {
    if (argc <= at) return otherwise;
    const long given = std::strtol(argv[at], nullptr, 10);
    if (given < 1 || given > 1'000'000) give_up("usage", "numbers are 1 to 1,000,000");
    return static_cast<int>(given);
  };
  const Variables many{number(2, 1000), number(3, 128)};
  const Variables one{1, many.count * many.elements_per_rank};
  const int rounds = number(4, 6);
  {
    std::vector<std::pair<std::string, std::unique_ptr<Writer>>> writers;
    writers.emplace_back("weir-hdf5", weir_writer(MPI_COMM_WORLD, "hdf5"));
    writers.emplace_back("weir-cdf5", weir_writer(MPI_COMM_WORLD, "cdf5"));
    writers.emplace_back("hdf5", hdf5_writer(MPI_COMM_WORLD));
    writers.emplace_back("pnetcdf", pnetcdf_writer(MPI_COMM_WORLD));
    for (int round = 0; round < rounds; ++round) {
      for (const auto& [name, writer] : writers) {
        if (writer == nullptr) continue;
        const std::string path = std::string(argv[1]) + "/" + name;
        measure(*writer, name, path, many, rank, round);
        measure(*writer, name, path, one, rank, round);
      }
    }
  }
  MPI_Finalize();
}
