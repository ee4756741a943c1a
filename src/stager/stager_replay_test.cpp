// Replays random orders of events on the state machine of a stager; the world around it
// (test_world.hpp) checks each.
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "stager/test_world.hpp"

namespace weir::stager {
namespace {

struct Rules {
  bool may_fail = false;  // storage
  // The ranks are there from the beginning, and ask for blocks only when they hold none.
  bool asks_empty_handed = false;
};

// Does one thing that could happen next.
void happen(World& world, const Rules& rules) {
  std::vector<ClientId> connected;
  for (const auto& [client, rank] : world.ranks()) {
    if (rank.is_connected) connected.push_back(client);
  }
  const int what = world.pick(12);
  if (rules.asks_empty_handed && connected.empty()) return;
  if (!rules.asks_empty_handed && (connected.size() < 2 || (what == 0 && connected.size() < 6))) {
    world.connect(1 + world.pick(3));
    return;
  }
  if (what <= 3 && !world.jobs().empty()) {
    auto job = world.jobs().begin();
    std::advance(job, world.pick(static_cast<int>(world.jobs().size())));
    Status status;
    const int luck = world.pick(20);
    if (luck < 4) status = system_failure("write", "f", 0, ENOSPC);
    if (luck == 4 && rules.may_fail) status = system_failure("write", "f", 0, EIO);
    world.end_job(job->first, status);
    return;
  }
  if (world.records() && world.pick(3) > 0) {
    const bool fails = world.pick(10) == 0;
    world.end_recording(fails ? Status(Error(ErrorCode::insufficient, "quota")) : Status());
    return;
  }
  if (what == 4 && !world.retries().empty()) {
    world.retry(*world.retries().begin());
    return;
  }
  const ClientId client =
      connected[static_cast<std::size_t>(world.pick(static_cast<int>(connected.size())))];
  World::Rank& rank = world.ranks().at(client);
  if (rank.wants || rank.drains || rank.commits) {  // a rank that waits sends nothing, but may end
    if (what == 5) world.disconnect(client);
    return;
  }
  switch (world.pick(10)) {
    case 0:
    case 1:
      if (rules.asks_empty_handed && !rank.granted.empty()) break;
      world.reserve(client, 1 + world.pick(4));
      break;
    case 2:
    case 3:
    case 4:
      if (!rank.granted.empty()) {
        world.hand_over(client, world.pick(8) == 0, world.pick(2) == 0);
      }
      break;
    case 5:
      if (world.pick(2) == 0) {
        world.end_hand_over(client, world.pick(4));
        break;
      }
      ++rank.flushes;
      world.receive(client, transport::Flush{});
      break;
    case 6:
      world.commit(client);
      break;
    case 7:
      if (!rank.tickets.empty()) {
        world.receive(client, transport::Await{rank.tickets[static_cast<std::size_t>(
                                  world.pick(static_cast<int>(rank.tickets.size())))]});
      }
      break;
    case 8:
      rank.drains = true;
      world.receive(client, transport::Drain{});
      break;
    default:
      if (world.pick(4) == 0) {
        world.disconnect(client);
      } else if (world.pick(3) == 0) {
        world.receive(client, transport::UnlockFile{"f"});
      } else {
        world.handle(Tick{});
      }
  }
}

// Adds to `read_back` how many filled blocks were spilled and read back.
void replay(unsigned seed, const Rules& rules, std::int64_t& read_back) {
  constexpr std::array<std::int64_t, 3> slots = {0, 2, 7};
  const std::int64_t spilled = slots.at(seed % slots.size());
  World world(seed, 6, spilled, seed % 2 == 0 ? 0 : 3, seed % 5 < 2);
  if (rules.asks_empty_handed) {
    for (int ranks = 2 + world.pick(5); ranks > 0; --ranks) world.connect(1 + world.pick(3));
  }
  for (int i = 0; i < 120; ++i) happen(world, rules);
  settle(world);
  for (const auto& [client, rank] : world.ranks()) {
    if (rank.drains && rank.is_connected) ADD_FAILURE() << "a drain has no answer";
    if (rank.commits && rank.is_connected) ADD_FAILURE() << "a commit has no answer";
    if (!rank.wants || !rank.is_connected) continue;
    EXPECT_FALSE(rules.asks_empty_handed) << "a rank waits until others hand over";
    // Others have what a rank waits for, and have not handed it over.
    std::int64_t granted = 0;
    for (const auto& [other, one] : world.ranks()) granted += std::ssize(one.granted);
    EXPECT_GT(granted, 0) << "a rank waits for memory that nobody has";
  }
  std::vector<ClientId> left;
  for (const auto& [client, rank] : world.ranks()) {
    if (rank.is_connected) left.push_back(client);
  }
  for (const ClientId client : left) world.disconnect(client);
  settle(world);
  EXPECT_TRUE(world.stager().is_idle());
  EXPECT_EQ(world.stager().free_blocks(), 6) << "a block was lost";
  EXPECT_EQ(world.stager().free_slots(), spilled) << "a slot was lost";
  for (const World::Story& story : world.ended()) {
    if (story.has_failed) continue;
    // All commits, and everything before the last of them, are stored; the rest was dropped.
    ASSERT_LE(story.stored.size(), story.handed.size());
    EXPECT_TRUE(std::equal(story.stored.begin(), story.stored.end(), story.handed.begin()));
    for (std::size_t i = story.stored.size(); i < story.handed.size(); ++i) {
      EXPECT_GT(story.handed[i], 0) << "an accepted step was dropped";
      EXPECT_FALSE(world.is_at_once(story.handed[i])) << "what belongs to no step was dropped";
    }
  }
  world.handle(Stopping{});
  EXPECT_TRUE(world.has_ended());
  read_back += world.read_back();
}

// 1.2 million events in each of the two tests.
TEST(StagerReplay, WorksInEveryOrderOfEvents) {
  std::int64_t read_back = 0;
  for (unsigned seed = 1; seed <= 10'000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    replay(seed, {}, read_back);
  }
  EXPECT_GT(read_back, 1000) << "hardly anything was spilled";
}

TEST(StagerReplay, AFailureEndsOneSessionAlone) {
  std::int64_t read_back = 0;
  for (unsigned seed = 1; seed <= 10'000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    replay(seed, {.may_fail = true}, read_back);
  }
  EXPECT_GT(read_back, 1000) << "hardly anything was spilled";
}

// However many blocks ranks ask for, none waits for what others keep, where there is a block for
// each: all of them may wait for each other in a collective call.
TEST(StagerReplay, StoringAlwaysHelpsARankThatAsksEmptyHanded) {
  std::int64_t read_back = 0;
  for (unsigned seed = 1; seed <= 2'000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    replay(seed, {.may_fail = seed % 2 == 0, .asks_empty_handed = true}, read_back);
  }
  EXPECT_GT(read_back, 100) << "hardly anything was spilled";
}

}  // namespace
}  // namespace weir::stager
