#include "measurement/files_on_targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::bench {

ChosenTargets FilesOnTargets::of_folder(std::size_t folder) const {
  if (!by_rank) return chosen;
  return {.indices = {chosen.indices[folder]}, .stripe_bytes = chosen.stripe_bytes};
}

ChosenTargets FilesOnTargets::of_rank(std::int64_t rank) const {
  return of_folder(static_cast<std::size_t>(rank) % folders());
}

std::string FilesOnTargets::folder_ending(std::size_t folder) const {
  return by_rank ? fmt::format("-target{}", chosen.indices[folder]) : "";
}

std::vector<std::string> FilesOnTargets::arguments() const {
  if (empty()) return {};
  std::vector<std::string> words = {"--targets", chosen.list()};
  if (chosen.stripe_bytes > 0) {
    words.insert(words.end(), {"--stripe-size", fmt::format("{}", chosen.stripe_bytes)});
  }
  return words;
}

FieldSettings<FilesOnTargets> targets_table() {
  return {
      {[](FilesOnTargets& files) -> std::vector<std::int32_t>& { return files.chosen.indices; },
       parse_targets,
       "targets",
       "indices of storage targets, on Lustre: of O targets the file of rank r is on number r mod "
       "O, and a file of all ranks is striped over all of them [any]",
       {.metavar = "INDEX[,INDEX...]"}},
  };
}

Result<FilesOnTargets> files_on_targets_of(const Settings& settings, storage::Striping* striping) {
  FilesOnTargets files;
  fill(settings, targets_table(), &files);
  if (files.empty()) return files;
  if (striping->count != 0 || striping->first_target != 0 || !striping->pool.empty()) {
    return invalid_argument(fmt::format(
        "--targets {}: the targets are chosen already: leave out --stripe-count, --first-target "
        "and --pool",
        settings.text("targets")));
  }
  files.chosen.stripe_bytes = std::exchange(striping->stripe_bytes, 0);
  return files;
}

Status choose_form(const std::vector<bool>& file_per_rank, std::int64_t ranks,
                   FilesOnTargets* files) {
  if (files->empty()) return {};
  const auto own = std::count(file_per_rank.begin(), file_per_rank.end(), true);
  if (own != 0 && own != std::ssize(file_per_rank)) {
    return invalid_argument(
        fmt::format("--targets {}: files of single ranks have one target each, and a file of all "
                    "ranks has all: measure one of the two kinds in a job",
                    files->chosen.list()));
  }
  files->by_rank = own != 0;
  const std::int64_t targets = std::ssize(files->chosen.indices);
  if (files->by_rank && targets > ranks) {
    return invalid_argument(
        fmt::format("--targets names {} targets for the files of {} ranks: give at most one target "
                    "per rank",
                    targets, ranks));
  }
  return {};
}

Status check_targets(const std::string& directory, const FilesOnTargets& files) {
  if (files.empty()) return {};
  Status possible = check_targets_can_be_chosen(directory);
  if (possible.ok()) return {};
  Error error = possible.error();
  error.message = fmt::format(
      "--targets {}: {}, give a --directory on Lustre, or several directories, each on a target "
      "(madbench --directory DIR,DIR, stream -o DIR@DIR)",
      files.chosen.list(), error.message);
  return error;
}

Status lay_out_folder(const std::string& path, std::size_t folder, const FilesOnTargets& files,
                      const storage::Striping& striping) {
  return files.empty() ? storage::stripe_folder(path, striping)
                       : put_folder_on_targets(path, files.of_folder(folder));
}

}  // namespace weir::bench
