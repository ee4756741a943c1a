// The settings of `weir-bench flagfile`.
#include "workloads/flagfile/parameters.hpp"

namespace weir::bench::flagfile {
namespace {

using Kind = SettingKind;

std::vector<Setting> own() {
  return {
      {.name = "pollers",
       .kind = Kind::sizes,
       .metavar = "LIST",
       .help = "ranks that poll the flag; each number is a configuration [0, 1, 2, 4 and so on to "
               "all ranks that have no files of their own]"},
      {.name = "others",
       .kind = Kind::integer,
       .metavar = "N",
       .help = "ranks that call stat on files of their own, the same in all configurations "
               "[half of the ranks]"},
      {.name = "poll",
       .kind = Kind::choice,
       .default_value = "stat",
       .metavar = "CALL",
       .help = "stat, or open with read and close",
       .choices = {"stat", "read"}},
      {.name = "interval",
       .kind = Kind::real,
       .default_value = "0",
       .metavar = "SECONDS",
       .help = "between two polls of a rank"},
      {.name = "seconds",
       .kind = Kind::real,
       .default_value = "1",
       .metavar = "SECONDS",
       .help = "until rank 0 sets the flag, which ends a repetition"},
      {.name = "files",
       .kind = Kind::integer,
       .default_value = "100",
       .metavar = "N",
       .help = "of each rank that has files of its own"},
  };
}

}  // namespace

std::vector<Setting> declarations() {
  std::vector<Setting> all = own();
  for (Setting& setting : core_declarations()) {
    if (setting.name == "sync") {
      setting.default_value = "none";
      setting.help = "is of data: only none";
    } else if (setting.name == "verify") {
      setting.help = "check what every stat finds, and what every poller found in the flag";
    }
    all.push_back(setting);
  }
  return all;
}

}  // namespace weir::bench::flagfile
