// Reads one HDF5 file, for read_elsewhere.hpp: what crashes the library ends this
// program alone.
#include "storage/formats/hdf5/library.hpp"
#include "storage/formats/hdf5/read_elsewhere.hpp"
#include "storage/formats/sandbox_process.hpp"

int main(int argument_count, char** arguments) {
  // Ends here, before anything is said, when headers and library are of different versions: that is
  // not the file's doing.
  if (H5open() < 0) return 1;
  const weir::storage::Hdf5Silence silence;
  return weir::storage::sandbox_main(argument_count, arguments,
                                     weir::storage::answer_about_hdf5_file);
}
