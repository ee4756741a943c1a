// The actions of the metadata workload's phases on every item, and the changes that they make.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "interfaces/name_calls.hpp"

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
  // These actions have no phase of their own kind. `mix` consists of many operations (mix.hpp).
  // `remove_links` is never measured; it removes what link and symlink made.
  mix,
  remove_links,
  remove_symlinks,
};

// The subject of an action.
enum class Subject { tree, directory, file, listing };

struct ActionFacts {
  Action action = Action::create;
  const char* name = "";  // the name on the command line and in results
  NameCall call = NameCall::create;
  Subject subject = Subject::file;
  bool makes = false;  // the items do not exist before the action
};

// Returns the actions in the order in which phases run: trees around directories around files.
[[nodiscard]] std::span<const ActionFacts> all_actions();
[[nodiscard]] const ActionFacts& facts_of(Action action);
[[nodiscard]] std::optional<Action> action_named(std::string_view name);

// Says which items exist, and in what condition.
struct TreeState {
  bool tree = false;
  bool directories = false;
  bool directories_renamed = false;
  bool files = false;
  bool files_renamed = false;
  bool files_across = false;  // each file is in the directory after its own
  bool chmod_done = false;
  bool utime_done = false;
  bool truncated = false;
  bool attributes = false;  // extended attributes
  bool links = false;
  bool symlinks = false;
  friend bool operator==(const TreeState&, const TreeState&) = default;
};

// Returns the state after an action on `state`.
[[nodiscard]] TreeState after(Action action, TreeState state);
// Returns the actions that are needed before `action`, in this order. They are not measured.
[[nodiscard]] std::vector<Action> preparation_for(Action action, const TreeState& state);
// Returns the actions that remove everything. They are not measured.
[[nodiscard]] std::vector<Action> removal_of(const TreeState& state);

}  // namespace weir::bench::metadata
