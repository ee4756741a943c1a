// MADbench2's parameters and the rules that they must satisfy (Borrill et al., section 2.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"

namespace weir::bench::madbench {

struct Size {
  std::int64_t no_pe = 0;       // ranks of the job
  std::int64_t no_pix = 0;      // rows and columns of a matrix
  std::int64_t no_bin = 0;      // matrices
  std::int64_t no_gang = 0;     // gangs of the second gang level
  std::int64_t sblocksize = 0;  // rows and columns of a ScaLAPACK block
  std::int64_t fblocksize = 0;  // bytes; every matrix share starts at a multiple of it
  std::int64_t rmod = 0;        // one in rmod consecutive ranks reads at a time
  std::int64_t wmod = 0;
};

enum class Method { posix, mpi };
enum class Mode { sync, async, none };
enum class FileType { unique, shared };

struct Variant {
  Method method = Method::posix;
  Mode mode = Mode::sync;
  FileType file_type = FileType::unique;
};

[[nodiscard]] const char* name_of(Method method);  // POSIX, MPI: as the original prints them
[[nodiscard]] const char* name_of(Mode mode);
[[nodiscard]] const char* name_of(FileType file_type);
[[nodiscard]] std::string label_of(const Variant& variant);  // "POSIX UNIQUE SYNC"
[[nodiscard]] std::string slug_of(const Variant& variant);   // "posix-unique-sync"

// Returns the declarations of the workload's own settings, to which the measurement core adds its
// settings.
[[nodiscard]] std::vector<Setting> declarations();

// Returns the size, or the variants, from resolved settings. Fails with the broken rule and the
// values.
[[nodiscard]] Result<Size> size_of(const Settings& settings, std::int64_t ranks);
[[nodiscard]] std::vector<Variant> variants_of(const Settings& settings);

// Checks every rule between the parameters. The error names the first broken rule with its values.
[[nodiscard]] Status validate(const Size& size);

// Returns the integer square root if `value` is a square, otherwise nothing.
[[nodiscard]] std::optional<std::int64_t> exact_square_root(std::int64_t value);

}  // namespace weir::bench::madbench
