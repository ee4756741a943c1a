// Finds which libraries a shared library needs, without loading it.
#pragma once

#include <cstddef>

namespace weir::mpiio {

// Calls visit(name) for each library that the ELF file at `path` is linked with, as the loader
// knows it, such as libmpi.so.40, until a call returns true. Returns whether one did; false, too,
// if the file cannot be read or is no shared library of this machine. Allocates nothing.
bool any_needed_library(const char* path, bool (*visit)(const char* name));

}  // namespace weir::mpiio
