#include "workloads/metadata/mix.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace weir::bench::metadata {
namespace {

TEST(Mix, IsReadFromItsText) {
  const auto mix = mix_of("create=30,stat=50,unlink");
  EXPECT_FALSE(mix) << "a weight is missing";
  const auto right = mix_of("create=30,stat=50,unlink=20");
  ASSERT_TRUE(right) << right.error().message;
  ASSERT_EQ(right.value().size(), 3U);
  EXPECT_EQ(right.value()[1].action, Action::stat);
  EXPECT_EQ(right.value()[1].weight, 50);
}

TEST(Mix, RefusesWhatItCannotHold) {
  for (const char* wrong : {"", "fly=1", "stat=0", "stat=-1", "stat=1,stat=2", "stat=1,", "stat=x",
                            "rename=1", "open=1", "mix=1", "unlink=99999999999999999999"}) {
    const auto mix = mix_of(wrong);
    ASSERT_FALSE(mix) << wrong;
    EXPECT_EQ(mix.error().message.find('\n'), std::string::npos);
  }
}

// The operations, replayed on a set of what exists.
TEST(Mix, EveryOperationFindsWhatItNeeds) {
  const auto mix = mix_of("create=30,stat=50,unlink=20,mkdir=10,rmdir=10,directory-stat=5");
  ASSERT_TRUE(mix);
  constexpr std::int64_t capacity = 7;
  MixSequence sequence(mix.value(), capacity, 3);
  std::map<Subject, std::set<std::int64_t>> there;
  for (const Subject subject : {Subject::file, Subject::directory}) {
    const Window& window = sequence.of(subject);
    EXPECT_EQ(window.count, capacity / 2);
    for (std::int64_t i = 0; i < window.count; ++i) there[subject].insert(window.place(i));
  }
  for (int i = 0; i < 5000; ++i) {
    const auto next = sequence.next();
    ASSERT_TRUE(next);
    const ActionFacts& facts = facts_of(mix.value()[next->part].action);
    std::set<std::int64_t>& own = there[facts.subject];
    ASSERT_TRUE(next->place >= 0 && next->place < capacity);
    ASSERT_EQ(own.count(next->place), facts.makes ? 0U : 1U) << facts.name;
    if (facts.makes) own.insert(next->place);
    if (facts.action == Action::unlink || facts.action == Action::rmdir) own.erase(next->place);
  }
  for (const Subject subject : {Subject::file, Subject::directory}) {
    for (std::int64_t place = 0; place < capacity; ++place) {
      EXPECT_EQ(sequence.of(subject).holds(place), there[subject].count(place) == 1U) << place;
    }
  }
}

TEST(Mix, KeepsItsWeights) {
  const auto mix = mix_of("create=30,stat=50,unlink=20");
  ASSERT_TRUE(mix);
  constexpr int operations = 20000;
  MixSequence sequence(mix.value(), operations, 9);
  std::vector<int> drawn(3);
  std::set<std::int64_t> looked_up;
  for (int i = 0; i < operations; ++i) {
    const auto next = sequence.next();
    ASSERT_TRUE(next);
    ++drawn[next->part];
    if (next->part == 1) looked_up.insert(next->place);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(drawn[i], operations * static_cast<double>(mix.value()[i].weight) / 100, 300) << i;
  }
  EXPECT_GT(looked_up.size(), 5000U) << "items are drawn at random";
}

TEST(Mix, EndsWhereNothingCanBeDone) {
  const auto mix = mix_of("unlink=1,stat=1");
  ASSERT_TRUE(mix);
  MixSequence sequence(mix.value(), 4, 1);
  EXPECT_EQ(sequence.of(Subject::file).count, 4) << "what it does not make is there before";
  int removed = 0;
  while (const auto next = sequence.next()) removed += next->part == 0 ? 1 : 0;
  EXPECT_EQ(removed, 4);
  MixSequence of_nobody(mix.value(), 0, 1);
  EXPECT_FALSE(of_nobody.next());
}

}  // namespace
}  // namespace weir::bench::metadata
