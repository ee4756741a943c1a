#include <mpi.h>

#include <vector>
#include <weir/weir.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    weir::Session session(MPI_COMM_WORLD);
    const auto cells = session.distribution({40, 30, 20}, "BLOCK, BLOCK, *");
    auto file = session.create_file("plot.nc");  // NetCDF; plot.h5: HDF5, plot.zarr: Zarr
    weir_define_options stepped = {};
    stepped.steps = 1;
    auto density = file.define<double>("density", {40, 30, 20}, stepped);
    file.attribute("density", "units", "kg m-3");
    for (int number = 0; number < 3; ++number) {
      const std::vector<double> mine(cells.elements(), 1.5 + number);
      file.begin_step();
      density.write(cells, mine);
      file.end_step();  // durable and in the file, whole or not at all
    }
    file.close();
  }
  MPI_Finalize();
}
