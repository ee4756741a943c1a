// Each test is a single case of what a stager does, and begins with the events that lead to it.
#include "stager/stager.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stager/test_world.hpp"

namespace weir::stager {
namespace {

TEST(Stager, WritesNothingBeforeAStepEnds) {
  World world(1);
  const ClientId client = world.connect(1);
  world.reserve(client, 1);
  world.hand_over(client);
  EXPECT_TRUE(world.jobs().empty());
  world.commit(client);
  ASSERT_EQ(world.jobs().size(), 1U);
  EXPECT_FALSE(world.jobs().begin()->second.is_commit);
  world.end_job(world.jobs().begin()->first, {});
  ASSERT_EQ(world.jobs().size(), 1U);
  EXPECT_TRUE(world.jobs().begin()->second.is_commit);
}

TEST(Stager, ShowsHowLongTheSlowestRankHasWaited) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  World world(1);
  const auto shown = [&](const char* seconds) {
    return world.stager().report().find(R"("blocked_seconds":)" + std::string(seconds)) !=
           std::string::npos;
  };
  const auto flush = [&](ClientId client, std::int64_t waited_ns) {
    ++world.ranks().at(client).flushes;
    world.receive(client, transport::Flush{waited_ns});
  };
  const ClientId one = world.connect(1);
  const ClientId other = world.connect(1);
  EXPECT_TRUE(shown("0.0"));
  flush(one, 2 * second_ns);
  flush(other, 3 * second_ns);
  EXPECT_TRUE(shown("3.0")) << world.stager().report();
  flush(one, 2 * second_ns);
  EXPECT_TRUE(shown("4.0")) << world.stager().report();
  flush(one, -second_ns);
  EXPECT_TRUE(shown("4.0")) << "a rank cannot take back what it has told";
  flush(other, std::numeric_limits<std::int64_t>::max());
  flush(other, std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(shown("4611686018.4")) << world.stager().report();
}

TEST(Stager, AcceptsAStepWhenItIsInTheJournal) {
  World world(1, 6, 0, 0, true);
  const ClientId client = world.connect(1);
  world.reserve(client, 1);
  world.hand_over(client);
  world.commit(client);
  EXPECT_TRUE(world.jobs().empty());
  world.end_recording({});
  EXPECT_TRUE(world.ranks().at(client).commits);
  EXPECT_EQ(world.jobs().size(), 1U) << "what is recorded can be written";
  world.end_recording(Error(ErrorCode::insufficient, "its quota is used up"));
  EXPECT_FALSE(world.ranks().at(client).commits) << "it is accepted all the same";
  EXPECT_NE(world.stager().report().find("its quota is used up"), std::string::npos);
  settle(world);
  world.commit(client);
  world.end_recording({});
  EXPECT_EQ(world.stager().report().find("its quota is used up"), std::string::npos);
}

TEST(Stager, KeepsABlockUntilItIsRecorded) {
  World world(1, 1, 0, 0, true);
  const ClientId client = world.connect(1);
  world.reserve(client, 1);
  world.hand_over(client);
  world.disconnect(client);
  EXPECT_TRUE(world.stager().is_idle());
  EXPECT_EQ(world.stager().free_blocks(), 0) << "the block is still read";
  world.end_recording({});
  EXPECT_EQ(world.stager().free_blocks(), 1);
}

TEST(Stager, WritesAtOnceWhatBelongsToNoStep) {
  World world(1);
  const ClientId client = world.connect(1);
  world.reserve(client, 3);
  world.hand_over(client);
  world.hand_over(client, true);
  ASSERT_EQ(world.jobs().size(), 1U) << "in the order of arrival, with what came before";
  EXPECT_EQ(world.jobs().begin()->second.write.extents.size(), 2U);
  world.hand_over(client);
  world.disconnect(client);
  settle(world);
  EXPECT_TRUE(world.stager().is_idle());
  EXPECT_EQ(world.ended().front().stored.size(), 2U);
  EXPECT_EQ(world.ended().front().handed.size(), 3U);
}

TEST(Stager, WritesForARankThatFindsNoMemory) {
  World world(1, 2);
  const ClientId client = world.connect(1);
  world.reserve(client, 5);  // gets the two that there are
  world.hand_over(client);
  world.hand_over(client);
  EXPECT_TRUE(world.jobs().empty());
  world.reserve(client, 1);
  ASSERT_EQ(world.jobs().size(), 1U);
  EXPECT_TRUE(world.ranks().at(client).wants);
  world.end_job(world.jobs().begin()->first, {});
  EXPECT_FALSE(world.ranks().at(client).wants);
}

TEST(Stager, GrantsSeveralBlocksOnlyFromTheShareOfTheRank) {
  for (const auto& [blocks, expected] :
       std::vector<std::pair<std::int64_t, std::size_t>>{{1, 1}, {3, 1}, {4, 2}, {6, 2}, {7, 3}}) {
    World world(1, blocks);
    const ClientId first = world.connect(1);
    world.connect(1);
    world.connect(2);
    world.reserve(first, 9);
    EXPECT_EQ(world.ranks().at(first).granted.size(), expected) << "of " << blocks;
  }
  World asked(1, 7);
  const ClientId rank = asked.connect(1);
  asked.reserve(rank, 2);
  EXPECT_EQ(asked.ranks().at(rank).granted.size(), 2U) << "no more than it asked for";
  World limited(1, 100, 0, 5);
  const ClientId of_two = limited.connect(1);
  limited.connect(1);
  limited.reserve(of_two, 9);
  EXPECT_EQ(limited.ranks().at(of_two).granted.size(), 3U) << "one stays for the other rank";
  ++limited.ranks().at(of_two).flushes;
  limited.receive(of_two, transport::Flush{});
  EXPECT_EQ(limited.stager().free_blocks(), 100) << "what was not filled is given back";
}

TEST(Stager, SpillsForARankThatFindsNoMemory) {
  World world(1, 3, 2);
  const ClientId client = world.connect(1);
  world.reserve(client, 3);
  for (int i = 0; i < 3; ++i) world.hand_over(client);
  EXPECT_TRUE(world.jobs().empty());
  world.reserve(client, 2);
  ASSERT_EQ(world.jobs().size(), 1U);
  // The block that is needed last moves first.
  EXPECT_EQ(world.jobs().begin()->second.moves.size(), 2U);
  EXPECT_NE(world.stager().report().find("move to the spill file"), std::string::npos);
  world.end_job(world.jobs().begin()->first, {});
  EXPECT_EQ(world.ranks().at(client).granted.size(), 2U);
  EXPECT_EQ(world.stager().free_slots(), 0);
  EXPECT_TRUE(world.jobs().empty());
  // All slots are in use, so the file itself makes room.
  world.hand_over(client);
  world.hand_over(client);
  world.reserve(client, 1);
  ASSERT_EQ(world.jobs().size(), 1U);
  EXPECT_NE(world.stager().report().find("the spill file takes no more"), std::string::npos);
  EXPECT_EQ(world.jobs().begin()->second.write.extents.size(), 2U);
  world.end_job(world.jobs().begin()->first, {});
  EXPECT_FALSE(world.ranks().at(client).wants);
  // The step ends: everything is stored in its order, and the space is given back.
  world.hand_over(client);
  world.commit(client);
  settle(world);
  EXPECT_EQ(world.stager().free_slots(), 2);
  world.disconnect(client);
  EXPECT_EQ(world.ended().front().stored, world.ended().front().handed);
  EXPECT_EQ(world.ended().front().stored.size(), 7U);
}

TEST(Stager, WritesWhatTheSpillFileDoesNotTake) {
  for (const int reason : {ENOSPC, EIO}) {
    World world(1, 2, 5);
    const ClientId client = world.connect(1);
    world.reserve(client, 2);
    world.hand_over(client);
    world.hand_over(client);
    world.reserve(client, 1);
    ASSERT_EQ(world.jobs().size(), 1U);
    world.end_job(world.jobs().begin()->first, system_failure("write", "spill", 0, reason));
    ASSERT_EQ(world.jobs().size(), 2U);  // the second gives space back
    EXPECT_EQ(world.jobs().begin()->second.write.extents.size(), 2U);
    settle(world);
    EXPECT_EQ(world.ranks().at(client).granted.size(), 1U);
    // A disk that was full is tried again, one that is broken is not.
    world.handle(Tick{});
    world.hand_over(client);
    world.reserve(client, 2);
    world.hand_over(client);
    world.reserve(client, 2);
    ASSERT_EQ(world.jobs().size(), 1U);
    EXPECT_EQ(world.jobs().begin()->second.moves.empty(), reason == EIO);
    EXPECT_EQ(world.stager().report().find("\"spill_failure\":\"\"") == std::string::npos,
              reason == EIO);
    world.commit(client);
    settle(world);
    world.disconnect(client);
    EXPECT_EQ(world.ended().front().stored, world.ended().front().handed);
  }
}

TEST(Stager, DropsAStepWhileItMovesToTheSpillFile) {
  World world(1, 1, 1);
  const ClientId client = world.connect(1);
  world.reserve(client, 1);
  world.hand_over(client);
  world.reserve(client, 1);
  ASSERT_EQ(world.jobs().size(), 1U);
  world.disconnect(client);
  EXPECT_EQ(world.stager().free_blocks(), 0) << "the block is still read";
  settle(world);
  EXPECT_EQ(world.stager().free_blocks(), 1);
  EXPECT_EQ(world.stager().free_slots(), 1);
  EXPECT_TRUE(world.stager().is_idle());
}

TEST(Stager, WritesForARankOnlyWhenNoMoreMemoryCanBecomeReady) {
  Stager stager({.blocks = 4, .block_bytes = block_bytes, .name = "test"});
  (void)stager.handle(BlocksReady{1});
  (void)stager.handle(Connected{1});
  (void)stager.handle(Received{1, transport::Hello{}});
  (void)stager.handle(
      Received{1, transport::NameFile{.file = 1, .path = "f", .known = std::nullopt}});
  (void)stager.handle(Received{1, transport::Reserve{1}});
  (void)stager.handle(
      Received{1, transport::FilledBlock{0, 1}, std::vector<transport::BlockExtent>{{1, 0, 10}}});
  EXPECT_TRUE(stager.handle(Received{1, transport::Reserve{2}}).empty());
  EXPECT_TRUE(stager.needs_more_blocks(0));
  const auto written = stager.handle(NoMoreBlocks{});
  ASSERT_EQ(written.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<WriteBlocks>(written.front()));
  EXPECT_FALSE(stager.needs_more_blocks(9));
}

TEST(Stager, DropsAStepThatNobodyWillEnd) {
  World world(1);
  const ClientId client = world.connect(1);
  world.reserve(client, 2);
  world.hand_over(client);
  world.commit(client);
  world.hand_over(client);
  world.disconnect(client);
  settle(world);
  EXPECT_TRUE(world.stager().is_idle());
  ASSERT_EQ(world.ended().size(), 1U);
  EXPECT_EQ(world.ended().front().stored.size(), 2U);
  EXPECT_EQ(world.ended().front().handed.size(), 3U);
}

TEST(Stager, KeepsWhatWasAcceptedUntilThereIsSpace) {
  World world(1);
  const ClientId client = world.connect(1);
  world.reserve(client, 1);
  world.hand_over(client);
  world.commit(client);
  world.disconnect(client);
  for (int attempt = 0; attempt < 5; ++attempt) {
    ASSERT_EQ(world.jobs().size(), 1U);
    world.end_job(world.jobs().begin()->first, system_failure("write", "f", 0, ENOSPC));
    EXPECT_NE(world.stager().report().find("\"waits_for_space\":true"), std::string::npos);
    ASSERT_EQ(world.retries().size(), 1U);
    world.retry(*world.retries().begin());
  }
  settle(world);
  EXPECT_EQ(world.ended().front().stored.size(), 2U);
}

TEST(Stager, RefusesMessagesThatMakeNoSense) {
  using transport::Message;
  const std::vector<Message> senseless = {
      transport::FilledBlock{0, 1},   // a block that was not granted
      transport::FilledBlock{-1, 1},  // no block at all
      transport::Reserve{0},
      transport::Reserve{-5},
      transport::Await{0},
      transport::Await{1},  // a ticket that was not given
      transport::Hello{},   // a second one
      transport::NameFile{.file = 1, .path = "g", .bytes_when_made = 0, .known = std::nullopt},
      transport::Welcome{},  // from a rank
      transport::Stored{},
  };
  for (const Message& message : senseless) {
    World world(1);
    const ClientId client = world.connect(1);
    world.receive(client, message);
    EXPECT_TRUE(world.ranks().at(client).was_refused) << message.index();
    EXPECT_FALSE(world.ranks().at(client).is_connected);
    EXPECT_TRUE(world.stager().is_idle());
  }
}

// What may wait is written when a second has passed.
TEST(Stager, WritesWhatMayWaitAtTheSecondTick) {
  World world(1);
  const ClientId client = world.connect(1);
  world.reserve(client, 2);
  world.hand_over(client, true, true);
  world.handle(Tick{});
  EXPECT_TRUE(world.jobs().empty());
  world.hand_over(client, true, true);
  world.handle(Tick{});
  ASSERT_EQ(world.jobs().size(), 1U);
  // What came later is written together with it.
  EXPECT_EQ(world.jobs().begin()->second.write.extents.size(), 2U);
}

TEST(Stager, WritesWhatMayWaitWhereItIsNeeded) {
  for (int reason = 0; reason < 3; ++reason) {
    SCOPED_TRACE(reason);
    World world(1);
    const ClientId client = world.connect(1);
    world.reserve(client, 2);
    world.hand_over(client, true, true);
    EXPECT_TRUE(world.jobs().empty());
    if (reason == 0) world.commit(client);
    if (reason == 1) world.hand_over(client, true);
    if (reason == 2) world.disconnect(client);
    EXPECT_EQ(world.jobs().size(), 1U);
  }
}

TEST(Stager, GrantsAheadWhileHalfOfItsMemoryStaysFree) {
  World world(1, 10);
  const ClientId client = world.connect(1);
  world.end_hand_over(client, 8);
  EXPECT_EQ(world.ranks().at(client).granted.size(), 5U);
  const ClientId other = world.connect(1);
  world.end_hand_over(other, 1);
  EXPECT_TRUE(world.ranks().at(other).granted.empty());
  // The blocks of the time before are no longer the rank's own.
  world.end_hand_over(client, 1);
  EXPECT_EQ(world.ranks().at(client).granted.size(), 1U);
  world.end_hand_over(client, 0);
  EXPECT_EQ(world.stager().free_blocks(), 10);
}

TEST(Stager, GrantsNothingAheadWhereAProgramMayHaveLittle) {
  World world(1, 10, 0, 2);
  const ClientId client = world.connect(1);
  world.end_hand_over(client, 2);
  EXPECT_EQ(world.ranks().at(client).granted.size(), 1U);
  const ClientId other = world.connect(1);
  world.end_hand_over(other, 2);
  EXPECT_TRUE(world.ranks().at(other).granted.empty());
}

TEST(Stager, RefusesAFilledBlockForAFileWithoutName) {
  World world(1);
  const ClientId client = world.connect(1);
  world.reserve(client, 1);
  world.receive(client, transport::FilledBlock{*world.ranks().at(client).granted.begin(), 1},
                {{.file = 4, .offset = 0, .bytes = 1}});
  EXPECT_TRUE(world.ranks().at(client).was_refused);
  EXPECT_EQ(world.stager().free_blocks(), 6);
}

TEST(Stager, RefusesWhatMayNotBeStored) {
  World world(1);
  const ClientId client = world.connect(1);
  world.handle(
      Received{.client = client,
               .message =
                   transport::NameFile{
                       .file = 5, .path = "/etc/f", .bytes_when_made = 0, .known = std::nullopt},
               .may_be_stored = invalid_argument("it is outside", "/etc/f")});
  EXPECT_TRUE(world.ranks().at(client).was_refused);
}

TEST(Stager, NeedsAHelloFirst) {
  World world(1);
  world.ranks()[77] = {};
  world.handle(Connected{77});
  world.receive(77, transport::Reserve{1});
  EXPECT_TRUE(world.ranks().at(77).was_refused);
}

TEST(Stager, WritesForASessionThatHasItsShareOfTheMemory) {
  World world(1, 6, 0, 2);
  const ClientId limited = world.connect(1);
  const ClientId other = world.connect(2);
  world.reserve(limited, 5);  // gets the two that it may have
  EXPECT_EQ(world.ranks().at(limited).granted.size(), 2U);
  world.reserve(other, 1);
  world.hand_over(other);
  world.hand_over(limited);
  world.hand_over(limited);
  EXPECT_TRUE(world.jobs().empty());
  world.reserve(limited, 1);
  ASSERT_EQ(world.jobs().size(), 1U) << "only the session that is full writes";
  EXPECT_TRUE(world.ranks().at(limited).wants);
  EXPECT_NE(world.stager().report().find("all of the stager's memory that one may have"),
            std::string::npos);
  // There is room for others meanwhile.
  world.reserve(other, 1);
  EXPECT_FALSE(world.ranks().at(other).wants);
  world.end_job(world.jobs().begin()->first, {});
  EXPECT_FALSE(world.ranks().at(limited).wants);
  EXPECT_TRUE(world.jobs().empty());
}

// Each limit is reached, and then exceeded by one.
TEST(Stager, RefusesARankBeyondTheBlocksOfItsProgram) {
  World world(1, 6, 0, 2);
  world.connect(1);
  EXPECT_FALSE(world.ranks().at(world.connect(1)).was_refused);
  EXPECT_TRUE(world.ranks().at(world.connect(1)).was_refused);
  EXPECT_FALSE(world.ranks().at(world.connect(2)).was_refused);
}

std::string refusal_in(const std::vector<Action>& actions) {
  for (const Action& one : actions) {
    const auto* const sent = std::get_if<Send>(&one);
    const auto* const refused =
        sent == nullptr ? nullptr : std::get_if<transport::Refused>(&sent->message);
    if (refused != nullptr) return refused->reason;
  }
  return "";
}

TEST(Stager, RefusesAFileBeyondThoseOfAProgram) {
  Stager stager({.blocks = 4, .block_bytes = block_bytes, .name = "test", .client_files = 2});
  const auto name = [&](ClientId client, std::uint64_t number, const char* path) {
    return refusal_in(stager.handle(Received{
        client, transport::NameFile{.file = number, .path = path, .known = std::nullopt}}));
  };
  for (const ClientId client : {1U, 2U, 3U}) {
    (void)stager.handle(Connected{client});
    (void)stager.handle(Received{
        client, transport::Hello{
                    .session = name_of_session(client == 3 ? 2 : 1), .rank = 0, .program = "p"}});
  }
  EXPECT_EQ(name(1, 1, "a"), "");
  EXPECT_EQ(name(2, 1, "a"), "") << "both ranks have the same file";
  EXPECT_EQ(name(1, 2, "b"), "");
  EXPECT_EQ(name(3, 1, "c"), "") << "another program";
  (void)stager.handle(Received{1, transport::ForgetFile{2}});
  EXPECT_EQ(name(1, 3, "d"), "");
  EXPECT_EQ(name(1, 4, "e"),
            "e would be file 3 that the program has open, and the limit of the stager is 2 "
            "(weir stage start --client-files)");
  // The files of the rank that was refused are no longer open; that of the other rank is.
  EXPECT_EQ(name(2, 2, "f"), "");
  EXPECT_NE(name(2, 3, "g"), "");
}

TEST(Stager, RefusesARankBeyondTheConnections) {
  Stager stager({.blocks = 4, .block_bytes = block_bytes, .name = "test", .connections = 2});
  const auto connect = [&](ClientId client) {
    (void)stager.handle(Connected{client});
    return refusal_in(stager.handle(Received{
        client,
        transport::Hello{
            .session = name_of_session(static_cast<int>(client)), .rank = 0, .program = "p"}}));
  };
  EXPECT_EQ(connect(1), "");
  EXPECT_EQ(connect(2), "");
  EXPECT_EQ(connect(3),
            "2 ranks are connected, which is the limit of the stager (weir stage start "
            "--connections)");
  // A client that asks for a report is not counted.
  (void)stager.handle(Connected{4});
  EXPECT_EQ(refusal_in(stager.handle(Received{4, transport::AskReport{}})), "");
  (void)stager.handle(Disconnected{1});
  EXPECT_EQ(connect(5), "");
  EXPECT_NE(connect(6), "");
}

TEST(Stager, RefusesARankBeyondTheConnectionsOfAProgram) {
  Stager stager({.blocks = 4, .block_bytes = block_bytes, .name = "test", .client_connections = 2});
  const auto connect = [&](ClientId client, int session) {
    (void)stager.handle(Connected{client});
    return refusal_in(stager.handle(Received{
        client, transport::Hello{.session = name_of_session(session), .rank = 0, .program = "p"}}));
  };
  EXPECT_EQ(connect(1, 1), "");
  EXPECT_EQ(connect(2, 1), "");
  EXPECT_EQ(connect(3, 1),
            "2 ranks of the program are connected, which is the limit for one program (weir stage "
            "start --client-connections)");
  EXPECT_EQ(connect(4, 2), "") << "another program";
  EXPECT_EQ(connect(5, 2), "");
  EXPECT_NE(connect(6, 2), "");
  (void)stager.handle(Disconnected{1});
  EXPECT_EQ(connect(7, 1), "");
  EXPECT_NE(connect(8, 1), "");
}

TEST(Stager, TellsInJsonOfNamesThatAreNoUtf8) {
  World world(1);
  const ClientId client = world.connect(1);
  world.reserve(client, 1);
  world.hand_over(client);
  world.commit(client);
  world.end_job(world.jobs().begin()->first, system_failure("write", "caf\xe9.h5", 0, EIO));
  const auto told = nlohmann::json::parse(world.stager().report());
  const std::string failure = told["sessions"][0]["failure"];
  EXPECT_NE(failure.find("(file caf"), std::string::npos) << failure;
}

// Whoever waits for the end of a stager must not take its death for that.
TEST(Stager, TellsWhoStopsItWhenEverythingIsStored) {
  Stager stager({.blocks = 4, .block_bytes = block_bytes, .name = "test"});
  const auto reports_in = [](const std::vector<Action>& actions) {
    return std::ranges::count_if(actions, [](const Action& one) {
      const auto* const sent = std::get_if<Send>(&one);
      return sent != nullptr && sent->client == 2 &&
             std::holds_alternative<transport::Report>(sent->message);
    });
  };
  (void)stager.handle(Connected{1});
  (void)stager.handle(
      Received{1, transport::Hello{.session = name_of_session(1), .rank = 0, .program = "p"}});
  (void)stager.handle(Connected{2});
  EXPECT_EQ(reports_in(stager.handle(Received{2, transport::Stop{}})), 0);
  const std::vector<Action> ticked = stager.handle(Tick{});
  ASSERT_EQ(ticked.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<transport::Alive>(std::get<Send>(ticked[0]).message));
  const std::vector<Action> last = stager.handle(Disconnected{1});
  EXPECT_EQ(reports_in(last), 1);
  EXPECT_TRUE(std::holds_alternative<End>(last.back()));
}

TEST(Stager, TakesNoNewSessionWhenToldToStop) {
  World world(1);
  const ClientId client = world.connect(1);
  world.handle(Stopping{});
  EXPECT_FALSE(world.has_ended());
  const ClientId late = world.connect(2);
  EXPECT_TRUE(world.ranks().at(late).was_refused);
  world.disconnect(client);
  EXPECT_TRUE(world.has_ended());
}

}  // namespace
}  // namespace weir::stager
