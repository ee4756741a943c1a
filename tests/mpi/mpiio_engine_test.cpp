// The engine that calls MPI, in the suites that all engines are in.
#include "aggregation/engines/mpiio_engine.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>

#include "engines/test_engines.hpp"
#include "system/test_folder.hpp"

namespace {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): what a test changes
bool counts_fail = false;
}  // namespace

// Stands in front of MPI's.
int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return counts_fail ? MPI_ERR_OTHER : PMPI_Get_elements_x(status, type, count);
}

namespace weir::storage {

// Without the count a write might be taken for one that wrote nothing, or all.
TEST(MpiIoEngine, ACountThatIsNotToldIsAnErrorOfItsCall) {
  const TestFolder folder;
  const auto engine = aggregation::make_mpiio_engine();
  const auto file = engine->open(folder.path("file"), {.write = true, .bytes_when_made = 4096});
  ASSERT_TRUE(file.ok()) << file.error().text();
  std::array<std::byte, 64> bytes{};
  const std::array<Slice, 1> slices = {Slice{bytes.data(), bytes.size()}};
  const std::array<FileRange, 1> ranges = {FileRange{file.value().get(), 0, slices}};
  FileTraffic traffic;
  counts_fail = true;
  const Status written = engine->write(ranges, traffic);
  const Status read = engine->read(ranges, traffic);
  counts_fail = false;
  for (const Status& one : {written, read}) {
    ASSERT_FALSE(one.ok());
    EXPECT_NE(one.error().text().find("MPI_Get_elements_x"), std::string::npos)
        << one.error().text();
  }
  EXPECT_EQ(traffic.written + traffic.read, 0);
}

std::vector<TestedEngine> tested_engines() {
  return {{"mpi_io", [] { return aggregation::make_mpiio_engine(); }}};
}

}  // namespace weir::storage
