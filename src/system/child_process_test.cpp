#include "system/child_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <string>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr auto long_enough = std::chrono::seconds(50);

struct Heard {
  std::string text;
  bool is_late = false;
  ChildEnd end;
};

Heard hear(const Program& program, std::chrono::milliseconds time = long_enough) {
  Heard heard;
  Pipe pipe("");
  EXPECT_TRUE(pipe.status().ok());
  const StartedChild child = start_program(program, pipe);
  EXPECT_GT(child.pid, 0) << child.reason;
  if (child.pid < 0) return heard;
  pipe.close_in();
  PipeReader reader(pipe.out(), time);
  std::array<char, 100> part{};
  while (const std::size_t got = reader.read_some(part.data(), part.size())) {
    heard.text.append(part.data(), got);
  }
  heard.is_late = reader.is_late();
  heard.end = end_child(child.pid, heard.is_late ? std::chrono::seconds(0) : long_enough);
  return heard;
}

Program shell(const std::string& script) {
  return {.words = {"sh", "-c", script}, .in_search_path = true};
}

TEST(ChildProcess, WhatItSaysAndItsStatusAreHeard) {
  const Heard heard = hear(shell("echo out; echo error >&2; exit 3"));
  EXPECT_EQ(heard.text, "out\nerror\n");
  EXPECT_TRUE(heard.end.ended);
  EXPECT_EQ(heard.end.exit_status, 3);
  EXPECT_EQ(heard.end.signal, 0);
  EXPECT_EQ(hear(shell("kill -TERM $$")).end.signal, SIGTERM);
}

TEST(ChildProcess, ElseIsDoneWhileItIsWaitedFor) {
  const TestFolder folder;
  // Says a word and then ends when it finds a file, which is made while it is waited for.
  const std::string said = folder.path("said");
  const std::string ended = folder.path("ended");
  int acts = 0;
  const WhileProgramsRun outer([] { FAIL() << "there is an inner one"; });
  {
    const WhileProgramsRun inner([&] {
      ++acts;
      if (acts == 3) std::ofstream(said).put('x');
      if (acts == 6) std::ofstream(ended).put('x');
    });
    const Heard heard =
        hear(shell("until [ -e " + said + " ]; do sleep 0.01; done; echo said; " +
                   "exec 1>&- 2>&-; until [ -e " + ended + " ]; do sleep 0.01; done; exit 3"));
    EXPECT_EQ(heard.text, "said\n");
    EXPECT_EQ(heard.end.exit_status, 3);
  }
  EXPECT_GE(acts, 6);
}

TEST(ChildProcess, OneThatIsSilentIsEndedAtTheDeadline) {
  const auto began = std::chrono::steady_clock::now();
  const Heard heard = hear(shell("echo begun; exec sleep 1000"), std::chrono::milliseconds(500));
  EXPECT_TRUE(heard.is_late);
  EXPECT_TRUE(heard.end.ended);
  EXPECT_EQ(heard.end.signal, SIGKILL);
  EXPECT_LT(std::chrono::steady_clock::now() - began, long_enough);
}

TEST(ChildProcess, OneThatIsMissingIsNotStarted) {
  Pipe pipe("");
  const StartedChild child = start_program({.words = {"/no/such/program"}}, pipe);
  EXPECT_EQ(child.pid, -1);
  EXPECT_EQ(child.reason, ENOENT);
}

TEST(ChildProcess, InheritsNoDescriptorsAndOnlyTheEnvironmentThatItIsGiven) {
  if (!can_keep_descriptors_back()) GTEST_SKIP() << "the C library cannot close them";
  const int kept = ::open("/dev/null", O_RDONLY);  // would be inherited
  ASSERT_GT(kept, 2);
  Program program{.words = {"/bin/sh", "-c", "echo /proc/self/fd/*; echo $GIVEN$HOME"},
                  .environment = std::vector<std::string>{"GIVEN=yes"}};
  const Heard heard = hear(program);
  EXPECT_EQ(heard.text.find("/" + std::to_string(kept) + " "), std::string::npos) << heard.text;
  EXPECT_NE(heard.text.find("\nyes\n"), std::string::npos) << heard.text;
  ::close(kept);
}

}  // namespace
}  // namespace weir::storage
