// Calls of MPI that make communicators, of which SMPI lacks some. The linker directs the programs'
// calls here (--wrap in sim/CMakeLists.txt). SMPI makes the communicators; which ranks they have is
// known in memory that all simulated ranks have in common.
#include "library/communicators.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "library/simulated_rank.hpp"

namespace weir::sim {

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

std::shared_ptr<Group> group_of(MPI_Comm communicator) {
  const SimulatedRank& own = this_rank();
  auto& groups = own.system->groups;
  if (const auto known = groups.find(communicator); known != groups.end()) return known->second;
  std::vector<std::int64_t> world;
  if (communicator == MPI_COMM_WORLD) {
    world.resize(own.system->ranks.size());
    std::iota(world.begin(), world.end(), 0);
  } else if (communicator == MPI_COMM_SELF) {
    world.push_back(rank_in(MPI_COMM_WORLD));
  } else {
    return nullptr;
  }
  return groups[communicator] = std::make_shared<Group>(*own.system, std::move(world));
}

std::size_t bytes_of(std::int64_t count, MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(extent);
}

}  // namespace weir::sim

namespace {

using weir::sim::CollectiveCall;
using weir::sim::Group;
using weir::sim::group_of;
using weir::sim::rank_in;

// No other message of the programs that are simulated has this tag.
constexpr int own_tag = 32'000;

// A group of SMPI's, which all ranks of a new communicator use.
struct Ranks {
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() { MPI_Group_free(&group); }

  MPI_Group group = MPI_GROUP_NULL;
};

// What a rank gives to a call that splits a communicator, and what it gets.
struct Split {
  int color = MPI_UNDEFINED;
  int key = 0;
  std::shared_ptr<Ranks> ranks;
  std::shared_ptr<Group> group;
};

Split& split_of(CollectiveCall& all, int rank) {
  return *reinterpret_cast<Split*>(all.seat(rank).result);
}

// Gives each rank the ranks of its new communicator, of a call to which all have come.
void split(CollectiveCall& all, const Group& group, MPI_Comm communicator) {
  std::map<int, std::vector<int>> members;
  for (int rank = 0; rank < all.size(); ++rank) {
    const int color = split_of(all, rank).color;
    if (color != MPI_UNDEFINED) members[color].push_back(rank);
  }
  MPI_Group whole = MPI_GROUP_NULL;
  MPI_Comm_group(communicator, &whole);
  for (auto& [color, own] : members) {
    std::stable_sort(own.begin(), own.end(),
                     [&](int a, int b) { return split_of(all, a).key < split_of(all, b).key; });
    const auto ranks = std::make_shared<Ranks>();
    MPI_Group_incl(whole, static_cast<int>(own.size()), own.data(), &ranks->group);
    std::vector<std::int64_t> world;
    for (const int rank : own) world.push_back(group.world_rank(rank));
    const auto made = std::make_shared<Group>(group.system(), std::move(world));
    for (const int rank : own) {
      split_of(all, rank).ranks = ranks;
      split_of(all, rank).group = made;
    }
  }
  MPI_Group_free(&whole);
}

void remember(MPI_Comm made, std::shared_ptr<Group> group) {
  weir::sim::this_rank().system->groups[made] = std::move(group);
}

}  // namespace

extern "C" {

// Messages tell all ranks the colors and keys of all.
int __wrap_MPI_Comm_split(MPI_Comm communicator, int color, int key, MPI_Comm* made) {
  *made = MPI_COMM_NULL;
  const std::shared_ptr<Group> group = group_of(communicator);
  if (group == nullptr) return MPI_ERR_COMM;
  Split own{.color = color, .key = key, .ranks = nullptr, .group = nullptr};
  group->call(rank_in(communicator), nullptr, &own, [&](CollectiveCall& all) {
    if (!all.is_complete()) return;
    all.disseminate(sizeof color + sizeof key);
    split(all, *group, communicator);
    all.let_all_go();
  });
  if (color == MPI_UNDEFINED) return MPI_SUCCESS;
  const int code = MPI_Comm_create_group(communicator, own.ranks->group, own_tag, made);
  if (code == MPI_SUCCESS) remember(*made, std::move(own.group));
  return code;
}

int __wrap_MPI_Comm_split_type(MPI_Comm communicator, int type, int key, MPI_Info /*info*/,
                               MPI_Comm* made) {
  const auto node = static_cast<int>(weir::sim::this_rank().number_of_node);
  return __wrap_MPI_Comm_split(communicator, type == MPI_COMM_TYPE_SHARED ? node : MPI_UNDEFINED,
                               key, made);
}

int __real_MPI_Comm_dup(MPI_Comm communicator, MPI_Comm* made);
int __wrap_MPI_Comm_dup(MPI_Comm communicator, MPI_Comm* made) {
  const std::shared_ptr<Group> group = group_of(communicator);
  if (group == nullptr) return MPI_ERR_COMM;
  const int code = __real_MPI_Comm_dup(communicator, made);
  if (code != MPI_SUCCESS) return code;
  // SMPI's ranks have met. The first one here makes the group for all.
  const int rank = rank_in(communicator);
  std::shared_ptr<Group> like;
  group->call(rank, nullptr, nullptr, [&](CollectiveCall& all) {
    if (all.made == nullptr) all.made = std::make_shared<Group>(group->system(), group->world());
    like = all.made;
    all.let_go(all.seat(rank));
  });
  remember(*made, std::move(like));
  return MPI_SUCCESS;
}

int __wrap_MPI_Comm_idup(MPI_Comm communicator, MPI_Comm* made, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return __wrap_MPI_Comm_dup(communicator, made);
}

int __real_MPI_Comm_free(MPI_Comm* communicator);
int __wrap_MPI_Comm_free(MPI_Comm* communicator) {
  weir::sim::this_rank().system->groups.erase(*communicator);
  return __real_MPI_Comm_free(communicator);
}

}  // extern "C"
