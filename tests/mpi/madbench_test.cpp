// Every combination of method, mode, file type, gangs, RMOD and WMOD that the ranks allow moves the
// same bytes to the same places: what is read is verified by the run itself, and what is left on
// disk is compared, byte for byte, with what POSIX SYNC left. Sizes are small: a share is a few
// kilobytes. The ranks are 1, 4, 9 or 16; the 16, which wait for each other most of the time, move
// the matrices in ways of which any two settings meet.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workload.hpp"
#include "workloads/madbench/buffers.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/io_work.hpp"

namespace weir::bench::madbench {
namespace {

using test::is_ok;
using test::is_ok_on_all_ranks;

constexpr std::int64_t pixels = 70;  // not a multiple of the block: unequal shares
constexpr std::uint64_t payload_seed = 7;

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all;
}

// Returns the interface of this name, or nothing if this build lacks its library.
const Interface* built(std::string_view name) {
  const Interface* const interface = interface_named(name);
  return interface->open != nullptr ? interface : nullptr;
}

std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  for (const Interface* const method : {built("posix"), built("io_uring"), built("mpiio")}) {
    if (method == nullptr) continue;
    for (const Mode mode : {Mode::sync, Mode::async, Mode::none}) {
      for (const FileType type : {FileType::unique, FileType::shared}) {
        all.push_back({method, mode, type});
      }
    }
  }
  return all;
}

class Matrices : public WorkloadTest {
 protected:
  void run(const Size& size, const CoreSettings& core, const std::vector<Variant>& variants);
  [[nodiscard]] Size small_size() const {
    return {.no_pe = job().size,
            .no_pix = pixels,
            .no_bin = 4,
            .no_gang = 1,
            .sblocksize = 8,
            .fblocksize = 4096,
            .rmod = 1,
            .wmod = 1};
  }
  // Returns settings with most of what the measurement core offers.
  [[nodiscard]] static CoreSettings durable() {
    CoreSettings core = not_durable();
    core.durability = storage::Durability::full;
    core.drop_cache = true;
    core.rank_shift = 1;
    core.compressible_percent = 50;
    return core;
  }

 private:
  void check_record(const RepetitionRecord& record, const Configuration& configuration,
                    const Size& size, std::int64_t shift) const;
};

// Returns what the functions must have recorded, whatever the variant.
void Matrices::check_record(const RepetitionRecord& record, const Configuration& configuration,
                            const Size& size, std::int64_t shift) const {
  std::map<std::pair<int, Operation>, std::int64_t> bytes;
  for (const Event& event : record.events) {
    bytes[{event.function, event.operation}] += event.bytes;
    EXPECT_GE(event.end_ns, event.start_ns);
    EXPECT_GE(event.foreground_ns, 0);
  }
  // With --rank-shift a rank handles another's data in W and another one's again in C.
  const Layout& layout = configuration.layout;
  const auto owner = [&](std::int64_t shifts) {
    return (job().rank + shifts * shift) % size.no_pe;
  };
  const bool moves = configuration.variant.mode != Mode::none;
  const auto level_1 = [&](std::int64_t shifts) {
    return moves ? size.no_bin * layout.share_bytes(GangLevel::all_ranks, owner(shifts)) : 0;
  };
  const auto level_2 = [&](std::int64_t shifts) {
    const std::int64_t matrices = size.no_bin / size.no_gang;
    return moves ? matrices * layout.share_bytes(GangLevel::gang, owner(shifts)) : 0;
  };
  EXPECT_EQ((bytes[{0, Operation::write}]), level_1(0)) << "bytes written by S";
  EXPECT_EQ((bytes[{2, Operation::read}]), level_1(1)) << "bytes read by W";
  EXPECT_EQ((bytes[{2, Operation::write}]), level_2(1)) << "bytes written by W";
  EXPECT_EQ((bytes[{3, Operation::read}]), level_2(2)) << "bytes read by C";
  EXPECT_EQ(record.bytes_verified, level_1(1) + level_2(2));
  EXPECT_EQ(record.functions.size(), 3U) << "S, W, C";
}

void Matrices::run(const Size& size, const CoreSettings& core,
                   const std::vector<Variant>& variants) {
  const Layout any = Layout::create(size, FileType::unique).value();
  auto buffers = Buffers::create(std::max(any.largest_share_bytes(GangLevel::all_ranks),
                                          any.largest_share_bytes(GangLevel::gang)) +
                                 4096);
  IoWork work(size, /*alpha=*/0.5, core.compressible_percent, buffers.value());
  Executor executor(job(), guard(), core, size, work);
  std::map<FileType, std::vector<char>> reference;
  for (const Variant& variant : variants) {
    const Configuration configuration{.variant = variant,
                                      .layout = Layout::create(size, variant.file_type).value(),
                                      .label = label_of(variant),
                                      .slug = slug_of(variant),
                                      .directories = {folder()},
                                      .payload_seed = payload_seed};
    SCOPED_TRACE(fmt::format("{}: {} gangs rmod {} wmod {}", configuration.label, size.no_gang,
                             size.rmod, size.wmod));
    const auto record = executor.run(configuration, 0);
    ASSERT_TRUE(is_ok_on_all_ranks(record));
    check_record(record.value(), configuration, size, core.rank_shift);
    if (variant.mode != Mode::none) {
      const auto left = test::content_of<char>(configuration.file_of(job().rank));
      EXPECT_FALSE(left.empty()) << "nothing on disk";
      const auto [place, first] = reference.try_emplace(variant.file_type, left);
      EXPECT_TRUE(first || place->second == left) << "other bytes on disk than the first";
    }
    MPI_Barrier(job().world);
    EXPECT_TRUE(is_ok(executor.remove_files(configuration)));
  }
}

// The parameter is the number of gangs.
class Gangs : public Matrices, public ::testing::WithParamInterface<std::int64_t> {};

INSTANTIATE_TEST_SUITE_P(Numbers, Gangs, ::testing::Values(1, 4, 9, 16),
                         ::testing::PrintToStringParamName());

// Returns the variants that are tried with the RMOD of this place: on 16 ranks those of POSIX SYNC,
// with which others are compared, and for each method one mode.
std::vector<Variant> tried_variants(int ranks, std::size_t place) {
  std::vector<Variant> all = all_variants();
  if (ranks < 16) return all;
  const std::array methods = {built("posix"), built("io_uring"), built("mpiio")};
  std::erase_if(all, [&](const Variant& one) {
    if (one.method == methods[0] && one.mode == Mode::sync) return false;
    const auto method = std::find(methods.begin(), methods.end(), one.method) - methods.begin();
    const std::size_t mode = one.mode == Mode::sync ? 0 : one.mode == Mode::async ? 1 : 2;
    return mode != (static_cast<std::size_t>(method) + place) % 3;
  });
  return all;
}

TEST_P(Gangs, EveryVariantMovesTheSameBytesToTheSamePlaces) {
  const std::int64_t gangs = GetParam();
  Size size{.no_pe = job().size,
            .no_pix = pixels,
            .no_bin = gangs == 1 ? 3 : 2 * gangs,
            .no_gang = gangs,
            .sblocksize = 8,
            .fblocksize = 512,
            .rmod = 1,
            .wmod = 1};
  if (!validate(size)) GTEST_SKIP() << "the ranks do not make that many gangs";
  const std::int64_t gang = job().size / gangs;
  auto place = static_cast<std::size_t>(gangs);
  for (const std::int64_t rmod : divisors(gang)) {
    size.rmod = rmod;
    size.wmod = gang / rmod;
    run(size, not_durable(), tried_variants(job().size, place++));
    if (HasFatalFailure()) return;
  }
  size.rmod = size.wmod = gang;
  run(size, not_durable(), tried_variants(job().size, place));
}

TEST_F(Matrices, AreTheSameWhenDurableAndCompressibleWithShiftedRanks) {
  run(small_size(), durable(), all_variants());
}

TEST_F(Matrices, AreTheSameWhenRanksAreShiftedByMoreThanTheirNumber) {
  CoreSettings core = durable();
  core.rank_shift = job().size + 2;
  run(small_size(), core, {{built("posix"), Mode::sync, FileType::shared}});
}

TEST_F(Matrices, AreTheSameWhenTheyAreMovedByDirectIo) {
  CoreSettings core = durable();
  core.rank_shift = job().size + 2;
  core.direct = true;
  std::vector<Variant> variants = all_variants();
  std::erase_if(variants, [](const Variant& one) {
    return !one.method->can.direct || one.mode == Mode::none;
  });
  run(small_size(), core, variants);
}

}  // namespace
}  // namespace weir::bench::madbench
