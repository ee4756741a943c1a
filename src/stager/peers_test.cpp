// Replays sessions on several nodes: three stagers as state machines, with links between them that
// deliver messages late, and end. Whatever the order, a step is published only after every stager
// has stored its share of it. With journals, a step is said to be in them only where every stager
// has its share, and until the step is published none of these is removed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stager/stager.hpp"

namespace weir::stager {
namespace {

constexpr int stagers = 3;  // the first one publishes
constexpr ClientId rank_client = 1;
constexpr ClientId link_client = 100;  // + the number of the other stager

class Nodes {
 public:
  explicit Nodes(unsigned seed, bool has_journals = false)
      : random_(seed), has_journals_(has_journals) {
    for (int i = 0; i < stagers; ++i) {
      nodes_.emplace_back(StagerSettings{.blocks = 4,
                                         .block_bytes = 1000,
                                         .most_written_together = 2000,
                                         .name = std::to_string(i),
                                         .host = "node" + std::to_string(i),
                                         .secret = i == 0 ? "secret" : "another",
                                         .has_journal = has_journals});
      handle(i, BlocksReady{4});
      handle(i, Connected{rank_client});
      receive(i, rank_client, transport::Hello{.session = {}, .rank = i, .program = "p"});
      receive(
          i, rank_client,
          transport::NameFile{.file = 1, .path = "f", .bytes_when_made = 0, .known = std::nullopt});
    }
  }

  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  void join(int node, const std::string& secret = "secret") {
    receive(node, rank_client, transport::JoinHome{{"home"}, secret, has_journals_});
  }
  // Hands over a filled block if the stager has a free block.
  void hand_over(int node) {
    Node& one = nodes_[static_cast<std::size_t>(node)];
    if (!one.is_alive || one.granted.empty()) {
      if (one.is_alive && !one.wants) {
        one.wants = true;
        receive(node, rank_client, transport::Reserve{1});
      }
      return;
    }
    const std::int64_t block = one.granted.back();
    one.granted.pop_back();
    ++one.handed;
    handle(
        node,
        Received{rank_client, transport::FilledBlock{block, 1},
                 std::vector<transport::BlockExtent>{{.file = 1, .offset = ++tag_, .bytes = 10}}});
  }
  void end_step() {
    if (nodes_[0].commits) return;  // its rank waits
    ++steps_;
    for (int i = 0; i < stagers; ++i) {
      Node& one = nodes_[static_cast<std::size_t>(i)];
      one.in_step[steps_] = one.handed;
      if (!one.is_alive) continue;
      if (i > 0) receive(i, rank_client, transport::SealStep{.seal = steps_});
    }
    if (nodes_[0].is_alive) {
      nodes_[0].commits = has_journals_;
      receive(
          0, rank_client,
          transport::CommitStep{.path = path_of(steps_),
                                .seal = steps_,
                                .update = {.made = {}, .changes = {storage::DurabilityPoint{}}}});
    }
  }
  // Ends what was begun first. A step of which something could not be recorded is in no journal.
  void end_recording(int node, Status status = {}) {
    Node& one = nodes_[static_cast<std::size_t>(node)];
    if (!one.is_alive || one.recordings.empty()) return;
    const Recorded ended = one.recordings.front();
    one.recordings.pop_front();
    if (ended.seal == 0) {
      one.has_gap = one.has_gap || !status.ok();
    } else {
      const bool has_gap = std::exchange(one.has_gap, false);
      if (status.ok() && (has_gap || ended.is_refused)) status = invalid_argument("it has a gap");
      if (status.ok()) one.journal.insert(ended.seal);
    }
    handle(node, JobEnded{ended.job, std::move(status)});
  }
  void end_job(int node, Status status = {}) {
    Node& one = nodes_[static_cast<std::size_t>(node)];
    if (!one.is_alive || one.job == 0) return;
    if (status.ok()) one.stored += one.in_job;
    if (status.ok() && one.is_commit) one.journal.erase(++published_);
    JobEnded ended{std::exchange(one.job, 0), std::move(status)};
    // Chunks of two arrays; the number of each tells who has encoded it.
    for (const char* const array : {"a", "b"}) {
      if (one.in_seal > 0 && ended.status.ok()) {
        ended.chunks.push_back(
            {.seal = one.in_seal, .encoded = array, .chunks = {{.chunk = node, .place = {}}}});
      }
    }
    handle(node, ended);
  }
  // Delivers one message, or tells that a link has ended.
  bool deliver(int node) {
    Node& one = nodes_[static_cast<std::size_t>(node)];
    if (one.mail.empty()) return false;
    const auto [client, message] = std::move(one.mail.front());
    one.mail.pop_front();
    if (!one.is_alive) return true;
    if (message) {
      receive(node, client, *message);
    } else {
      handle(node, Disconnected{client});
    }
    return true;
  }
  void kill(int node) {
    nodes_[static_cast<std::size_t>(node)].is_alive = false;
    for (int i = 0; i < stagers; ++i) cut(node, i);
  }
  void cut(int a, int b) {
    if (linked_.erase(std::pair(std::min(a, b), std::max(a, b))) == 0) return;
    nodes_[static_cast<std::size_t>(a)].mail.emplace_back(client_of(b), std::nullopt);
    nodes_[static_cast<std::size_t>(b)].mail.emplace_back(client_of(a), std::nullopt);
  }
  void leave(int node) { handle(node, Disconnected{rank_client}); }
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int i = 0; i < stagers; ++i) {
        while (deliver(i)) moved = true;
        Node& one = nodes_[static_cast<std::size_t>(i)];
        if (one.is_alive && one.job != 0) {
          end_job(i);
          moved = true;
        }
        while (one.is_alive && !one.recordings.empty()) {
          end_recording(i);
          moved = true;
        }
      }
    }
  }

  // A filled block that is being recorded, or the end of the step with this seal.
  struct Recorded {
    JobId job = 0;
    std::uint64_t seal = 0;
    bool is_refused = false;
  };
  struct Node {
    explicit Node(const StagerSettings& settings) : stager(settings) {}
    Stager stager;
    bool is_alive = true;
    bool wants = false;
    std::vector<std::int64_t> granted;
    JobId job = 0;
    bool is_commit = false;
    int in_job = 0;             // filled blocks
    std::uint64_t in_seal = 0;  // of a job that seals a step
    int handed = 0;
    int stored = 0;
    // Filled blocks that had been handed over at each step's end.
    std::map<std::uint64_t, int> in_step;
    std::deque<std::pair<ClientId, std::optional<transport::Message>>> mail;
    std::vector<Status> joined;
    std::vector<Status> outcomes;  // of tickets that were asked for
    std::vector<Status> drained;
    bool was_refused = false;
    std::deque<Recorded> recordings;
    int recorded = 0;                 // filled blocks whose recording was begun
    bool has_gap = false;             // in what was recorded of the step
    bool commits = false;             // its rank waits for Accepted
    std::set<std::uint64_t> journal;  // seals of steps of which it has a share
  };
  // Returns whether the step survives the end of all stagers.
  [[nodiscard]] bool survives(std::uint64_t seal) const {
    return seal <= published_ ||
           std::ranges::all_of(nodes_, [&](const Node& one) { return one.journal.contains(seal); });
  }
  [[nodiscard]] const std::set<std::uint64_t>& in_journals() const { return in_journals_; }
  [[nodiscard]] Node& node(int number) { return nodes_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] std::uint64_t published() const { return published_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  void receive(int node, ClientId client, transport::Message message) {
    handle(node, Received{client, std::move(message)});
  }
  void handle(int node, const Event& event) {
    Node& one = nodes_[static_cast<std::size_t>(node)];
    if (!one.is_alive) return;
    for (Action& action : one.stager.handle(event)) {
      std::visit([&](auto& what) { carry_out(node, what); }, action);
    }
  }

 private:
  static std::string path_of(std::uint64_t step) { return "f" + std::to_string(step); }
  static ClientId client_of(int node) { return link_client + static_cast<ClientId>(node); }

  void carry_out(int node, Send& action) {
    Node& one = nodes_[static_cast<std::size_t>(node)];
    if (action.client >= link_client) {
      const int other = static_cast<int>(action.client - link_client);
      if (linked_.contains(std::pair(std::min(node, other), std::max(node, other)))) {
        nodes_[static_cast<std::size_t>(other)].mail.emplace_back(client_of(node), action.message);
      }
      return;
    }
    if (const auto* const granted = std::get_if<transport::Granted>(&action.message)) {
      one.wants = false;
      one.granted.insert(one.granted.end(), granted->blocks.begin(), granted->blocks.end());
    }
    if (const auto* const joined = std::get_if<transport::Joined>(&action.message)) {
      one.joined.push_back(joined->outcome.status);
    }
    if (const auto* const stored = std::get_if<transport::Stored>(&action.message)) {
      one.outcomes.push_back(stored->outcome.status);
    }
    if (const auto* const drained = std::get_if<transport::Drained>(&action.message)) {
      one.drained.push_back(drained->outcome.status);
    }
    if (const auto* const accepted = std::get_if<transport::Accepted>(&action.message)) {
      if (node == 0) one.commits = false;
      if (accepted->in_journal) {
        EXPECT_TRUE(survives(accepted->ticket))
            << "a rank was told that step " << accepted->ticket << " is in all journals";
        in_journals_.insert(accepted->ticket);
      }
    }
    one.was_refused = one.was_refused || std::holds_alternative<transport::Refused>(action.message);
  }
  void carry_out(int node, Disconnect& action) {
    if (action.client >= link_client) cut(node, static_cast<int>(action.client - link_client));
  }
  void carry_out(int node, Connect& action) {
    if (!nodes_[0].is_alive) {
      handle(node, Linked{action.session, system_failure("connect", "home", -1, ECONNREFUSED)});
      return;
    }
    linked_.insert(std::pair(0, node));
    for (const char* const array : {"a", "b"}) chunks_of_joined_.emplace(array, node);
    handle(0, Connected{client_of(node), true});
    handle(node, Linked{action.session, client_of(0)});
  }
  void carry_out(int node, Record& action) {
    EXPECT_TRUE(has_journals_);
    Node& one = nodes_[static_cast<std::size_t>(node)];
    one.recordings.push_back({action.job});
    ++one.recorded;
  }
  void carry_out(int node, RecordStep& action) {
    Node& one = nodes_[static_cast<std::size_t>(node)];
    EXPECT_EQ(action.share.number, static_cast<std::uint64_t>(node));
    EXPECT_EQ(action.share.hosts.size(), static_cast<std::size_t>(stagers));
    EXPECT_GE(one.recorded, one.in_step.at(action.step.seal)) << "a share lacks bytes of its step";
    for (int i = 1; node == 0 && action.refused.ok() && i < stagers; ++i) {
      EXPECT_TRUE(nodes_[static_cast<std::size_t>(i)].journal.contains(action.step.seal))
          << "the stager that publishes has recorded a step before node " << i;
    }
    one.recordings.push_back({action.job, action.step.seal, !action.refused.ok()});
  }
  void carry_out(int node, ForgetShare& action) {
    const std::uint64_t seal = std::stoull(action.path.substr(1));
    EXPECT_LE(seal, published_) << "a share was removed before its step was published";
    EXPECT_EQ(nodes_[static_cast<std::size_t>(node)].journal.erase(seal), 1U);
  }
  void carry_out(int node, WriteBlocks& blocks) {
    const Write action = to_write(blocks);
    const Node& one = nodes_[static_cast<std::size_t>(node)];
    if (has_journals_) {
      const auto waiting = std::ranges::count(one.recordings, 0U, &Recorded::seal);
      EXPECT_LE(one.stored + std::ssize(action.extents), one.handed - waiting)
          << "bytes were written before they were recorded";
    }
    begin(node, action.job, static_cast<int>(action.extents.size()), false);
  }
  void carry_out(int node, Seal& action) {
    begin(node, action.job, 0, false);
    nodes_[static_cast<std::size_t>(node)].in_seal = action.step.seal;
  }
  void carry_out(int node, Commit& action) {
    begin(node, action.job, 0, true);
    EXPECT_EQ(node, 0);
    std::multiset<std::pair<std::string, std::int64_t>> told;
    for (const auto& one : action.others) {
      EXPECT_EQ(one->seal, action.step.seal) << "these are chunks of another step";
      told.emplace(one->encoded, one->chunks.at(0).chunk);
    }
    EXPECT_EQ(told, chunks_of_joined_) << "the chunks of step " << action.step.seal;
    for (int i = 0; i < stagers; ++i) {
      // A step is in no journal whose share a stager was recording when its link was cut.
      if (i > 0 && !linked_.contains(std::pair(0, i))) continue;
      const auto& recordings = nodes_[static_cast<std::size_t>(i)].recordings;
      EXPECT_EQ(std::ranges::count(recordings, action.step.seal, &Recorded::seal), 0)
          << "the header changes while a stager records what it replaces";
    }
    for (int i = 0; i < stagers; ++i) {
      const Node& one = nodes_[static_cast<std::size_t>(i)];
      EXPECT_GE(one.stored, one.in_step.at(action.step.seal))
          << "step " << action.step.seal << " is published before node " << i << " has stored it";
    }
  }
  template <typename Other>
  void carry_out(int /*node*/, Other& /*action*/) {}

  void begin(int node, JobId job, int filled_blocks, bool is_commit) {
    Node& one = nodes_[static_cast<std::size_t>(node)];
    EXPECT_EQ(one.job, 0U);
    one.job = job;
    one.in_job = filled_blocks;
    one.in_seal = 0;
    one.is_commit = is_commit;
  }

  std::mt19937 random_;
  bool has_journals_;
  std::set<std::uint64_t> in_journals_;  // steps of which a rank was told that they are there
  std::deque<Node> nodes_;
  std::set<std::pair<int, int>> linked_;
  std::multiset<std::pair<std::string, std::int64_t>> chunks_of_joined_;  // in each step
  std::int64_t tag_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t published_ = 0;
};

// `rarely`: a journal takes something no more.
void happen(Nodes& nodes, bool rarely = false) {
  const int node = nodes.pick(stagers);
  switch (nodes.pick(10)) {
    case 0:
      if (nodes.pick(3) == 0) nodes.end_step();
      break;
    case 8:
    case 9:
      nodes.end_recording(node, rarely && nodes.pick(40) == 0
                                    ? Status(Error(ErrorCode::insufficient, "quota"))
                                    : Status());
      break;
    case 1:
    case 2:
    case 3:
      nodes.hand_over(node);
      break;
    case 4:
    case 5:
      nodes.end_job(node);
      break;
    default:
      (void)nodes.deliver(node);
  }
}

void expect_over(Nodes& nodes) {
  for (int i = 0; i < stagers; ++i) nodes.leave(i);
  nodes.settle();
  for (int i = 0; i < stagers; ++i) {
    if (!nodes.node(i).is_alive) continue;
    EXPECT_TRUE(nodes.node(i).stager.is_idle()) << i;
    EXPECT_EQ(nodes.node(i).stager.free_blocks(), 4) << i;
  }
}

TEST(Peers, PublishEveryStepAfterAllHaveStoredIt) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Nodes nodes(seed);
    for (int i = 1; i < stagers; ++i) nodes.join(i);
    nodes.settle();
    for (int i = 0; i < 120; ++i) happen(nodes);
    // The ranks end; what was accepted is stored all the same.
    for (int i = 0; i < stagers; ++i) nodes.leave(i);
    nodes.settle();
    EXPECT_EQ(nodes.published(), nodes.steps()) << seed;
    expect_over(nodes);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Peers, LeaveNothingBehindWhereOneIsLost) {
  std::uint64_t lost = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Nodes nodes(seed);
    for (int i = 1; i < stagers; ++i) nodes.join(i);
    nodes.settle();
    const int when = nodes.pick(100);
    for (int i = 0; i < 120; ++i) {
      if (i == when) {
        switch (nodes.pick(3)) {
          case 0:
            nodes.kill(nodes.pick(stagers));
            break;
          case 1:
            nodes.cut(0, 1 + nodes.pick(stagers - 1));
            break;
          default:
            nodes.end_job(nodes.pick(stagers), system_failure("write", "f", 0, EIO));
        }
      }
      happen(nodes);
    }
    nodes.settle();
    // Every step is published or known to be lost.
    if (nodes.node(0).is_alive) {
      for (std::uint64_t ticket = 1; ticket <= nodes.steps(); ++ticket) {
        const std::size_t before = nodes.node(0).outcomes.size();
        nodes.receive(0, rank_client, transport::Await{ticket});
        ASSERT_EQ(nodes.node(0).outcomes.size(), before + 1) << "nobody is told of a step";
        const bool is_stored = nodes.node(0).outcomes.back().ok();
        EXPECT_LE(is_stored ? ticket : 1, std::max<std::uint64_t>(1, nodes.published()));
        lost += is_stored ? 0 : 1;
      }
    }
    expect_over(nodes);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(lost, 100U);
}

// 700,000 events.
TEST(Peers, WithJournalsRemoveEachShareWhenItsStepIsPublished) {
  std::size_t journaled = 0;
  for (unsigned seed = 0; seed < 2500; ++seed) {
    Nodes nodes(seed, true);
    for (int i = 1; i < stagers; ++i) nodes.join(i);
    nodes.settle();
    for (int i = 0; i < 280; ++i) happen(nodes, seed % 2 == 0);
    for (int i = 0; i < stagers; ++i) nodes.leave(i);
    nodes.settle();
    EXPECT_EQ(nodes.published(), nodes.steps()) << seed;
    journaled += nodes.in_journals().size();
    for (int i = 0; i < stagers; ++i) EXPECT_TRUE(nodes.node(i).journal.empty()) << i;
    expect_over(nodes);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(journaled, 2000U);
}

// A million events. Whatever is lost, a step that was said to be in the journals is published, or
// each stager has its share, also those that were killed; and every commit is answered once.
TEST(Peers, WithJournalsLoseNoStepThatIsInThem) {
  std::size_t journaled = 0;
  std::size_t unpublished = 0;
  for (unsigned seed = 0; seed < 5000; ++seed) {
    Nodes nodes(seed, true);
    for (int i = 1; i < stagers; ++i) nodes.join(i);
    nodes.settle();
    const int when = nodes.pick(200);
    for (int i = 0; i < 200; ++i) {
      if (i == when) {
        switch (nodes.pick(4)) {
          case 0:
          case 1:
            nodes.kill(nodes.pick(stagers));
            break;
          case 2:
            nodes.cut(0, 1 + nodes.pick(stagers - 1));
            break;
          default:
            nodes.end_job(nodes.pick(stagers), system_failure("write", "f", 0, EIO));
        }
      }
      happen(nodes, seed % 3 == 0);
    }
    nodes.settle();
    EXPECT_FALSE(nodes.node(0).is_alive && nodes.node(0).commits) << "a commit has no answer";
    expect_over(nodes);
    journaled += nodes.in_journals().size();
    for (const std::uint64_t seal : nodes.in_journals()) {
      EXPECT_TRUE(nodes.survives(seal)) << "step " << seal << " is lost";
      unpublished += seal > nodes.published() ? 1 : 0;
    }
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(journaled, 2000U);
  EXPECT_GT(unpublished, 200U);
}

TEST(Peers, RecordNothingWhereOneKeepsNoJournal) {
  Nodes nodes(1, true);
  nodes.receive(1, rank_client, transport::JoinHome{{"home"}, "secret", false});
  nodes.settle();
  EXPECT_NE(nodes.node(0).stager.report().find("another stager of its ranks keeps none"),
            std::string::npos);
  nodes.hand_over(0);
  nodes.hand_over(0);
  nodes.end_step();
  EXPECT_TRUE(nodes.node(0).recordings.empty());
  nodes.receive(1, rank_client, transport::SealStep{.seal = 1});
  nodes.settle();
  EXPECT_EQ(nodes.published(), 1U);
  EXPECT_TRUE(nodes.in_journals().empty());
}

// Ranks that write the files themselves afterwards wait for this answer.
TEST(Peers, ADrainOfALostSessionIsAnsweredAfterTheJobUnderWay) {
  for (const bool asks_before : {true, false}) {
    Nodes nodes(1);
    for (int i = 1; i < stagers; ++i) nodes.join(i);
    nodes.settle();
    nodes.hand_over(1);  // reserves a block
    nodes.hand_over(1);
    nodes.end_step();
    ASSERT_NE(nodes.node(1).job, 0U);
    if (asks_before) nodes.receive(1, rank_client, transport::Drain{});
    nodes.kill(0);
    while (nodes.deliver(1)) {
    }
    if (!asks_before) nodes.receive(1, rank_client, transport::Drain{});
    EXPECT_TRUE(nodes.node(1).drained.empty()) << "a job still writes";
    nodes.end_job(1);
    ASSERT_EQ(nodes.node(1).drained.size(), 1U);
    EXPECT_FALSE(nodes.node(1).drained.front().ok());
    nodes.receive(1, rank_client, transport::Drain{});
    EXPECT_EQ(nodes.node(1).drained.size(), 2U);
    expect_over(nodes);
  }
}

TEST(Peers, AreLetInWithTheSecretOnly) {
  Nodes nodes(1);
  nodes.join(1, "guessed");
  nodes.settle();
  ASSERT_EQ(nodes.node(1).joined.size(), 1U);
  EXPECT_NE(nodes.node(1).joined.front().error().message.find("secret"), std::string::npos);
  nodes.receive(1, rank_client, transport::SealStep{.seal = 1});
  EXPECT_TRUE(nodes.node(1).was_refused);
  nodes.join(2);
  nodes.settle();
  EXPECT_TRUE(nodes.node(2).joined.at(0).ok());
  // Again, by another rank of the node: it has joined already.
  nodes.join(2);
  EXPECT_TRUE(nodes.node(2).joined.at(1).ok());
}

// A connection over a network gets nothing of what ranks of the node get.
TEST(Peers, AreNoRanks) {
  for (const transport::Message& message : std::vector<transport::Message>{
           transport::Hello{}, transport::AskReport{}, transport::Stop{}, transport::Reserve{1},
           transport::Sealed{1}, transport::EncodedChunks{}, transport::Joined{},
           transport::SessionFailed{}, transport::RecordShare{}, transport::ShareRecorded{1, {}},
           transport::Published{1}}) {
    Nodes nodes(1);
    nodes.handle(0, Connected{7, true});
    const auto actions = nodes.node(0).stager.handle(Received{7, message});
    ASSERT_EQ(actions.size(), 2U) << message.index();
    const auto* const answer = std::get_if<Send>(&actions[0]);
    ASSERT_NE(answer, nullptr);
    EXPECT_TRUE(std::holds_alternative<transport::Refused>(answer->message));
    EXPECT_TRUE(std::holds_alternative<Disconnect>(actions[1]));
  }
}

TEST(Peers, AStrangerThatSaysNothingIsSentAway) {
  Nodes nodes(1);
  nodes.join(1);
  nodes.settle();
  EXPECT_EQ(nodes.node(0).stager.strangers(), 0U);
  nodes.handle(0, Connected{7, true});
  EXPECT_EQ(nodes.node(0).stager.strangers(), 1U);
  std::size_t actions = 0;
  for (int i = 0; i < 10; ++i) actions += nodes.node(0).stager.handle(Tick{}).size();
  EXPECT_EQ(actions, 0U);
  EXPECT_EQ(nodes.node(0).stager.handle(Tick{}).size(), 2U);
  EXPECT_EQ(nodes.node(0).stager.strangers(), 0U);
}

TEST(Peers, TellWhichNodeIsLate) {
  Nodes nodes(1);
  nodes.join(2);
  nodes.settle();
  nodes.end_step();
  EXPECT_NE(nodes.node(0).stager.report().find("the stager on node2 has not stored its share"),
            std::string::npos)
      << nodes.node(0).stager.report();
  nodes.settle();
  EXPECT_EQ(nodes.published(), 1U);
}

}  // namespace
}  // namespace weir::stager
