#include "measurement/process_io.hpp"

#include <fstream>
#include <string>

namespace weir::bench {

std::optional<ProcessIo> process_io() {
  std::ifstream file("/proc/self/io");
  ProcessIo io;
  int found = 0;
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;) {
    if (name == "rchar:") {
      io.bytes_read = value;
      ++found;
    } else if (name == "wchar:") {
      io.bytes_written = value;
      ++found;
    }
  }
  if (found != 2) return std::nullopt;
  return io;
}

}  // namespace weir::bench
