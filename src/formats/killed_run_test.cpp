// Runs that add steps are killed at random moments, by SIGKILL, and the next one goes on with what
// they left: every step whose commit had returned is there and right. WEIR_KILLS is how many, of
// each format; a few by default.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "formats/format.hpp"
#include "formats/test_steps.hpp"
#include "formats/unfinished.hpp"
#include "system/incomplete.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

constexpr std::int64_t steps_of_a_file = 30;
constexpr std::chrono::microseconds longest_run{40000};

FileDescription growing(const StepsOfFormat& written) {
  const FormatAbilities able = written.format->abilities();
  FileDescription file;
  for (const char* name : {"a", "b", "c"}) {
    ArrayDescription one{.name = name,
                         .shape = array::Shape::create({1, 40}).value(),
                         .type = name[0] == 'a' ? ElementKind::int32 : ElementKind::float64,
                         .grows = true};
    one.codecs = written.pipeline();
    if (able.chunks && name[0] == 'b') one.chunk_extents = array::Indices{1, 16};
    if (able.shards && name[0] == 'c') {
      one.chunk_extents = array::Indices{1, 16};
      one.shard_extents = array::Indices{4, 48};
    }
    file.arrays.push_back(one);
  }
  return file;
}

// Does what the child does until it is killed: adds steps, and tells each when its commit has
// returned.
[[noreturn]] void add_steps(const StepsOfFormat& written, const std::string& path, int told) {
  const Format& format = *written.format;
  const auto end = [&](const Room& room, std::int64_t steps) {
    if (!commit(path, room.update, StepDurability::none).ok()) ::_exit(3);
    if (::write(told, &steps, sizeof(steps)) != sizeof(steps)) ::_exit(4);
  };
  std::int64_t steps = 0;
  if (std::filesystem::exists(path)) {
    const auto opened = format.open(path);
    if (!opened || !opened.value().steps()) ::_exit(5);
    steps = *opened.value().steps();
  } else {
    auto room = format.lay_out(growing(written), path);
    if (!room) {
      std::fputs((room.error().text() + "\n").c_str(), stderr);
      ::_exit(6);
    }
    if (!write_steps(format, path, room.value(), 0).ok()) ::_exit(8);
    end(room.value(), ++steps);
  }
  while (true) {
    auto room = format.make_room(path, ++steps);
    if (!room) ::_exit(7);
    if (!write_steps(format, path, room.value(), steps - 1).ok()) ::_exit(9);
    end(room.value(), steps);
  }
}

struct Ended {
  bool killed = false;  // and not by itself
  int status = 0;
  std::int64_t steps = 0;  // the last one that was told; 0: none
};

// `run` is given the descriptor to which it writes each number of steps, and does not return.
Ended run_and_kill(const std::function<void(int told)>& run, std::chrono::microseconds after) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    run(ends[1]);
  }
  ::close(ends[1]);
  std::this_thread::sleep_for(after);
  ::kill(child, SIGKILL);
  Ended ended;
  ::waitpid(child, &ended.status, 0);
  ended.killed = WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGKILL;
  std::int64_t told = 0;
  while (::read(ends[0], &told, sizeof(told)) == sizeof(told)) ended.steps = told;
  ::close(ends[0]);
  return ended;
}

class KilledRun : public testing::TestWithParam<StepsOfFormat> {};

TEST_P(KilledRun, LeavesEveryCommittedStep) {
  const Format& format = *GetParam().format;
  TestFolder folder;
  const std::string path = folder.path("file");
  // One thread runs.
  const char* const asked = std::getenv("WEIR_KILLS");  // NOLINT(concurrency-mt-unsafe)
  const int kills = asked != nullptr ? std::stoi(asked) : 12;
  std::mt19937 random(kills < 100 ? 7 : std::random_device{}());
  std::uniform_int_distribution<std::int64_t> moment(0, longest_run.count());
  std::int64_t committed = 0;
  std::int64_t all_committed = 0;
  int named = 0;
  int ahead = 0;
  for (int kill = 0; kill < kills; ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill) + " after step " + std::to_string(committed));
    const Ended ended = run_and_kill([&](int told) { add_steps(GetParam(), path, told); },
                                     std::chrono::microseconds(moment(random)));
    ASSERT_TRUE(ended.killed) << "it ended by itself with " << WEXITSTATUS(ended.status);
    if (ended.steps > committed) {
      all_committed += ended.steps - committed;
      committed = ended.steps;
    }
    if (!std::filesystem::exists(path)) {
      ASSERT_EQ(committed, 0);
      continue;
    }
    const auto opened = format.open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    ASSERT_TRUE(opened.value().refused.empty());
    ASSERT_EQ(opened.value().arrays.size(), 3U);
    // One more where the kill came between the commit and telling it.
    const std::int64_t steps = opened.value().steps().value_or(-1);
    ASSERT_TRUE(steps == committed || steps == committed + 1) << steps;
    for (const StoredArray& one : opened.value().arrays) {
      ASSERT_LE(one.map.shape.extent(0), steps + 1);
      ahead += one.map.shape.extent(0) > steps ? 1 : 0;
      ASSERT_EQ(wrong_in_steps(one), 0) << one.description.name;
    }
    const auto left = find_unfinished(path);
    ASSERT_TRUE(left.ok()) << left.error().text();
    named += left.value().empty() ? 0 : 1;
    committed = steps;
    if (committed >= steps_of_a_file) {
      for (const char* beside : {"", ".json", ".json.new"}) {
        std::filesystem::remove_all(path + beside);
      }
      committed = 0;
    }
  }
  if (asked != nullptr) {
    std::printf(
        "%s: %d kills, %ld steps committed, none lost; %d times a step was unfinished, "
        "arrays ahead %d\n",
        GetParam().name().c_str(), kills, static_cast<long>(all_committed), named, ahead);
  }
}

// The mark by which a run knows what an earlier one left is the last thing that is removed.
TEST(KilledRemoval, LeavesAFolderThatTheNextRunRemoves) {
  TestFolder folder;
  const std::string path = folder.path("file");
  const auto make_and_remove = [&](int /*told*/) {
    while (true) {
      if (!make_incomplete_folder(path).ok()) ::_exit(1);
      for (int i = 0; i < 64; ++i) {
        std::ofstream(incomplete_path(path) + "/" + std::to_string(i)) << "x";
      }
    }
  };
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> moment(0, 20'000);
  for (int kill = 0; kill < 60; ++kill) {
    const Ended ended = run_and_kill(make_and_remove, std::chrono::microseconds(moment(random)));
    ASSERT_TRUE(ended.killed) << "what kill " << kill << " left was not removed";
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, KilledRun, testing::ValuesIn(formats_with_steps()),
                         [](const auto& one) { return one.param.name(); });

}  // namespace
}  // namespace weir::storage
