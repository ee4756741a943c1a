// A session that is opened before MPI_Init is refused by a line that names MPI. One that is still
// open after MPI_Finalize, as one is that main() holds without a block of its own: its calls are
// refused with a line, and its destructors do nothing: PROGRAM FOLDER.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>
#include <weir/weir.hpp>

namespace {

bool is_refused(int code, const char* call) {
  const std::string line = weir_last_error();
  if (code == WEIR_E_ARGUMENT && line.find("MPI_Finalize") != std::string::npos) return true;
  std::fprintf(stderr, "%s gave %d: %s\n", call, code, line.c_str());
  return false;
}

// As in a program that runs another MPI.
bool is_refused_before_mpi_runs() {
  weir_session* session = nullptr;
  const int code = weir_session_open(MPI_COMM_WORLD, nullptr, &session);
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> mpi{};
  int length = 0;
  MPI_Get_library_version(mpi.data(), &length);
  const std::string first_word(mpi.data(), std::string_view(mpi.data()).find(' '));
  const bool names_it = std::string(weir_last_error()).find(first_word) != std::string::npos;
  return is_refused(code, "weir_session_open") && names_it && session == nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (!is_refused_before_mpi_runs()) return 1;
  MPI_Init(&argc, &argv);
  const std::string folder = argc > 1 ? argv[1] : ".";
  weir::Session session(MPI_COMM_WORLD);
  const auto rows = session.distribution({64}, "BLOCK");
  auto array = session.create<double>(folder + "/after_finalize", {64});
  const std::vector<double> part(rows.elements(), 1);
  weir_session* other = nullptr;
  if (weir_session_open(MPI_COMM_WORLD, nullptr, &other) != 0) return 1;
  auto request = session.write_begin({weir::Outgoing(array, rows, part)});
  MPI_Finalize();
  const bool refused = is_refused(weir_write(array.get(), rows.get(), part.data()), "weir_write") &&
                       is_refused(weir_session_close(&other), "weir_session_close");
  return refused && other == nullptr ? 0 : 1;
}
