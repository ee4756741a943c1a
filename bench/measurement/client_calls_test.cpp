#include "measurement/client_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::bench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Linux 6.1 writes this; it is shortened here.
constexpr const char* recorded = R"(device proc mounted on /proc with fstype proc
device /dev/vda mounted on / with fstype ext4
device server:/export mounted on /mnt/nfs\040home with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,acregmin=3,hard,proto=tcp,timeo=600
	age:	5211
	impl_id:	name='',domain='',date='0,0'
	caps:	caps=0x3ffbffff,wtmult=512,dtsize=1048576,bsize=0,namlen=255
	nfsv4:	bm0=0xfdffbfff,bm1=0xfdffbe3e,bm2=0x68800,acl=0x3,sessions,pnfs=not configured,lease_time=90
	sec:	flavor=1,pseudoflavor=1
	events:	10 151 6 30 7 12 198 0 0 0 24 0 3 6 4 11 0 1 4 0 0 0 0 0 0 0 0
	bytes:	0 0 0 0 0 0 0 0
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	xprt:	tcp 0 0 2 0 31 512 512 0 513 0 2 0 0
	per-op statistics
	        NULL: 1 1 0 44 24 11 0 12 0
	        READ: 0 0 0 0 0 0 0 0 0
	     GETATTR: 4711 4711 0 951622 1130640 27 1203 1290 0
	      LOOKUP: 52 52 0 11440 13520 0 15 16 2

device server:/other mounted on /mnt/other with fstype nfs statvers=1.1
	per-op statistics
	     GETATTR: 7 7 0 1 1 0 0 0 0
device tmpfs mounted on /dev/shm with fstype tmpfs
)";

TEST(ParseMountstats, TakesTheCallsOfTheMountAlone) {
  const auto calls = parse_mountstats(recorded, "/mnt/nfs home");
  ASSERT_TRUE(calls);
  EXPECT_THAT(*calls, ElementsAre(Pair("GETATTR", 4711), Pair("LOOKUP", 52), Pair("NULL", 1),
                                  Pair("READ", 0)));
  EXPECT_THAT(*parse_mountstats(recorded, "/mnt/other"), ElementsAre(Pair("GETATTR", 7)));
}

TEST(ParseMountstats, SaysWhereNothingIsCounted) {
  EXPECT_FALSE(parse_mountstats(recorded, "/"));
  EXPECT_FALSE(parse_mountstats(recorded, "/mnt"));
  EXPECT_FALSE(parse_mountstats("", "/mnt/other"));
  EXPECT_FALSE(parse_mountstats("device mounted on", "/mnt/other"));
  EXPECT_FALSE(ClientCalls().now());
  EXPECT_FALSE(ClientCalls("/no/such/counters", "/mnt/other").now());
  EXPECT_FALSE(ClientCalls::of("/proc").now());
}

TEST(ParseMountstats, TakesTheMountThatCoversAnother) {
  const std::string covered =
      std::string(recorded) + "device tmpfs mounted on /mnt/other with fstype tmpfs\n";
  EXPECT_FALSE(parse_mountstats(covered, "/mnt/other"));
}

TEST(ParseMountstats, StopsAtWhatIsNoCall) {
  constexpr const char* cut =
      "device s:/e mounted on /m with fstype nfs\n\tper-op statistics\n\t A: 3 3\n\t B: x\n\t C: "
      "4\n";
  EXPECT_THAT(*parse_mountstats(cut, "/m"), ElementsAre(Pair("A", 3)));
}

TEST(CallsBetween, KeepsWhatHasGrown) {
  const CallCounts before{{"A", 1}, {"B", 5}, {"C", 9}};
  const CallCounts after{{"A", 4}, {"B", 5}, {"C", 2}, {"D", 6}};
  EXPECT_THAT(calls_between(before, after), ElementsAre(Pair("A", 3), Pair("D", 6)));
  EXPECT_THAT(calls_between(after, after), IsEmpty());
}

}  // namespace
}  // namespace weir::bench
