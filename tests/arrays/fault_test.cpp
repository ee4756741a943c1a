// Storage that fails under the library: every rank gets the error of the rank that met it, with
// rank, file and offset; what was written before is whole; the session goes on. The faults come
// from a preloaded library (tests/failure/faulty_io.c), which these tests tell what to spoil.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "parallel.hpp"

namespace weir::test {
namespace {

struct Way {
  const char* strategy;
  std::int64_t aggregators;
  std::int64_t ranks_per_node;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.strategy; }

weir_session_options options_of(const Way& way) {
  weir_session_options options = {};
  options.strategy = way.strategy;
  options.aggregators = way.aggregators;
  options.ranks_per_node = way.ranks_per_node;
  options.buffer_bytes = 2048;
  options.deadline_seconds = 60;
  return options;
}

// By the fault that is set, on this rank.
int calls_spoiled() {
  const auto count = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "faulty_io_hits"));
  return count != nullptr ? count() : 0;
}

// Each rank holds 3 rows with ghost cells around: what is contiguous in the file lies in several
// places of its memory.
class Faults : public OnRanks, public ::testing::WithParamInterface<Way> {
 protected:
  Faults() : session_(MPI_COMM_WORLD, options_of(GetParam())) {}

  [[nodiscard]] std::vector<double> memory_of(double value) const {
    return std::vector<double>(5 * 1002, value);
  }
  [[nodiscard]] int write(const Array& array, double value) {
    return code_of([&] { session_.write_many({{array, rows_, memory_of(value), around_}}); });
  }
  [[nodiscard]] int read(const Array& array, std::vector<double>& memory) {
    return code_of([&] { session_.read_many({{array, rows_, memory, around_}}); });
  }
  void expect_content(const Array& array, double value) {
    auto memory = memory_of(-1);
    EXPECT_EQ(read(array, memory), 0) << weir_last_error();
    for (std::size_t row = 0; row < 5; ++row) {
      for (std::size_t column = 0; column < 1002; ++column) {
        const bool held = row >= 1 && row <= 3 && column >= 1 && column <= 1000;
        ASSERT_EQ(memory[row * 1002 + column], held ? value : -1) << row << ", " << column;
      }
    }
  }
  void expect_failure(int code, const std::string& cause, const std::string& file) {
    EXPECT_EQ(code, WEIR_E_IO) << weir_last_error();
    const std::string mine = weir_last_error();
    for (const std::string& part :
         {std::string("rank 1: "), cause, path(file), std::string("offset ")}) {
      EXPECT_NE(mine.find(part), std::string::npos) << mine;
    }
    EXPECT_TRUE(is_same_on_all_ranks(mine));
  }

  Session session_;
  const Extents shape_ = {3 * size_of_world(), 1000};
  const Distribution rows_ = session_.distribution(shape_, "BLOCK, *");
  const Memory around_ = {.ghost_lower = {1, 1}, .ghost_upper = {1, 1}};

 private:
  template <typename Call>
  static int code_of(Call call) {
    try {
      call();
    } catch (const Failure& failure) {
      return failure.code();
    }
    return WEIR_OK;
  }
};

TEST_P(Faults, AFailedWriteIsToldToAllAndTheNextOneWorks) {
  auto earlier = session_.create<double>(path("weir-earlier"), shape_);
  auto array = session_.create<double>(path("weir-array"), shape_);
  ASSERT_EQ(write(earlier, 1), 0) << weir_last_error();
  double value = 2;
  for (const auto& [error, cause] : {std::pair{"EIO", "Input/output error"},
                                     {"ENOSPC", "No space left on device"},
                                     {"EDQUOT", "Disk quota exceeded"}}) {
    for (const char* const number : {"1", "2"}) {
      if (GetParam().strategy == std::string("direct") && *number == '2') continue;
      {
        const Fault fault(std::string("rank=1,call=pwrite,nth=") + number + ",error=" + error);
        expect_failure(write(array, value), cause, "weir-array");
      }
      expect_content(earlier, 1);
      EXPECT_EQ(write(array, value), 0) << weir_last_error();
      expect_content(array, value);
      ++value;
    }
  }
}

TEST_P(Faults, AFailedReadIsToldToAllAndTheNextOneWorks) {
  auto array = session_.create<double>(path("weir-array"), shape_);
  ASSERT_EQ(write(array, 7), 0) << weir_last_error();
  auto memory = memory_of(0);
  {
    const Fault fault("rank=1,call=pread,nth=1,error=EIO");
    expect_failure(read(array, memory), "Input/output error", "weir-array");
  }
  {
    const Fault fault("rank=1,call=pread,nth=1,effect=short");
    expect_failure(read(array, memory), "the file ends", "weir-array");
  }
  expect_content(array, 7);
}

TEST_P(Faults, CallsThatDoPartOfTheirWorkOrAreInterruptedAreGoneOnWith) {
  auto array = session_.create<double>(path("weir-array"), shape_);
  double value = 1;
  for (const char* const fault : {"call=pwrite,nth=1,effect=short", "call=pwrite,nth=1,error=EINTR",
                                  "call=pread,nth=1,error=EINTR"}) {
    const Fault now(fault);
    EXPECT_EQ(write(array, value), 0) << weir_last_error();
    expect_content(array, value);
    ++value;
  }
}

// Every system call that opens, lengthens, makes durable or closes is interrupted the first time
// that it is made, on every rank and by every format.
TEST_P(Faults, CallsForWholeFilesThatASignalInterruptsAreMadeAgain) {
  weir_define_options stepped{};
  stepped.steps = 1;
  weir_file_options durable{};
  durable.durability = "step";
  for (const char* const call : {"open", "ftruncate", "fsync", "fdatasync", "close"}) {
    int hits = 0;
    for (const char* const name : {"weir-a", "weir-a.nc", "weir-a.h5", "weir-a.zarr"}) {
      const std::string made = path(std::string(name) + call);
      SCOPED_TRACE(made);
      durable.format = name == std::string("weir-a")      ? "raw"
                       : name == std::string("weir-a.nc") ? "cdf5"
                       : name == std::string("weir-a.h5") ? "hdf5"
                                                          : "zarr";
      {
        const Fault fault(std::string("call=") + call + ",nth=0,error=EINTR,tree=ForWholeFiles");
        auto file = session_.create_file(made, durable);
        auto array = file.define<double>("a", shape_, stepped);
        for (const int step : {1, 2}) {
          file.begin_step();
          array.write(rows_, std::vector<double>(rows_.elements(), step));
          file.end_step();
        }
        file.close();
        auto again = session_.open_file(made);
        again.select_step(1);
        std::vector<double> part(rows_.elements());
        again.array("a").read(rows_, part);
        EXPECT_EQ(part, std::vector<double>(rows_.elements(), 2));
        again.close();
        hits += calls_spoiled();
      }
    }
    int all = 0;
    MPI_Allreduce(&hits, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_GT(all, 0) << call << ": no such call was interrupted";
  }
}

TEST_P(Faults, WhatCannotBeMadeDurableIsToldToAll) {
  auto array = session_.create<double>(path("weir-array"), shape_);
  ASSERT_EQ(write(array, 1), 0) << weir_last_error();
  {
    // On whichever rank makes it durable for those that share the open file.
    const Fault fault("call=fdatasync,nth=1,error=EIO");
    EXPECT_EQ(weir_array_sync(array.get()), WEIR_E_IO);
    const std::string text = weir_last_error();
    EXPECT_NE(text.find("rank "), std::string::npos) << text;
    EXPECT_NE(text.find("fdatasync failed"), std::string::npos) << text;
  }
  // The system would say that all is well, having dropped the bytes.
  EXPECT_EQ(weir_array_sync(array.get()), WEIR_E_IO);
  EXPECT_NE(std::string(weir_last_error()).find("write it again"), std::string::npos)
      << weir_last_error();
  ASSERT_EQ(write(array, 2), 0) << weir_last_error();
  EXPECT_EQ(weir_array_sync(array.get()), 0) << weir_last_error();
  expect_content(array, 2);
}

// The document and then the folder's entries: without them the bytes are found no more.
TEST_P(Faults, AnArrayIsDurableWithTheNamesThatFindIt) {
  for (const char* const number : {"1", "2"}) {
    auto array = session_.create<double>(path("weir-array"), shape_);
    ASSERT_EQ(write(array, 1), 0) << weir_last_error();
    {
      const Fault fault(std::string("call=fsync,tree=tests/arrays,error=EIO,nth=") + number);
      EXPECT_EQ(weir_array_sync(array.get()), WEIR_E_IO) << number;
    }
    EXPECT_EQ(weir_array_sync(array.get()), WEIR_E_IO);
    EXPECT_NE(std::string(weir_last_error()).find("create it again"), std::string::npos)
        << weir_last_error();
    array.close();
    auto again = session_.create<double>(path("weir-array"), shape_);
    ASSERT_EQ(write(again, 2), 0) << weir_last_error();
    EXPECT_EQ(weir_array_sync(again.get()), 0) << weir_last_error();
    {
      const Fault fault(std::string("call=fsync,tree=tests/arrays,error=EIO,nth=1,try=") + number);
      EXPECT_EQ(weir_array_sync(again.get()), 0) << "names are made durable once";
    }
    again.close();
  }
}

TEST_P(Faults, AStepThatCouldNotBeMadeDurableIsCommittedOnlyWhenItIsWrittenAgain) {
  weir_define_options stepped{};
  stepped.steps = 1;
  const std::vector<double> part(rows_.elements(), 1);
  auto first = session_.create_file(path("weir-first.nc"));
  auto alone = first.define<double>("a", shape_, stepped);
  first.begin_step();
  alone.write(rows_, part);
  {
    const Fault fault("call=fdatasync,nth=1,error=EIO");
    EXPECT_EQ(weir_file_step_end(first.get()), WEIR_E_IO);
  }
  // The header may be lost, too.
  EXPECT_NE(weir_file_step_begin(first.get()), WEIR_OK);
  EXPECT_NE(std::string(weir_last_error()).find("create it again"), std::string::npos)
      << weir_last_error();
  first.close();

  auto file = session_.create_file(path("weir-steps.nc"));
  auto array = file.define<double>("a", shape_, stepped);
  auto other = file.define<double>("b", shape_, stepped);
  for (const int step : {1, 2}) {
    file.begin_step();
    array.write(rows_, part);
    other.write(rows_, part);
    if (step == 1) file.end_step();
  }
  {
    const Fault fault("call=fdatasync,nth=1,error=EIO");
    EXPECT_EQ(weir_file_step_end(file.get()), WEIR_E_IO);
  }
  file.begin_step();
  array.write(rows_, part);
  EXPECT_EQ(weir_file_step_end(file.get()), WEIR_E_ARGUMENT);
  EXPECT_NE(std::string(weir_last_error()).find("\"b\" has not been written again"),
            std::string::npos)
      << weir_last_error();
  file.begin_step();
  array.write(rows_, part);
  other.write(rows_, part);
  file.end_step();
  EXPECT_EQ(file.steps(), 2);
}

TEST_P(Faults, AStepWhoseWritingFailedIsNotCommittedAndMayBeBegunAgain) {
  weir_define_options stepped{};
  stepped.steps = 1;
  auto file = session_.create_file(path("weir-steps.nc"));
  auto array = file.define<double>("a", shape_, stepped);
  for (const int step : {1, 2}) {
    const std::vector<double> part(rows_.elements(), step);
    file.begin_step();
    {
      const Fault fault("rank=1,call=pwrite,nth=1,error=EIO");
      EXPECT_THROW(array.write(rows_, part), Failure);
    }
    EXPECT_THROW(file.end_step(), Failure);
    EXPECT_EQ(file.steps(), step - 1);
    file.begin_step();
    array.write(rows_, part);
    file.end_step();
    EXPECT_EQ(file.steps(), step);
  }
  file.close();
  auto again = session_.open_file(path("weir-steps.nc"));
  ASSERT_EQ(again.steps(), 2);
  for (const int step : {1, 2}) {
    again.select_step(step - 1);
    std::vector<double> part(rows_.elements());
    again.array("a").read(rows_, part);
    EXPECT_EQ(part, std::vector<double>(rows_.elements(), step));
  }
}

// Says what one array of a file that has one file for each chunk or shard is laid out as.
struct ZarrLayout {
  const char* name;
  bool in_shards;
  const char* codec;
};

// Room for the next attempt is made without the files of the failed one, which ranks may still have
// open. The second array has to be written again, too.
TEST_P(Faults, AStepOfManyFilesThatFailedIsWholeWhenItIsWrittenAgain) {
  const std::int64_t rows = 3 * size_of_world();
  const std::int64_t first_row = 3 * rank_of_world();
  const Extents chunks = {2, 250};
  const Extents shards = {4, 500};
  const double fill = 7;
  const Distribution left =
      session_.distribution_from_boxes({rows, 1000}, {{{first_row, 0}, {3, 500}}});
  const std::vector<double> part(rows_.elements(), 2);
  const std::vector<double> left_part(left.elements(), 2);
  const std::array<std::string, 3> strategies = {"direct", "node", "two-phase"};
  const std::array<const char*, 3> durabilities = {"none", "step", "operation"};
  const auto strategy = static_cast<std::size_t>(
      std::find(strategies.begin(), strategies.end(), GetParam().strategy) - strategies.begin());
  const std::vector<ZarrLayout> layouts = {{"chunks", false, nullptr},
                                           {"shards", true, nullptr},
                                           {"encoded chunks", false, "zstd:3"},
                                           {"encoded shards", true, "zstd:3"}};
  // Any two settings meet: of strategies, layouts, durabilities, and whether ranks write alone.
  for (std::size_t number = 0; number < layouts.size(); ++number) {
    const ZarrLayout& layout = layouts[number];
    for (const bool by_each_alone : {false, true}) {
      if (by_each_alone && layout.codec != nullptr) continue;  // these cannot be
      const std::size_t place = strategy + number + (by_each_alone ? 1U : 0U);
      const char* const durability = durabilities[place % durabilities.size()];
      const std::string name = std::string("weir-") + durability + layout.name +
                               (by_each_alone ? "-alone.zarr" : ".zarr");
      SCOPED_TRACE(name);
      const auto write = [&](Array& array, bool whole) {
        if (by_each_alone) {
          const Region own = {.lower = {first_row, 0}, .extent = {3, whole ? 1000 : 500}};
          array.write_region_independent(own, whole ? part : left_part);
        } else {
          array.write(whole ? rows_ : left, whole ? part : left_part);
        }
      };
      weir_file_options options{};
      options.durability = durability;
      weir_define_options stepped{};
      stepped.steps = 1;
      stepped.chunks = chunks.data();
      stepped.shards = layout.in_shards ? shards.data() : nullptr;
      stepped.codec = layout.codec;
      stepped.fill = &fill;
      auto file = session_.create_file(path(name), options);
      auto first = file.define<double>("first", shape_, stepped);
      auto second = file.define<double>("second", shape_, stepped);
      const auto write_both = [&](bool whole) {
        write(first, whole);
        write(second, whole);
      };
      // The end fails where it makes bytes durable, which is done otherwise for encoded chunks.
      const auto fail_in_step = [&] {
        file.begin_step();
        write_both(true);
        if (durability == std::string("step") && layout.codec == nullptr) {
          const Fault fault("call=fdatasync,nth=1,error=ENOSPC,tree=Faults");
          EXPECT_EQ(weir_file_step_end(file.get()), WEIR_E_IO);
        } else {
          {
            const Fault fault("call=pwrite,nth=1,error=EIO,tree=Faults");
            EXPECT_THROW(write(second, true), Failure);
          }
          EXPECT_NE(weir_file_step_end(file.get()), WEIR_OK);
        }
      };
      file.begin_step();
      write_both(true);
      file.end_step();
      // One array of two is not enough; then all of both, in the next step half of both.
      for (const bool whole : {true, false}) {
        fail_in_step();
        file.begin_step();
        write(first, whole);
        EXPECT_EQ(weir_file_step_end(file.get()), WEIR_E_ARGUMENT) << weir_last_error();
        file.begin_step();
        write_both(whole);
        EXPECT_EQ(weir_file_step_end(file.get()), WEIR_OK) << weir_last_error();
      }
      const std::int64_t steps = file.steps();
      EXPECT_EQ(steps, 3);
      file.close();
      // By a session that has no file open yet.
      Session reader(MPI_COMM_WORLD);
      auto again = reader.open_file(path(name));
      ASSERT_EQ(again.steps(), steps);
      const auto whole_rows = reader.distribution(shape_, "BLOCK, *");
      for (std::int64_t step = 0; step < steps; ++step) {
        again.select_step(step);
        for (const char* const array : {"first", "second"}) {
          std::vector<double> found(whole_rows.elements());
          again.array(array).read(whole_rows, found);
          std::vector<double> expected(found.size(), 2);
          for (std::size_t i = 0; i < expected.size(); ++i) {
            if (step == 2 && i % 1000 >= 500) expected[i] = fill;
          }
          EXPECT_EQ(found, expected) << array << ", step " << step;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Faults,
                         ::testing::Values(Way{"direct", 0, 0}, Way{"node", 4, 0},
                                           Way{"two-phase", 2, 2}),
                         [](const auto& tested) {
                           std::string name = tested.param.strategy;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace weir::test
