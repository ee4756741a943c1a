#include "topology/host_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::topology {
namespace {

std::vector<std::string> expanded(const std::string& text) {
  std::vector<std::string> hosts;
  HostList::parse(text).value().each([&](const std::string& host) {
    hosts.push_back(host);
    return true;
  });
  return hosts;
}

std::string refused_list(const std::string& text) {
  const auto list = HostList::parse(text);
  return list ? "" : list.error().message;
}

TEST(HostList, HasTheHostsThatSlurmsTextMeans) {
  EXPECT_THAT(expanded("n1"), testing::ElementsAre("n1"));
  EXPECT_THAT(expanded("n1,n[3-5,8]"), testing::ElementsAre("n1", "n3", "n4", "n5", "n8"));
  EXPECT_THAT(expanded("r[0-1]n[09-10].a"),
              testing::ElementsAre("r0n09.a", "r0n10.a", "r1n09.a", "r1n10.a"));
  EXPECT_THAT(expanded("n[8-11]-ib"), testing::ElementsAre("n8-ib", "n9-ib", "n10-ib", "n11-ib"));
}

TEST(HostList, KnowsEachOfItsHostsAndNoOther) {
  const auto list = HostList::parse("n1,r[0-1]n[09-10].a,m[8-11],k[1-2][0-9]").value();
  EXPECT_EQ(list.hosts(), 1 + 4 + 4 + 20);
  list.each([&](const std::string& host) {
    EXPECT_TRUE(list.has(host)) << host;
    return true;
  });
  for (const char* other : {"", "n", "n2", "n11", "r0n9.a", "r0n09", "r2n09.a", "r0n11.a",
                            "r0n009.a", "m7", "m12", "m08", "m", "k30", "k1", "k100", "k010"}) {
    EXPECT_FALSE(list.has(other)) << other;
  }
}

TEST(HostList, BracketsNextToEachOtherDivideDigitsInAnyWay) {
  const auto list = HostList::parse("n[1-12][3-45]").value();
  for (const char* host : {"n13", "n123", "n1245", "n1145", "n103"}) {
    EXPECT_TRUE(list.has(host)) << host;
  }
  EXPECT_FALSE(list.has("n1346"));
}

TEST(HostList, StopsWhenTheVisitorHasEnough) {
  int visited = 0;
  HostList::parse("a[1-9],b").value().each([&](const std::string&) { return ++visited < 3; });
  EXPECT_EQ(visited, 3);
}

TEST(HostList, RefusesOtherTexts) {
  const std::string wrong_name =
      "a name is empty or has other characters than letters, digits, . _ -";
  for (const char* text : {"", ",", "n1,", "n 1", "n]", "n[1]]", "n\x7f", "n[1],,n2", "n[1]x]"}) {
    EXPECT_EQ(refused_list(text), wrong_name) << text;
  }
  EXPECT_EQ(refused_list("n[1"), "brackets do not match");
  for (const char* text :
       {"n[]", "n[1,]", "n[a]", "n[-1]", "n[1-]", "n[1-2-3]", "n[[1]", "n[1234567890123]"}) {
    EXPECT_EQ(refused_list(text),
              "a bracket has something else than numbers and ranges such as 0-3")
        << text;
  }
  EXPECT_EQ(refused_list("n[2-1]"), "a range ends before it begins");
}

TEST(HostList, TakesAsManyHostsAndBracketsAsItSays) {
  EXPECT_EQ(HostList::parse("n[0-1048575]").value().hosts(), HostList::most_listed_hosts);
  EXPECT_EQ(refused_list("n[0-1048576]"), "there are more than 1048576 hosts");
  EXPECT_EQ(refused_list("n[0-1048575],m"), "there are more than 1048576 hosts");
  EXPECT_EQ(refused_list("n[0-999999999999][0-999999999999][0-999999999999]"),
            "there are more than 1048576 hosts");
  EXPECT_EQ(refused_list("n[0-1][0-1][0-1][0-1][0-1][0-1][0-1][0-1]"), "");
  EXPECT_EQ(refused_list("n[0-1][0-1][0-1][0-1][0-1][0-1][0-1][0-1][0]"),
            "a name has more than 8 brackets");
  EXPECT_TRUE(HostList::parse("n[999999999998-999999999999]").value().has("n999999999999"));
}

}  // namespace
}  // namespace weir::topology
