#include "topology/host_groups.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace weir::topology {
namespace {

HostGroups groups_with(std::initializer_list<std::pair<const char*, const char*>> given) {
  HostGroups groups;
  for (const auto& [name, hosts] : given) EXPECT_TRUE(groups.add(name, hosts).ok()) << hosts;
  return groups;
}

std::string refusal_of(const Status& status) { return status.ok() ? "" : status.error().message; }

TEST(HostGroups, AHostIsInTheGroupThatListsIt) {
  const HostGroups groups = groups_with({{"leaf1", "n[1-2],n9"}, {"leaf2", "n[3-4],m1.far"}});
  const auto shared = [&](const char* host) { return groups.place_of(host).value().shared; };
  EXPECT_EQ(shared("n1"), shared("n9"));
  EXPECT_EQ(shared("n3"), shared("m1.far"));
  EXPECT_NE(shared("n1"), shared("n3"));
  EXPECT_EQ(shared("n4.here.org"), shared("n3")) << "by the part before the first dot";
  EXPECT_NE(groups.place_of("n1").value().node, groups.place_of("n2").value().node);
  EXPECT_EQ(groups.place_of("m1").error().message,
            "host m1 is in none of the 2 groups: add it to one");
}

TEST(HostGroups, TheWholeNameGoesFirst) {
  const HostGroups groups = groups_with({{"a", "n1"}, {"b", "n1.far"}});
  EXPECT_NE(groups.place_of("n1.far").value().shared, groups.place_of("n1").value().shared);
}

TEST(HostGroups, AHostThatIsListedTwiceIsNamed) {
  EXPECT_EQ(refusal_of(groups_with({{"a", "n[1-4]"}, {"b", "n[5-8]"}}).check_each_once()), "");
  EXPECT_EQ(refusal_of(groups_with({{"a", "n[1-4]"}, {"b", "n[4-8]"}}).check_each_once()),
            "host n4 is in group 'a' and in group 'b': list it in one of them");
  EXPECT_EQ(refusal_of(groups_with({{"a", "n[1-4],n3"}}).check_each_once()),
            "host n3 is twice in group 'a': list it once");
}

TEST(HostGroups, AllGroupsTogetherHaveAsManyHostsAsOneListMayHave) {
  HostGroups groups;
  EXPECT_TRUE(groups.add("a", "n[0-1048574]").ok());
  EXPECT_TRUE(groups.add("b", "m").ok());
  EXPECT_EQ(refusal_of(groups.add("c", "k")),
            "there are more than 1048576 hosts up to group 'c': leave some out");
}

TEST(HostGroups, AnythingElseThanAListIsRefused) {
  HostGroups groups;
  EXPECT_EQ(refusal_of(groups.add("a", "n[1-")),
            "the hosts of group 'a' are not a list such as n[1-4],n7: brackets do not match");
}

}  // namespace
}  // namespace weir::topology
