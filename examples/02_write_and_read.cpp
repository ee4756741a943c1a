#include <mpi.h>

#include <numeric>
#include <vector>
#include <weir/weir.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    weir::Session session(MPI_COMM_WORLD);
    const auto rows = session.distribution({400, 300}, "BLOCK, *");
    const auto columns = session.distribution({400, 300}, "*, CYCLIC(10)");
    auto array = session.create<double>("temperature", {400, 300});
    std::vector<double> mine(rows.elements()), theirs(columns.elements());
    std::iota(mine.begin(), mine.end(), 0.0);
    array.write(rows, mine);
    array.read(columns, theirs);
  }
  MPI_Finalize();
}
