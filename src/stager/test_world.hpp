// The world around a stager, for tests: ranks, storage, and what was promised to them. It checks
// after each event what must always hold: no block or slot is lost or given twice, several blocks
// at once leave one for each other rank, what is written is what was handed over, one job of a
// session at a time, every commit after everything before it, an answer to every question.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stager/stager.hpp"

namespace weir::stager {

inline constexpr std::int64_t block_bytes = 1000;
inline constexpr std::int64_t bytes_of_a_filled_block = 10;

inline transport::SessionId name_of_session(int number) {
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
                 .most_written_together = 2 * bytes_of_a_filled_block,
                 .spill_slots = slots,
                 .most_read_back_together = bytes_of_a_filled_block,
                 .name = "test",
                 .client_blocks = client_blocks,
                 .has_journal = has_journal}) {
    handle(BlocksReady{blocks});
  }

  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  void handle(const Event& event) {
    granted_together_.clear();
    for (Action& action : stager_.handle(event)) {
      std::visit([&](auto& one) { carry_out(one); }, action);
    }
    check_blocks();
  }
  void receive(ClientId client, transport::Message message,
               std::vector<transport::BlockExtent> extents = {}) {
    handle(Received{client, std::move(message), std::move(extents)});
  }

  struct Rank {
    int session = 0;
    std::set<std::int64_t> granted;
    bool wants = false;
    bool hands_over = false;  // and does not wait for an answer
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
  // A session handed these over, in this order: filled blocks (their tag) and commits.
  struct Story {
    std::vector<std::int64_t> handed;  // tags; a commit is -ticket
    std::vector<std::int64_t> stored;
    std::int64_t tickets = 0;
    bool has_failed = false;
    bool is_forgotten = false;
  };
  // This is being written to the journal: a block with a filled block of this tag, or a commit.
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
    receive(client, transport::NameFile{.file = 3,
                                        .path = "h",
                                        .bytes_when_made = 0,
                                        .known = std::nullopt,
                                        .at_once = true,
                                        .may_wait = true});
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
  // Hands over one granted block; its extent's offset is a tag that no other filled block has.
  // `at_once`: of an array by itself, which `may_wait` all the same.
  void hand_over(ClientId client, bool at_once = false, bool may_wait = false) {
    Rank& rank = ranks_.at(client);
    const std::int64_t block = *rank.granted.begin();
    rank.granted.erase(rank.granted.begin());
    const std::int64_t tag = ++last_tag_;
    story_of(rank.session).handed.push_back(tag);
    if (at_once) at_once_.insert(tag);
    memory_[block] = tag;
    receive(client, transport::FilledBlock{block, 1},
            {{.file = !at_once   ? 1U
                      : may_wait ? 3U
                                 : 2U,
              .offset = tag,
              .bytes = bytes_of_a_filled_block}});
  }
  // Ends what a rank hands over without a wait, and asks for blocks for the next time.
  void end_hand_over(ClientId client, std::int64_t blocks) {
    ranks_.at(client).hands_over = true;
    ranks_.at(client).granted.clear();
    receive(client, transport::HandOver{.waited_ns = 0, .blocks = blocks});
    EXPECT_FALSE(ranks_.at(client).hands_over) << "a HandOver has no answer";
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
    if (status.ok()) in_journal_.insert({ended.session, ended.tag});
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
    const std::int64_t tag = action.extents->at(0).offset;
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
      EXPECT_EQ(one.bytes, bytes_of_a_filled_block);
    }
    begin(action.job, 0, false);
    jobs_.at(action.job).moves = action.blocks;
  }
  void carry_out(EmptySpill& action) {
    EXPECT_EQ(stager_.free_slots(), slots_);
    begin(action.job, 0, false);
    disk_.clear();
  }
  void carry_out(WriteBlocks& blocks) {
    const Write action = to_write(blocks);
    begin(action.job, action.session, false);
    jobs_.at(action.job).write = action;
    EXPECT_LE(action.spilled.size(), 1U);
    read_back_ += std::ssize(action.spilled);
    check_bytes(action);
    std::int64_t before = 0;
    for (const BlockExtent& extent : action.extents) {
      EXPECT_GT(extent.offset, before) << "filled blocks are written in the order of their arrival";
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
    EXPECT_LT(story.handed[done], 0) << "a filled block that came before the commit is not stored";
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
    if (std::exchange(rank.hands_over, false)) {
      if (message.blocks.empty()) return;
      EXPECT_GE(stager_.free_blocks(), blocks_ / 2) << "too much was granted ahead";
    } else {
      EXPECT_TRUE(std::exchange(rank.wants, false));
      EXPECT_FALSE(message.blocks.empty());
    }
    granted_together_.push_back(std::ssize(message.blocks));
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
      EXPECT_EQ(message.in_journal,
                !story.has_failed && in_journal_.contains({number->first, -ticket}))
          << "a rank was told something untrue of the journal";
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
        << "a filled block left its block before it was recorded";
  }
  // Whenever a rank gets several blocks, one for each other rank stays free.
  void check_shares() const {
    const auto others =
        std::ranges::count_if(
            ranks_,
            [](const auto& one) { return one.second.is_connected && one.second.has_welcome; }) -
        1;
    std::int64_t left =
        std::accumulate(granted_together_.begin(), granted_together_.end(), stager_.free_blocks());
    for (const std::int64_t blocks : granted_together_) {
      left -= blocks;
      EXPECT_TRUE(blocks == 1 || left >= others) << blocks << " blocks were granted together";
    }
  }
  void check_blocks() {
    std::int64_t granted = 0;
    for (const auto& [client, rank] : ranks_) granted += std::ssize(rank.granted);
    EXPECT_LE(stager_.free_blocks() + granted, blocks_);
    check_shares();
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
  // A job writes what the rank handed over, from its beginning to its end.
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
  // The tag of what fills each block; 0: it is granted.
  std::map<std::int64_t, std::int64_t> memory_;
  // The stamp and the tag of each slot.
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
  std::vector<std::int64_t> granted_together_;  // blocks of each Granted, since the last event
  std::int64_t last_tag_ = 0;
  std::int64_t commits_stored_ = 0;
  std::int64_t read_back_ = 0;  // filled blocks that were spilled
  std::deque<Recording> recordings_;
  std::map<std::int64_t, SessionId> sessions_of_tags_;
  std::set<std::pair<SessionId, std::int64_t>> recorded_;    // tags; a commit is -ticket
  std::set<std::pair<SessionId, std::int64_t>> in_journal_;  // those whose recording went well
  bool has_ended_ = false;
};

// Ends all jobs well, until nothing is left to do.
inline void settle(World& world) {
  for (int round = 0; round < 1000; ++round) {
    while (!world.jobs().empty()) world.end_job(world.jobs().begin()->first, {});
    if (world.retries().empty() && !world.records()) return;
    while (world.records()) world.end_recording({});
    while (!world.retries().empty()) world.retry(*world.retries().begin());
  }
  FAIL() << "the stager never comes to rest";
}

}  // namespace weir::stager
