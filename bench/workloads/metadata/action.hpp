// What a phase of the metadata workload does to every item, and what that changes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weir::bench::metadata {

enum class Action : std::int8_t {
  tree_create,
  mkdir,
  directory_stat,
  directory_rename,
  rmdir,
  create,
  open,
  close,
  stat,
  lstat,
  utime,
  chmod,
  write,
  read,
  truncate,
  setxattr,
  getxattr,
  rename,
  rename_across,
  link,
  symlink,
  readlink,
  readdir,
  readdir_attributes,
  unlink,
  tree_remove,
  // No phases of their own kind: of many operations (mix.hpp); and, never measured, what takes away
  // what link and symlink made.
  mix,
  remove_links,
  remove_symlinks,
};

// What an action is done to.
enum class Subject { tree, directory, file, listing };

struct ActionFacts {
  Action action = Action::create;
  const char* name = "";  // as users and results spell it
  Subject subject = Subject::file;
  bool makes = false;  // its items are not there before
};

// In the order in which phases run: trees around directories around files.
[[nodiscard]] std::span<const ActionFacts> all_actions();
[[nodiscard]] const ActionFacts& facts_of(Action action);
[[nodiscard]] std::optional<Action> action_named(std::string_view name);

// What exists, in what condition.
struct TreeState {
  bool tree = false;
  bool directories = false;
  bool directories_renamed = false;
  bool files = false;
  bool files_renamed = false;
  bool files_across = false;  // each in the directory after its own
  bool chmod_done = false;
  bool utime_done = false;
  bool truncated = false;
  bool attributes = false;  // extended ones
  bool links = false;
  bool symlinks = false;
  friend bool operator==(const TreeState&, const TreeState&) = default;
};

// What is there after an action that was carried out on `state`.
[[nodiscard]] TreeState after(Action action, TreeState state);
// What must be done, unmeasured, before `action` can be: in this order.
[[nodiscard]] std::vector<Action> preparation_for(Action action, const TreeState& state);
// What must be done, unmeasured, to remove everything.
[[nodiscard]] std::vector<Action> removal_of(const TreeState& state);

}  // namespace weir::bench::metadata
