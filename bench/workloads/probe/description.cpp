#include "workloads/probe/description.hpp"

#include <nlohmann/json.hpp>

#include "measurement/environment.hpp"

namespace weir::bench::probe {

nlohmann::ordered_json describe_target(const std::string& directory) {
  nlohmann::json file_system = describe_file_system(directory);
  nlohmann::ordered_json target = {{"directory", directory},
                                   {"file_system", file_system["type"]},
                                   {"mount", file_system["mount_point"]},
                                   {"device", file_system["source"]}};
  for (const char* told : {"directory", "type", "mount_point", "source"}) file_system.erase(told);
  file_system["block_device"] = describe_hardware(directory)["block_device"];
  target["layout"] = file_system;
  return target;
}

}  // namespace weir::bench::probe
