// Every combination of interface, pattern, collective or not, file per rank or shared, and order of
// reading puts the same bytes to the same places: the payload is a function of the place alone, so
// all patterns of one size make the same file. What is read is verified by the run itself; what is
// left on disk is compared, byte for byte, with what POSIX segmented left. HDF5 and PnetCDF files
// must contain these bytes as one piece. Sizes are small: a block is a few kilobytes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "measurement/environment.hpp"
#include "measurement/mpi_control_variables.hpp"
#include "measurement/mpi_hints.hpp"
#include "measurement/opened_hints.hpp"
#include "measurement/system_text.hpp"
#include "workload.hpp"
#include "workloads/stream/execute.hpp"

namespace weir::bench::stream {
namespace {

using test::is_ok;
using test::is_ok_on_all_ranks;

constexpr std::uint64_t payload_seed = 7;
constexpr std::int64_t page_and_more = 8192;

using Name = const char*;

bool holds_a_header(const Interface& api) { return api.name == "hdf5" || api.name == "pnetcdf"; }

Variant variant_of(Name api, Pattern pattern, bool file_per_rank, std::int64_t transfer_bytes) {
  Variant variant;
  variant.api = interface_named(api);
  variant.pattern = pattern;
  variant.block_bytes = 6 * transfer_bytes;
  variant.transfer_bytes = transfer_bytes;
  variant.segments = 3;
  variant.queue_depth = variant.api->can.queue ? 4 : 1;
  variant.file_per_rank = file_per_rank;
  return variant;
}

std::string content(const std::string& path) {
  const auto bytes = test::content_of<char>(path);
  return {bytes.begin(), bytes.end()};
}

class Streams : public WorkloadTest {
 protected:
  // Compares what `variant` leaves with what POSIX segmented leaves.
  void expect_the_bytes_of_posix(const Variant& variant, const Options& options,
                                 const CoreSettings& core) {
    const std::pair key{variant.file_per_rank, variant.transfer_bytes};
    if (!references_.contains(key)) {
      const Variant first = variant_of("POSIX", Pattern::segmented, key.first, key.second);
      run(first, {}, not_durable(), references_[key]);
      if (HasFatalFailure()) return;
    }
    std::string left;
    run(variant, options, core, left);
    const bool has_left = variant.file_per_rank || job().rank == 0;
    if (HasFatalFailure() || !has_left) return;
    const std::string& reference = references_[key];
    EXPECT_FALSE(reference.empty());
    if (holds_a_header(*variant.api)) {
      EXPECT_NE(left.find(reference), std::string::npos) << "the bytes are not in the file";
    } else {
      EXPECT_TRUE(left == reference) << "other bytes on disk than the first";
    }
  }
  // Returns settings by which everything goes to the storage and comes from it.
  [[nodiscard]] static CoreSettings durable() {
    CoreSettings core = not_durable();
    core.durability = storage::Durability::full;
    core.drop_cache = true;
    return core;
  }

 private:
  // `left` is the file, which every rank has where each has one of its own, and otherwise rank 0.
  void run(Variant variant, Options options, const CoreSettings& core, std::string& left) {
    SCOPED_TRACE(fmt::format("{} {}{}", variant.api->title, name_of(variant.pattern),
                             variant.collective ? " collective" : ""));
    variant.slug = "slug";
    options.keep = true;
    options.test_files = {path("file")};
    const Layout layout = layout_of(variant, options, job().size);
    const Configuration configuration{
        .variant = variant,
        .layout = layout,
        .files = FileNames(options, variant, {{folder(), "file"}}, folder(), "id"),
        .payload_seed = payload_seed};
    Executor executor(job(), guard(), core, options,
                      TestFiles{.directory = path("none"), .paths = {}});
    const auto record = executor.run(configuration, 0);
    ASSERT_TRUE(is_ok_on_all_ranks(record));
    check_record(record.value(), layout);
    MPI_Barrier(job().world);
    const bool has_file = variant.file_per_rank || job().rank == 0;
    const std::string file = configuration.files.path(job().rank, 0);
    if (has_file) left = content(file);
    if (has_file && !holds_a_header(*variant.api)) {
      EXPECT_EQ(static_cast<std::int64_t>(left.size()), layout.file_bytes());
    }
    MPI_Barrier(job().world);
    if (has_file) std::filesystem::remove(file);
    MPI_Barrier(job().world);
  }
  static void check_record(const RepetitionRecord& record, const Layout& layout) {
    EXPECT_EQ(record.phases.size(), 2U);
    for (const PhaseRecord& phase : record.phases) {
      EXPECT_EQ(phase.bytes, layout.bytes_per_rank());
      EXPECT_EQ(phase.latencies.count(), static_cast<std::uint64_t>(layout.operations_per_rank()));
      EXPECT_GE(phase.end_ns, phase.start_ns);
      EXPECT_GT(phase.io_ns, 0);
    }
    EXPECT_GE(record.bytes_verified, layout.bytes_per_rank());
  }

  std::map<std::pair<bool, std::int64_t>, std::string> references_;
};

std::string short_name(Name api) {
  std::string name = api;
  std::erase(name, '_');
  return name;
}

// Interface, file per rank or shared, and bytes of a transfer.
class Patterns : public Streams,
                 public ::testing::WithParamInterface<std::tuple<Name, bool, std::int64_t>> {};

std::string name_of_patterns(const ::testing::TestParamInfo<Patterns::ParamType>& tested) {
  const auto [api, file_per_rank, bytes] = tested.param;
  return short_name(api) + (file_per_rank ? "FilePerRank" : "SharedFile") + std::to_string(bytes);
}

INSTANTIATE_TEST_SUITE_P(
    All, Patterns,
    // A page and more, less than a page, and neither.
    ::testing::Combine(::testing::Values("POSIX", "IO_URING", "MPIIO", "HDF5", "PNETCDF"),
                       ::testing::Bool(), ::testing::Values(page_and_more, 40, 5000)),
    name_of_patterns);

// Half of the patterns of a size are moved by collective calls, and on other numbers of ranks the
// other half: every pattern, size and kind of file meets both kinds of calls.
bool is_collective(std::size_t pattern, bool file_per_rank, std::int64_t transfer_bytes,
                   int ranks) {
  const std::size_t size = transfer_bytes == page_and_more ? 0 : transfer_bytes == 40 ? 1 : 2;
  return (pattern + size + (file_per_rank ? 1U : 0U) + static_cast<std::size_t>(ranks)) % 2 == 0;
}

TEST_P(Patterns, PutTheSameBytesToTheSamePlaces) {
  const auto [api, file_per_rank, transfer_bytes] = GetParam();
  if (!check_available(*interface_named(api), api))
    GTEST_SKIP() << "the interface is not available";
  const std::array patterns = {Pattern::segmented, Pattern::interleaved, Pattern::strided,
                               Pattern::random};
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    Variant variant = variant_of(api, patterns[i], file_per_rank, transfer_bytes);
    variant.collective =
        variant.api->can.collective && is_collective(i, file_per_rank, transfer_bytes, job().size);
    expect_the_bytes_of_posix(variant, {}, not_durable());
    if (HasFatalFailure()) return;
  }
}

class DurableStreams : public Streams, public ::testing::WithParamInterface<Name> {};

INSTANTIATE_TEST_SUITE_P(All, DurableStreams,
                         ::testing::Values("POSIX", "IO_URING", "MPIIO", "HDF5", "PNETCDF"),
                         [](const auto& tested) { return short_name(tested.param); });

TEST_P(DurableStreams, OtherRanksReadTheSameBytes) {
  if (!check_available(*interface_named(GetParam()), GetParam()))
    GTEST_SKIP() << "the interface is not available";
  Options options;
  options.check_write = true;
  options.reorder = Reorder::constant;
  expect_the_bytes_of_posix(variant_of(GetParam(), Pattern::random, false, page_and_more), options,
                            durable());
  options.reorder = Reorder::random;
  expect_the_bytes_of_posix(variant_of(GetParam(), Pattern::interleaved, true, page_and_more),
                            options, durable());
}

TEST_F(Streams, AFileViewPutsTheSameBytesToTheSamePlaces) {
  Options options;
  options.file_view = true;
  options.preallocate = true;
  for (const Pattern pattern : {Pattern::segmented, Pattern::interleaved}) {
    for (const bool collective : {false, true}) {
      Variant variant = variant_of("MPIIO", pattern, false, page_and_more);
      variant.collective = collective;
      expect_the_bytes_of_posix(variant, options, durable());
    }
  }
}

TEST_F(Streams, WritesThatAreEachDurablePutTheSameBytesToTheSamePlaces) {
  Options options;
  options.preallocate = true;
  options.sync_each = true;
  expect_the_bytes_of_posix(variant_of("POSIX", Pattern::strided, false, page_and_more), options,
                            durable());
}

class DirectStreams : public Streams, public ::testing::WithParamInterface<Name> {};

INSTANTIATE_TEST_SUITE_P(All, DirectStreams, ::testing::Values("POSIX", "IO_URING"),
                         [](const auto& tested) { return short_name(tested.param); });

TEST_P(DirectStreams, PutTheSameBytesToTheSamePlaces) {
  if (!check_available(*interface_named(GetParam()), GetParam()))
    GTEST_SKIP() << "the interface is not available";
  Options options;
  options.preallocate = true;
  CoreSettings core = durable();
  core.direct = true;
  expect_the_bytes_of_posix(variant_of(GetParam(), Pattern::random, false, page_and_more), options,
                            core);
  expect_the_bytes_of_posix(variant_of(GetParam(), Pattern::segmented, true, page_and_more),
                            options, core);
}

std::string hint(const MpiHints& hints, const char* name) {
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int is_there = 0;
  if (hints.info() == MPI_INFO_NULL) return "no hints";
  MPI_Info_get(hints.info(), name, MPI_MAX_INFO_VAL, value.data(), &is_there);
  return is_there != 0 ? value.data() : "";
}

// How a file is to be striped is told to MPI-IO, and a file of hints goes before that.
storage::Striping striping() { return {.count = 8, .stripe_bytes = 1 << 20, .first_target = 1}; }

TEST(Hints, ThereAreNoneWithoutAStriping) {
  const auto none = MpiHints::read("");
  ASSERT_TRUE(is_ok(none));
  EXPECT_EQ(hint(none.value(), "striping_factor"), "no hints");
}

TEST(Hints, AStripingIsTold) {
  const auto hints = MpiHints::read("", striping());
  ASSERT_TRUE(is_ok(hints));
  EXPECT_EQ(hint(hints.value(), "striping_factor"), "8");
  EXPECT_EQ(hint(hints.value(), "striping_unit"), "1048576");
  EXPECT_EQ(hint(hints.value(), "start_iodevice"), "0");
}

TEST(Hints, AllTargetsAreToldAsMinusOne) {
  const auto all = MpiHints::read("", {.count = storage::Striping::all_targets});
  ASSERT_TRUE(is_ok(all));
  EXPECT_EQ(hint(all.value(), "striping_factor"), "-1");
  EXPECT_EQ(hint(all.value(), "striping_unit"), "");
  EXPECT_EQ(hint(all.value(), "start_iodevice"), "");
}

TEST_F(Streams, AFileOfHintsGoesBeforeAStriping) {
  const std::string file = path(fmt::format("hints-{}", job().rank));
  std::ofstream(file) << "striping_factor = 4\ncb_nodes = 2\n";
  const auto both = MpiHints::read(file, striping());
  std::filesystem::remove(file);
  ASSERT_TRUE(is_ok(both));
  EXPECT_EQ(hint(both.value(), "striping_factor"), "4");
  EXPECT_EQ(hint(both.value(), "cb_nodes"), "2");
  EXPECT_EQ(hint(both.value(), "striping_unit"), "1048576");
}

class OpenedByMpi : public Streams, public ::testing::WithParamInterface<Name> {};

INSTANTIATE_TEST_SUITE_P(All, OpenedByMpi, ::testing::Values("MPIIO", "HDF5", "PNETCDF"),
                         [](const auto& tested) { return short_name(tested.param); });

TEST_P(OpenedByMpi, FilesTellTheHintsThatAreInEffect) {
  if (!check_available(*interface_named(GetParam()), GetParam()))
    GTEST_SKIP() << "the interface is not available";
  Options options;
  options.hints_file = path("hints");
  if (job().rank == 0) std::ofstream(options.hints_file) << "cb_buffer_size = 1048576\n";
  MPI_Barrier(job().world);
  if (job().opened_hints) job().opened_hints->begin(7);
  expect_the_bytes_of_posix(variant_of(GetParam(), Pattern::segmented, false, page_and_more),
                            options, not_durable());
  if (job().rank == 0) std::filesystem::remove(options.hints_file);
  if (HasFatalFailure()) return;
  if (job().rank != 0) {
    EXPECT_EQ(job().opened_hints, nullptr);
    return;
  }
  const nlohmann::ordered_json record = job().opened_hints->record(7);
  ASSERT_EQ(record.size(), 2U) << record;
  EXPECT_EQ(record[0]["opened_for"], "writing");
  EXPECT_EQ(record[1]["opened_for"], "reading");
  for (const nlohmann::ordered_json& one : record) {
    EXPECT_EQ(one["given"], (nlohmann::ordered_json{{"cb_buffer_size", "1048576"}}));
    EXPECT_FALSE(one["effective"].empty()) << one;
  }
  EXPECT_EQ(job().opened_hints->record(8), nlohmann::ordered_json::array());
}

TEST_F(Streams, ParametersOfMpiAreTextsAndNumbers) {
  if (!mpi_library().starts_with("Open MPI")) GTEST_SKIP() << "the names are Open MPI's";
  expect_the_bytes_of_posix(variant_of("MPIIO", Pattern::segmented, false, page_and_more), {},
                            not_durable());  // MPI-IO's parameters exist now
  const nlohmann::json told = describe_system_software()["mpi_parameters"];
  const auto bytes = parse_integer(told.value("io_ompio_bytes_per_agg", ""));
  EXPECT_GT(bytes.value_or(0), 0) << told;
  EXPECT_EQ(MpiControlVariables().value("no such parameter"), std::nullopt);
}

TEST_F(Streams, TheFirstFileOfEachKindTellsItsHints) {
  OpenedHints opened;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", std::string(MPI_MAX_INFO_VAL - 1, '3').c_str());
  EXPECT_TRUE(opened.lacks(false));
  opened.note(false, MPI_INFO_NULL, info);
  MPI_Info_free(&info);
  EXPECT_FALSE(opened.lacks(false));
  EXPECT_TRUE(opened.lacks(true));
  const auto record = opened.record(0);
  ASSERT_EQ(record.size(), 1U);
  EXPECT_EQ(record[0]["given"], nlohmann::ordered_json::object());
  EXPECT_EQ(record[0]["effective"]["cb_nodes"], std::string(MPI_MAX_INFO_VAL - 1, '3'));
  opened.begin(1);
  EXPECT_TRUE(opened.lacks(false));
}

}  // namespace
}  // namespace weir::bench::stream
