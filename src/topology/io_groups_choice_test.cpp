#include "topology/io_groups_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::topology {
namespace {

using testing::HasSubstr;

TEST(IoGroupsChoice, GivenGroupsAreThoseOfIoGroups) {
  const auto choice = IoGroupsChoice::parse("0*2,1*2");
  ASSERT_TRUE(choice) << choice.error().message;
  ASSERT_TRUE(choice.value().groups);
  EXPECT_TRUE(choice.value().groups->is_list());
  EXPECT_EQ(choice.value().source, "");
  EXPECT_EQ(choice.value().text(), "0*2,1*2");
}

TEST(IoGroupsChoice, ASourceIsNamedWithTheFileThatItNeeds) {
  for (const char* text : {"slurm", "lnet", "cray", "discover", "description:a.toml",
                           "infiniband:fabric.txt", "discover:fabric.txt", "description:a:b"}) {
    const auto choice = IoGroupsChoice::parse(text);
    ASSERT_TRUE(choice) << text << ": " << choice.error().message;
    EXPECT_FALSE(choice.value().groups) << text;
    const std::string told(text);
    const std::size_t colon = told.find(':');
    EXPECT_EQ(choice.value().source, told.substr(0, colon));
    EXPECT_EQ(choice.value().file, colon == std::string::npos ? "" : told.substr(colon + 1));
  }
  EXPECT_EQ(IoGroupsChoice::parse("slurm").value().one_source(), PlaceSource::slurm);
  EXPECT_FALSE(IoGroupsChoice::parse("discover").value().one_source());
}

TEST(IoGroupsChoice, OtherTextsAreRefusedWithWhatThereIs) {
  for (const char* text :
       {"slurm:file", "description", "description:", "infiniband:", "discover:", "torus", "0,2"}) {
    const auto choice = IoGroupsChoice::parse(text);
    ASSERT_FALSE(choice) << text;
    EXPECT_THAT(choice.error().message, HasSubstr("or lnet, slurm, cray or discover for those"));
    EXPECT_THAT(choice.error().message, HasSubstr("description:FILE, infiniband:FILE"));
  }
}

}  // namespace
}  // namespace weir::topology
