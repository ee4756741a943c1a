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
       .help = "numbers of ranks that poll the flag; each is a configuration [0, 1, 2, 4 and so "
               "on, up to all ranks without their own files]"},
      {.name = "others",
       .kind = Kind::integer,
       .metavar = "N",
       .help = "number of ranks that call stat on their own files, the same in all configurations "
               "[half of the ranks]"},
      {.name = "poll",
       .kind = Kind::choice,
       .default_value = "stat",
       .metavar = "CALL",
       .help = "how a poller looks at the flag: stat, or open, read and close",
       .choices = {"stat", "read"}},
      {.name = "interval",
       .kind = Kind::real,
       .default_value = "0",
       .metavar = "SECONDS",
       .help = "time between two polls of a rank"},
      {.name = "seconds",
       .kind = Kind::real,
       .default_value = "1",
       .metavar = "SECONDS",
       .help = "time until rank 0 sets the flag, which ends a repetition"},
      {.name = "files",
       .kind = Kind::integer,
       .default_value = "100",
       .metavar = "N",
       .help = "number of files of each rank that calls stat"},
  };
}

}  // namespace

std::vector<Setting> declarations() {
  std::vector<Setting> all = own();
  for (Setting& setting : core_declarations()) {
    if (setting.name == "sync") {
      setting.default_value = "none";
      setting.help = "applies to data only: none is the only value here";
    } else if (setting.name == "verify") {
      setting.help =
          "check the result of every stat, and the content that every poller read from the flag";
    }
    all.push_back(setting);
  }
  return all;
}

}  // namespace weir::bench::flagfile
