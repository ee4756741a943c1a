// Reads one HDF5 file for read_elsewhere.hpp. If the library crashes, only this program ends.
#include "formats/hdf5/library.hpp"
#include "formats/hdf5/read_elsewhere.hpp"
#include "formats/sandbox_process.hpp"

int main(int argument_count, char** arguments) {
  // If the headers and the library have different versions, the program ends here, before its
  // greeting, because that is not caused by the file.
  if (H5open() < 0) return 1;
  const weir::storage::Hdf5Silence silence;
  return weir::storage::sandbox_main(argument_count, arguments,
                                     weir::storage::answer_about_hdf5_file);
}
