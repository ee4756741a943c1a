// The option --targets: test files on chosen storage targets. Files that are each a rank's own are
// on one target each: of O targets the file of rank r is on number r mod O. A file of all ranks is
// striped over all of them, in their order.
//
// Files get their targets from the folder in which they are created (chosen_targets.hpp), so
// the job has a folder for each target, or one for all of them (run_folder.hpp). A workload that
// has the option calls check_file_is_on_targets() for every file that it creates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/chosen_targets.hpp"
#include "system/striping.hpp"

namespace weir::bench {

struct FilesOnTargets {
  ChosenTargets chosen;
  bool by_rank = false;  // each file is on one target; otherwise it is striped over all

  [[nodiscard]] bool empty() const { return chosen.empty(); }
  // Returns how many folders of different targets the job has in its directory.
  [[nodiscard]] std::size_t folders() const { return by_rank ? chosen.indices.size() : 1; }
  // Returns the targets of all files in a folder.
  [[nodiscard]] ChosenTargets of_folder(std::size_t folder) const;
  // Returns the targets of a rank's file.
  [[nodiscard]] ChosenTargets of_rank(std::int64_t rank) const;
  // Returns the end of a folder's name, such as "-target3".
  [[nodiscard]] std::string folder_ending(std::size_t folder) const;
  // Returns the options of a command line; empty if no targets are chosen.
  [[nodiscard]] std::vector<std::string> arguments() const;
};

[[nodiscard]] FieldSettings<FilesOnTargets> targets_table();
// Reads the option, if the workload has it. The stripe size is taken out of `striping`, whose other
// properties are then refused: the list of targets decides them.
[[nodiscard]] Result<FilesOnTargets> files_on_targets_of(const Settings& settings,
                                                         storage::Striping* striping);
// Decides between the two forms for the configurations of a job: `file_per_rank` has an element for
// each of them. Fails if they are not alike, or if there are more targets than ranks with files.
[[nodiscard]] Status choose_form(const std::vector<bool>& file_per_rank, std::int64_t ranks,
                                 FilesOnTargets* files);
// Fails if files in the directory cannot be put on targets, with one line that says how to proceed.
[[nodiscard]] Status check_targets(const std::string& directory, const FilesOnTargets& files);
// Gives a new folder, number `folder` of the job's, the layout that every file created in it gets:
// its targets or, if none are chosen, the striping.
[[nodiscard]] Status lay_out_folder(const std::string& path, std::size_t folder,
                                    const FilesOnTargets& files, const storage::Striping& striping);

}  // namespace weir::bench
