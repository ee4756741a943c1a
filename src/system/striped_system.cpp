#include "system/striped_system.hpp"

#include <fmt/format.h>

#include <utility>

namespace weir::storage {

Result<StripedSystem> striped_system_of(const std::string& folder, const Striping& striping,
                                        const std::string& mounts) {
  if (Status possible = striping.check(); !possible.ok()) return possible.error();
  const auto mount = mount_of(folder.empty() ? "." : folder, mounts);
  const std::string type = mount ? mount->type : "an unknown file system";
  if (type == "lustre") return StripedSystem::lustre;
  if (type != "ceph" && type != "fuse.ceph-fuse") {
    return Error(ErrorCode::unsupported,
                 fmt::format("on {} programs cannot choose how a file is striped (on Lustre and "
                             "CephFS they can): leave it out",
                             type),
                 folder);
  }
  if (striping.first_target > 0) {
    return Error(ErrorCode::unsupported, "CephFS chooses the first target itself: leave it out",
                 folder);
  }
  if (striping.count == Striping::all_targets) {
    return Error(ErrorCode::unsupported, "CephFS has no setting for all targets: give a number",
                 folder);
  }
  return StripedSystem::ceph;
}

}  // namespace weir::storage
