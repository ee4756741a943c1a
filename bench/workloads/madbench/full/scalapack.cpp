#include "workloads/madbench/full/scalapack.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/madbench/full/scalapack_library.hpp"

namespace weir::bench::madbench {

// Fortran passes all arguments by address, and the length of each character argument at the end.
struct ScalapackFunctions {
  int (*system_handle)(MPI_Comm communicator) = nullptr;
  void (*free_system_handle)(int handle) = nullptr;
  void (*grid_map)(int* context, int* ranks, int leading, int rows, int columns) = nullptr;
  void (*grid_exit)(int context) = nullptr;
  void (*pdpotrf)(const char* triangle, const int* n, double* a, const int* ia, const int* ja,
                  const int* descriptor, int* info, std::size_t length) = nullptr;
  void (*pdpotri)(const char* triangle, const int* n, double* a, const int* ia, const int* ja,
                  const int* descriptor, int* info, std::size_t length) = nullptr;
  void (*pdtran)(const int* m, const int* n, const double* alpha, const double* a, const int* ia,
                 const int* ja, const int* descriptor_a, const double* beta, double* c,
                 const int* ic, const int* jc, const int* descriptor_c) = nullptr;
  void (*pdgemm)(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                 const int* k, const double* alpha, const double* a, const int* ia, const int* ja,
                 const int* descriptor_a, const double* b, const int* ib, const int* jb,
                 const int* descriptor_b, const double* beta, double* c, const int* ic,
                 const int* jc, const int* descriptor_c) = nullptr;
  void (*pdgemr2d)(const int* m, const int* n, const double* a, const int* ia, const int* ja,
                   const int* descriptor_a, double* b, const int* ib, const int* jb,
                   const int* descriptor_b, const int* context) = nullptr;
};

namespace {

constexpr int one = 1;
constexpr double unity = 1;
constexpr double zero = 0;
constexpr const char* lower = "L";
constexpr const char* as_it_is = "N";
constexpr std::int64_t panels = 16;  // of a product; each ends with a call of progress

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

const char* first_missing(void* library, ScalapackFunctions& f) {
  if (!find(library, "Csys2blacs_handle", f.system_handle)) return "Csys2blacs_handle";
  if (!find(library, "Cfree_blacs_system_handle", f.free_system_handle)) {
    return "Cfree_blacs_system_handle";
  }
  if (!find(library, "Cblacs_gridmap", f.grid_map)) return "Cblacs_gridmap";
  if (!find(library, "Cblacs_gridexit", f.grid_exit)) return "Cblacs_gridexit";
  if (!find(library, "pdpotrf_", f.pdpotrf)) return "pdpotrf";
  if (!find(library, "pdpotri_", f.pdpotri)) return "pdpotri";
  if (!find(library, "pdtran_", f.pdtran)) return "pdtran";
  if (!find(library, "pdgemm_", f.pdgemm)) return "pdgemm";
  if (!find(library, "pdgemr2d_", f.pdgemr2d)) return "pdgemr2d";
  return nullptr;
}

Result<ScalapackFunctions> load() {
  for (const char* name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    // This happens before the library reads it; no other thread of this process reads the
    // environment.
    setenv(name, "1", /*overwrite=*/0);  // NOLINT(concurrency-mt-unsafe)
  }
  void* library = dlopen(scalapack_library, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): nothing else loads libraries
    return Error(ErrorCode::unsupported,
                 fmt::format("--full: ScaLAPACK cannot be loaded: {}", reason));
  }
  ScalapackFunctions functions;
  if (const char* missing = first_missing(library, functions); missing != nullptr) {
    return Error(ErrorCode::unsupported,
                 fmt::format("--full: {} has no function {}: build with another ScaLAPACK",
                             scalapack_library, missing));
  }
  return functions;
}

int narrow(std::int64_t value) { return static_cast<int>(value); }  // checked by check_scalapack()

}  // namespace

Status check_scalapack(const Size& size) {
  if (std::string_view(scalapack_library).empty()) {
    return Error(ErrorCode::unsupported,
                 "--full: this weir-bench was built without ScaLAPACK; install "
                 "libscalapack-openmpi-dev (or your system's ScaLAPACK) and build again");
  }
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const std::int64_t side = *exact_square_root(size.no_pe / size.no_gang);
  const Distribution largest = Distribution::of(size.no_pix, size.sblocksize, side, 0);
  if (size.no_pix > most || size.sblocksize > most || size.no_bin > most ||
      largest.elements() > most) {
    return invalid_argument(
        fmt::format("--full: a rank's share of a matrix would have {} numbers, but ScaLAPACK's "
                    "32-bit integers allow {}: use more ranks, fewer gangs or fewer pixels",
                    largest.elements(), most));
  }
  return {};
}

Result<const ScalapackFunctions*> load_scalapack() {
  static const Result<ScalapackFunctions> loaded = load();
  if (!loaded) return loaded.error();
  return &loaded.value();
}

ProcessGrid::ProcessGrid(const ScalapackFunctions& functions, const Distribution& distribution)
    : functions_(functions), distribution_(distribution) {}

std::unique_ptr<ProcessGrid> ProcessGrid::create(const ScalapackFunctions& functions,
                                                 MPI_Comm communicator, std::int64_t pixels,
                                                 std::int64_t block) {
  int ranks = 1;
  int rank = 0;
  MPI_Comm_size(communicator, &ranks);
  MPI_Comm_rank(communicator, &rank);
  const std::int64_t side = *exact_square_root(ranks);
  std::unique_ptr<ProcessGrid> grid(
      new ProcessGrid(functions, Distribution::of(pixels, block, side, rank)));
  grid->handle_ = functions.system_handle(communicator);
  std::vector<int> map(static_cast<std::size_t>(ranks));
  std::iota(map.begin(), map.end(), 0);  // column by column, as the ranks are numbered
  grid->context_ = grid->handle_;
  functions.grid_map(&grid->context_, map.data(), narrow(side), narrow(side), narrow(side));
  return grid;
}

ProcessGrid::~ProcessGrid() {
  if (context_ < 0) return;
  functions_.grid_exit(context_);
  functions_.free_system_handle(handle_);
}

void ProcessGrid::abandon() { context_ = -1; }

ProcessGrid::Descriptor ProcessGrid::descriptor() const {
  constexpr int dense = 1;
  const int block = narrow(distribution_.block);
  const int pixels = narrow(distribution_.pixels);
  return {dense,  context_, pixels,
          pixels, block,    block,
          0,      0,        std::max(narrow(distribution_.rows()), 1)};
}

Status ProcessGrid::factor(double* matrix) const {
  const Descriptor own = descriptor();
  const int n = narrow(distribution_.pixels);
  int info = 0;
  functions_.pdpotrf(lower, &n, matrix, &one, &one, own.data(), &info, 1);
  if (info == 0) return {};
  if (info > 0) {
    return invalid_argument(fmt::format(
        "the correlation matrix of the data is not positive definite (pdpotrf: minor {} of {})",
        info, n));
  }
  return Error(ErrorCode::unsupported, fmt::format("pdpotrf rejected its argument {}", -info));
}

Status ProcessGrid::invert_factored(double* matrix) const {
  const Descriptor own = descriptor();
  const int n = narrow(distribution_.pixels);
  int info = 0;
  functions_.pdpotri(lower, &n, matrix, &one, &one, own.data(), &info, 1);
  if (info == 0) return {};
  return invalid_argument(fmt::format(
      "the correlation matrix of the data cannot be inverted (pdpotri: info {})", info));
}

void ProcessGrid::transpose(const double* matrix, double* transposed) const {
  const Descriptor own = descriptor();
  const int n = narrow(distribution_.pixels);
  functions_.pdtran(&n, &n, &unity, matrix, &one, &one, own.data(), &zero, transposed, &one, &one,
                    own.data());
}

void ProcessGrid::multiply(const double* left, const double* right, double* product,
                           const std::function<void()>& progress) const {
  const Descriptor own = descriptor();
  const int n = narrow(distribution_.pixels);
  // A panel consists of whole rounds of blocks, so that it has work for every column of the grid.
  const std::int64_t round = distribution_.block * distribution_.side;
  const std::int64_t rounds = (distribution_.pixels + round - 1) / round;
  const std::int64_t width = round * std::max<std::int64_t>(1, (rounds + panels - 1) / panels);
  for (std::int64_t first = 0; first < distribution_.pixels; first += width) {
    const int columns = narrow(std::min(width, distribution_.pixels - first));
    const int column = narrow(first + 1);
    functions_.pdgemm(as_it_is, as_it_is, &n, &columns, &n, &unity, left, &one, &one, own.data(),
                      right, &one, &column, own.data(), &zero, product, &one, &column, own.data());
    if (progress) progress();
  }
}

void ProcessGrid::redistribute(const double* matrix, const ProcessGrid* gang_grid,
                               double* gang_matrix) const {
  const Descriptor own = descriptor();
  Descriptor gang{};
  gang[1] = -1;
  if (gang_grid != nullptr) gang = gang_grid->descriptor();
  const int n = narrow(distribution_.pixels);
  functions_.pdgemr2d(&n, &n, matrix, &one, &one, own.data(), gang_matrix, &one, &one, gang.data(),
                      &context_);
}

}  // namespace weir::bench::madbench
