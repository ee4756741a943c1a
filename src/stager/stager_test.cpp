// Replays random orders of events on the state machine of a stager, and checks after each what must
// always hold: no block or slot is lost or given twice, what is written is what was handed over,
// one job of a session at a time, every commit after everything before it, an answer to every
// question.
#include "stager/stager.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace weir::stager {
namespace {

constexpr std::int64_t block_bytes = 1000;
constexpr std::int64_t bytes_of_a_parcel = 10;

transport::SessionId name_of_session(int number) {
  transport::SessionId name{};
  name[0] = static_cast<std::byte>(number);
  return name;
}

// The world around a stager: ranks, storage, and what was promised to them.
class World {
 public:
  explicit World(unsigned seed, std::int64_t blocks = 6, std::int64_t slots = 0,
                 std::int64_t client_blocks = 0, bool has_journal = false)
      : random_(seed),
        blocks_(blocks),
        slots_(slots),
        client_blocks_(client_blocks),
        has_journal_(has_journal),
        stager_({.blocks = blocks,
                 .block_bytes = block_bytes,
                 .most_written_together = 2 * bytes_of_a_parcel,
                 .spill_slots = slots,
                 .most_read_back_together = bytes_of_a_parcel,
                 .name = "test",
                 .client_blocks = client_blocks,
                 .has_journal = has_journal}) {
    handle(BlocksReady{blocks});
  }

  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  void handle(const Event& event) {
    for (Action& action : stager_.handle(event)) {
      std::visit([&](auto& one) { carry_out(one); }, action);
    }
    check_blocks();
  }
  void receive(ClientId client, transport::Message message,
               std::vector<transport::ParcelExtent> extents = {}) {
    handle(Received{client, std::move(message), std::move(extents)});
  }

  struct Rank {
    int session = 0;
    std::set<std::int64_t> granted;
    bool wants = false;
    bool drains = false;
    bool commits = false;
    bool is_connected = true;
    bool was_refused = false;
    bool has_welcome = false;
    std::int64_t flushes = 0;
    std::vector<std::uint64_t> tickets;  // for which it may wait
  };
  struct Job {
    SessionId session = 0;  // 0: it spills
    bool is_commit = false;
    std::vector<SpilledBlock> moves = {};  // to the spill file
    Write write = {};
  };
  // What a session handed over, in order: parcels (their tag) and commits.
  struct Story {
    std::vector<std::int64_t> handed;  // tags; a commit is -ticket
    std::vector<std::int64_t> stored;
    std::int64_t tickets = 0;
    bool has_failed = false;
    bool is_forgotten = false;
  };
  // What is being written to the journal: a block with a parcel of this tag, or a commit.
  struct Recording {
    JobId job = 0;
    std::int64_t block = -1;
    std::int64_t tag = 0;
    SessionId session = 0;
  };

  ClientId connect(int session) {
    const ClientId client = ++last_client_;
    ranks_[client].session = session;
    handle(Connected{client});
    receive(client,
            transport::Hello{.session = name_of_session(session), .rank = 0, .program = "p"});
    receive(client, transport::NameFile{
                        .file = 1, .path = "f", .bytes_when_made = 0, .known = std::nullopt});
    receive(
        client,
        transport::NameFile{
            .file = 2, .path = "g", .bytes_when_made = 0, .known = std::nullopt, .at_once = true});
    return client;
  }
  void disconnect(ClientId client) {
    ranks_.at(client).is_connected = false;
    ranks_.at(client).granted.clear();
    ranks_.at(client).wants = false;
    handle(Disconnected{client});
  }
  void reserve(ClientId client, std::int64_t blocks) {
    ranks_.at(client).wants = true;
    receive(client, transport::Reserve{blocks});
  }
  // Hands over one granted block; its extent's offset is a tag that no other parcel has. `at_once`:
  // of an array by itself.
  void hand_over(ClientId client, bool at_once = false) {
    Rank& rank = ranks_.at(client);
    const std::int64_t block = *rank.granted.begin();
    rank.granted.erase(rank.granted.begin());
    const std::int64_t tag = ++last_tag_;
    story_of(rank.session).handed.push_back(tag);
    if (at_once) at_once_.insert(tag);
    memory_[block] = tag;
    receive(client, transport::Parcel{block, 1},
            {{.file = at_once ? 2U : 1U, .offset = tag, .bytes = bytes_of_a_parcel}});
  }
  void commit(ClientId client) {
    Rank& rank = ranks_.at(client);
    Story& story = story_of(rank.session);
    rank.commits = true;
    story.handed.push_back(-++story.tickets);
    receive(client,
            transport::CommitStep{.path = "f",
                                  .update = {.made = {}, .changes = {storage::DurabilityPoint{}}}});
  }
  // Ends what was begun first.
  void end_recording(Status status) {
    const Recording ended = recordings_.front();
    recordings_.pop_front();
    if (ended.block >= 0) {
      EXPECT_EQ(memory_.at(ended.block), ended.tag) << "a block was granted before it was recorded";
    }
    recorded_.insert({ended.session, ended.tag});
    handle(JobEnded{ended.job, std::move(status)});
  }
  void end_job(JobId job, Status status) {
    const Job ended = jobs_.at(job);
    if (ended.session == 0) {
      for (const SpilledBlock& one : ended.moves) {
        EXPECT_NE(memory_.at(one.block), 0) << "a block was granted while it moved";
        if (status.ok()) disk_[one.slot] = {one.stamp, memory_.at(one.block)};
      }
      jobs_.erase(job);
      handle(JobEnded{job, std::move(status)});
      return;
    }
    check_bytes(ended.write);
    Story& story = stories_.at(names_.at(ended.session));
    if (status.ok()) {
      for (const std::int64_t tag : in_job_.at(job)) story.stored.push_back(tag);
    } else if (status.error().system_error != ENOSPC) {
      story.has_failed = true;
    }
    if (status.ok() || status.error().system_error != ENOSPC) jobs_.erase(job);
    const bool waits_for_space = !status.ok() && status.error().system_error == ENOSPC;
    handle(JobEnded{job, std::move(status)});
    if (waits_for_space) {
      jobs_.erase(job);
      EXPECT_TRUE(retries_.contains(ended.session));
    }
  }
  void retry(SessionId session) {
    retries_.erase(session);
    handle(RetryDue{session});
  }

  [[nodiscard]] std::map<ClientId, Rank>& ranks() { return ranks_; }
  [[nodiscard]] std::map<JobId, Job>& jobs() { return jobs_; }
  [[nodiscard]] std::set<SessionId>& retries() { return retries_; }
  [[nodiscard]] bool records() const { return !recordings_.empty(); }
  [[nodiscard]] Stager& stager() { return stager_; }
  [[nodiscard]] const std::vector<Story>& ended() const { return ended_; }
  [[nodiscard]] Story& story_of(int session) { return stories_[session]; }
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  [[nodiscard]] bool is_at_once(std::int64_t tag) const { return at_once_.contains(tag); }
  [[nodiscard]] std::int64_t commits_stored() const { return commits_stored_; }
  [[nodiscard]] std::int64_t read_back() const { return read_back_; }

 private:
  void carry_out(Send& action) {
    Rank& rank = ranks_.at(action.client);
    std::visit([&](auto& message) { answer(action.client, rank, message); }, action.message);
  }
  void carry_out(Disconnect& action) {
    Rank& rank = ranks_.at(action.client);
    rank.is_connected = false;
    rank.granted.clear();
    rank.wants = false;
  }
  void carry_out(Record& action) {
    EXPECT_TRUE(has_journal_);
    EXPECT_EQ(action.files.size(), 1U);
    const std::int64_t tag = action.extents.at(0).offset;
    recordings_.push_back({action.job, action.block, tag, action.session});
    sessions_of_tags_[tag] = action.session;
  }
  void carry_out(RecordStep& action) {
    EXPECT_TRUE(has_journal_);
    const std::int64_t tickets = story_of(names_.at(action.session)).tickets;
    recordings_.push_back({action.job, -1, -tickets, action.session});
  }
  void carry_out(Spill& action) {
    EXPECT_LE(action.blocks.size(), 2U);
    for (const SpilledBlock& one : action.blocks) {
      expect_recorded(memory_.at(one.block));
      EXPECT_GE(one.slot, 0);
      EXPECT_LT(one.slot, slots_);
      EXPECT_EQ(one.bytes, bytes_of_a_parcel);
    }
    begin(action.job, 0, false);
    jobs_.at(action.job).moves = action.blocks;
  }
  void carry_out(EmptySpill& action) {
    EXPECT_EQ(stager_.free_slots(), slots_);
    begin(action.job, 0, false);
    disk_.clear();
  }
  void carry_out(Write& action) {
    begin(action.job, action.session, false);
    jobs_.at(action.job).write = action;
    EXPECT_LE(action.spilled.size(), 1U);
    read_back_ += std::ssize(action.spilled);
    check_bytes(action);
    std::int64_t before = 0;
    for (const BlockExtent& extent : action.extents) {
      EXPECT_GT(extent.offset, before) << "parcels are written in the order of their arrival";
      before = extent.offset;
      expect_recorded(extent.offset);
      in_job_[action.job].push_back(extent.offset);
    }
    EXPECT_FALSE(action.extents.empty());
  }
  void carry_out(Commit& action) {
    begin(action.job, action.session, true);
    // Everything that was handed over before this commit is stored.
    Story& story = stories_.at(names_.at(action.session));
    const std::size_t done = story.stored.size();
    ASSERT_LT(done, story.handed.size());
    EXPECT_LT(story.handed[done], 0) << "a parcel that came before the commit is not stored";
    EXPECT_TRUE(!has_journal_ || recorded_.contains({action.session, story.handed[done]}));
    in_job_[action.job].push_back(story.handed[done]);
    ++commits_stored_;
  }
  // Nobody asks for what only sessions on several nodes need (peers_test.cpp).
  template <typename Other>
  void carry_out(Other& /*action*/) {}
  void carry_out(Unlock& action) {
    Story& story = stories_.at(names_.at(action.session));
    if (story.has_failed) return;
    const std::size_t done = story.stored.size();
    ASSERT_LT(done, story.handed.size());
    EXPECT_LT(story.handed[done], 0);
    story.stored.push_back(story.handed[done]);
  }
  void carry_out(RetryLater& action) { retries_.insert(action.session); }
  void carry_out(Forget& action) {
    const int name = names_.at(action.session);
    names_.erase(action.session);
    ended_.push_back(std::exchange(stories_[name], {}));
  }
  void carry_out(End& /*action*/) {
    EXPECT_FALSE(has_ended_);
    has_ended_ = true;
  }

  void answer(ClientId /*client*/, Rank& rank, transport::Welcome& /*message*/) {
    rank.has_welcome = true;
    // Sessions are numbered in the order in which they are welcomed.
    for (const auto& [number, name] : names_) {
      if (name == rank.session) return;
    }
    names_[++sessions_] = rank.session;
  }
  void answer(ClientId /*client*/, Rank& rank, transport::Refused& /*message*/) {
    rank.was_refused = true;
  }
  void answer(ClientId /*client*/, Rank& rank, transport::Granted& message) {
    EXPECT_TRUE(rank.wants);
    rank.wants = false;
    EXPECT_FALSE(message.blocks.empty());
    for (const std::int64_t block : message.blocks) {
      memory_[block] = 0;
      for (const auto& [other, one] : ranks_) {
        EXPECT_FALSE(one.granted.contains(block)) << "a block was given twice";
      }
      EXPECT_TRUE(rank.granted.insert(block).second);
    }
  }
  void answer(ClientId /*client*/, Rank& rank, transport::Flushed& /*message*/) {
    rank.granted.clear();
    --rank.flushes;
    EXPECT_GE(rank.flushes, 0);
  }
  void answer(ClientId /*client*/, Rank& rank, transport::Accepted& message) {
    EXPECT_EQ(message.outcome.status.ok(), !story_of(rank.session).has_failed);
    rank.tickets.push_back(message.ticket);
    Story& story = story_of(rank.session);
    const auto ticket = static_cast<std::int64_t>(message.ticket);
    if (std::exchange(rank.commits, false)) {
      const auto number =
          std::ranges::find_if(names_, [&](const auto& one) { return one.second == rank.session; });
      EXPECT_TRUE(!has_journal_ || story.has_failed || recorded_.contains({number->first, -ticket}))
          << "a step was accepted before it was recorded";
      return;
    }
    story.tickets = ticket;
    story.handed.push_back(-ticket);
  }
  void answer(ClientId /*client*/, Rank& rank, transport::Drained& message) {
    EXPECT_TRUE(rank.drains);
    rank.drains = false;
    EXPECT_EQ(message.outcome.status.ok(), !story_of(rank.session).has_failed);
  }
  void answer(ClientId /*client*/, Rank& rank, transport::Stored& message) {
    const auto& stored = story_of(rank.session).stored;
    const bool is_stored = std::find(stored.begin(), stored.end(),
                                     -static_cast<std::int64_t>(message.ticket)) != stored.end();
    EXPECT_EQ(message.outcome.status.ok(), is_stored) << "a rank was told something untrue";
    waits_.erase(message.ticket);
  }
  template <typename Other>
  void answer(ClientId /*client*/, Rank& /*rank*/, Other& /*message*/) {}

  void begin(JobId job, SessionId session, bool is_commit) {
    for (const auto& [number, other] : jobs_) {
      EXPECT_NE(other.session, session) << "two jobs of one session at a time";
    }
    EXPECT_FALSE(retries_.contains(session));
    EXPECT_TRUE(jobs_.try_emplace(job, Job{.session = session, .is_commit = is_commit}).second);
    in_job_[job].clear();
  }
  void expect_recorded(std::int64_t tag) const {
    EXPECT_TRUE(!has_journal_ || recorded_.contains({sessions_of_tags_.at(tag), tag}))
        << "a parcel left its block before it was recorded";
  }
  void check_blocks() {
    std::int64_t granted = 0;
    for (const auto& [client, rank] : ranks_) granted += std::ssize(rank.granted);
    EXPECT_LE(stager_.free_blocks() + granted, blocks_);
    EXPECT_LE(stager_.free_slots(), slots_);
    for (int session = 1; client_blocks_ > 0 && session <= 3; ++session) {
      std::int64_t of_ranks = 0;
      for (const auto& [client, rank] : ranks_) {
        if (rank.session == session) of_ranks += std::ssize(rank.granted);
      }
      EXPECT_LE(of_ranks, stager_.blocks_of(name_of_session(session)));
      EXPECT_LE(stager_.blocks_of(name_of_session(session)), client_blocks_);
    }
  }
  // What a job writes is what the rank handed over, from its beginning to its end.
  void check_bytes(const Write& write) const {
    for (const BlockExtent& extent : write.extents) {
      if (!extent.is_spilled) {
        EXPECT_EQ(memory_.at(extent.block), extent.offset);
        continue;
      }
      const SpilledBlock& from = write.spilled.at(static_cast<std::size_t>(extent.block));
      EXPECT_EQ(disk_.at(from.slot), std::pair(from.stamp, extent.offset));
    }
  }

  std::mt19937 random_;
  std::int64_t blocks_;
  std::int64_t slots_;
  std::int64_t client_blocks_;
  bool has_journal_;
  Stager stager_;
  std::map<std::int64_t, std::int64_t> memory_;  // by block, the parcel's tag; 0: it is granted
  // By slot, the stamp and the tag.
  std::map<std::int64_t, std::pair<std::uint64_t, std::int64_t>> disk_;
  std::map<ClientId, Rank> ranks_;
  std::map<JobId, Job> jobs_;
  std::map<JobId, std::vector<std::int64_t>> in_job_;
  std::map<int, Story> stories_;    // by the session's name
  std::map<SessionId, int> names_;  // of sessions that are not forgotten
  std::set<SessionId> retries_;
  std::set<std::uint64_t> waits_;
  std::set<std::int64_t> at_once_;  // tags
  std::vector<Story> ended_;
  SessionId sessions_ = 0;
  ClientId last_client_ = 0;
  std::int64_t last_tag_ = 0;
  std::int64_t commits_stored_ = 0;
  std::int64_t read_back_ = 0;  // parcels that were spilled
  std::deque<Recording> recordings_;
  std::map<std::int64_t, SessionId> sessions_of_tags_;
  std::set<std::pair<SessionId, std::int64_t>> recorded_;  // tags; a commit is -ticket
  bool has_ended_ = false;
};

// Does one thing that could happen next.
void happen(World& world, bool may_fail) {
  std::vector<ClientId> connected;
  for (const auto& [client, rank] : world.ranks()) {
    if (rank.is_connected) connected.push_back(client);
  }
  const int what = world.pick(12);
  if (connected.size() < 2 || (what == 0 && connected.size() < 6)) {
    world.connect(1 + world.pick(3));
    return;
  }
  if (what <= 3 && !world.jobs().empty()) {
    auto job = world.jobs().begin();
    std::advance(job, world.pick(static_cast<int>(world.jobs().size())));
    Status status;
    const int luck = world.pick(20);
    if (luck < 4) status = system_failure("write", "f", 0, ENOSPC);
    if (luck == 4 && may_fail) status = system_failure("write", "f", 0, EIO);
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
      world.reserve(client, 1 + world.pick(4));
      break;
    case 2:
    case 3:
    case 4:
      if (!rank.granted.empty()) world.hand_over(client, world.pick(8) == 0);
      break;
    case 5:
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

// Ends all jobs well, until nothing is left to do.
void settle(World& world) {
  for (int round = 0; round < 1000; ++round) {
    while (!world.jobs().empty()) world.end_job(world.jobs().begin()->first, {});
    if (world.retries().empty() && !world.records()) return;
    while (world.records()) world.end_recording({});
    while (!world.retries().empty()) world.retry(*world.retries().begin());
  }
  FAIL() << "the stager never comes to rest";
}

// Adds to `read_back` how many parcels were spilled and read back.
void replay(unsigned seed, bool may_fail, std::int64_t& read_back) {
  constexpr std::array<std::int64_t, 3> slots = {0, 2, 7};
  const std::int64_t spilled = slots.at(seed % slots.size());
  World world(seed, 6, spilled, seed % 2 == 0 ? 0 : 3, seed % 5 < 2);
  for (int i = 0; i < 120; ++i) happen(world, may_fail);
  settle(world);
  for (const auto& [client, rank] : world.ranks()) {
    if (rank.drains && rank.is_connected) ADD_FAILURE() << "a drain has no answer";
    if (rank.commits && rank.is_connected) ADD_FAILURE() << "a commit has no answer";
    // What a rank waits for is with others, which have not handed it over.
    if (!rank.wants || !rank.is_connected) continue;
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
    // All commits, and everything before the last of them, are stored; what is behind was dropped.
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
    replay(seed, false, read_back);
  }
  EXPECT_GT(read_back, 1000) << "hardly anything was spilled";
}

TEST(StagerReplay, AFailureEndsOneSessionAlone) {
  std::int64_t read_back = 0;
  for (unsigned seed = 1; seed <= 10'000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    replay(seed, true, read_back);
  }
  EXPECT_GT(read_back, 1000) << "hardly anything was spilled";
}

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

TEST(Stager, SpillsForARankThatFindsNoMemory) {
  World world(1, 3, 2);
  const ClientId client = world.connect(1);
  world.reserve(client, 3);
  for (int i = 0; i < 3; ++i) world.hand_over(client);
  EXPECT_TRUE(world.jobs().empty());
  world.reserve(client, 2);
  ASSERT_EQ(world.jobs().size(), 1U);
  // What is needed last moves first.
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
      Received{1, transport::Parcel{0, 1}, std::vector<transport::ParcelExtent>{{1, 0, 10}}});
  EXPECT_TRUE(stager.handle(Received{1, transport::Reserve{2}}).empty());
  EXPECT_TRUE(stager.needs_more_blocks(0));
  const auto written = stager.handle(NoMoreBlocks{});
  ASSERT_EQ(written.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Write>(written.front()));
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
      transport::Parcel{0, 1},   // a block that was not granted
      transport::Parcel{-1, 1},  // no block at all
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

TEST(Stager, RefusesAParcelForAFileWithoutName) {
  World world(1);
  const ClientId client = world.connect(1);
  world.reserve(client, 1);
  world.receive(client, transport::Parcel{*world.ranks().at(client).granted.begin(), 1},
                {{.file = 3, .offset = 0, .bytes = 1}});
  EXPECT_TRUE(world.ranks().at(client).was_refused);
  EXPECT_EQ(world.stager().free_blocks(), 6);
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
