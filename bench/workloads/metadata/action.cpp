#include "workloads/metadata/action.hpp"

#include <algorithm>

namespace weir::bench::metadata {
namespace {

constexpr ActionFacts actions[] = {
    {Action::tree_create, "tree-create", NameCall::mkdir, Subject::tree, true},
    {Action::mkdir, "mkdir", NameCall::mkdir, Subject::directory, true},
    {Action::directory_stat, "directory-stat", NameCall::stat, Subject::directory},
    {Action::directory_rename, "directory-rename", NameCall::rename, Subject::directory},
    {Action::rmdir, "rmdir", NameCall::rmdir, Subject::directory},
    {Action::create, "create", NameCall::create, Subject::file, true},
    {Action::open, "open", NameCall::open, Subject::file},
    {Action::close, "close", NameCall::close, Subject::file},
    {Action::stat, "stat", NameCall::stat, Subject::file},
    {Action::lstat, "lstat", NameCall::lstat, Subject::file},
    {Action::utime, "utime", NameCall::utime, Subject::file},
    {Action::chmod, "chmod", NameCall::chmod, Subject::file},
    {Action::write, "write", NameCall::write, Subject::file},
    {Action::read, "read", NameCall::read, Subject::file},
    {Action::truncate, "truncate", NameCall::truncate, Subject::file},
    {Action::setxattr, "setxattr", NameCall::setxattr, Subject::file},
    {Action::getxattr, "getxattr", NameCall::getxattr, Subject::file},
    {Action::rename, "rename", NameCall::rename, Subject::file},
    {Action::rename_across, "rename-across", NameCall::rename, Subject::file},
    {Action::link, "link", NameCall::link, Subject::file},
    {Action::symlink, "symlink", NameCall::symlink, Subject::file},
    {Action::readlink, "readlink", NameCall::readlink, Subject::file},
    {Action::readdir, "readdir", NameCall::readdir, Subject::listing},
    {Action::readdir_attributes, "readdir-attributes", NameCall::readdir, Subject::listing},
    {Action::unlink, "unlink", NameCall::unlink, Subject::file},
    {Action::tree_remove, "tree-remove", NameCall::rmdir, Subject::tree},
    {Action::mix, "mix", NameCall::create, Subject::file},  // its parts have their own calls
    {Action::remove_links, "unlink", NameCall::unlink, Subject::file},
    {Action::remove_symlinks, "unlink", NameCall::unlink, Subject::file},
};
constexpr std::size_t not_chosen = 3;  // these --actions does not accept

}  // namespace

std::span<const ActionFacts> all_actions() {
  return std::span(actions).first(std::size(actions) - not_chosen);
}

const ActionFacts& facts_of(Action action) { return actions[static_cast<std::size_t>(action)]; }

std::optional<Action> action_named(std::string_view name) {
  const auto all = all_actions();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ActionFacts& facts) { return facts.name == name; });
  if (found == all.end()) return std::nullopt;
  return found->action;
}

TreeState after(Action action, TreeState state) {
  switch (action) {
    case Action::tree_create:
      state.tree = true;
      break;
    case Action::mkdir:
      state.directories = true;
      state.directories_renamed = false;
      break;
    case Action::directory_rename:
      state.directories_renamed = !state.directories_renamed;
      break;
    case Action::rmdir:
      state.directories = false;
      state.directories_renamed = false;
      break;
    case Action::create:
      state.files = true;
      break;
    case Action::utime:
      state.utime_done = true;
      break;
    case Action::chmod:
      state.chmod_done = true;
      break;
    case Action::write:
      state.utime_done = false;
      state.truncated = false;
      break;
    case Action::truncate:
      state.utime_done = false;
      state.truncated = true;
      break;
    case Action::setxattr:
      state.attributes = true;
      break;
    case Action::rename:
      state.files_renamed = !state.files_renamed;
      break;
    case Action::rename_across:
      state.files_across = !state.files_across;
      break;
    case Action::link:
      state.links = true;
      break;
    case Action::symlink:
      state.symlinks = true;
      break;
    case Action::remove_links:
      state.links = false;
      break;
    case Action::remove_symlinks:
      state.symlinks = false;
      break;
    case Action::unlink: {
      const TreeState old = state;
      state = {};
      state.tree = old.tree;
      state.directories = old.directories;
      state.directories_renamed = old.directories_renamed;
      break;
    }
    case Action::tree_remove:
      state = {};
      break;
    default:
      break;
  }
  return state;
}

std::vector<Action> preparation_for(Action action, const TreeState& state) {
  std::vector<Action> first;
  const Subject subject = facts_of(action).subject;
  if (!state.tree && action != Action::tree_create) first.push_back(Action::tree_create);
  if (state.links) first.push_back(Action::remove_links);
  if (state.symlinks && action != Action::readlink) first.push_back(Action::remove_symlinks);
  if (subject == Subject::directory && action != Action::mkdir && !state.directories) {
    first.push_back(Action::mkdir);
  }
  const bool needs_files =
      (subject == Subject::file && action != Action::create) || subject == Subject::listing;
  if (needs_files && !state.files) first.push_back(Action::create);
  if (action == Action::readlink && !state.symlinks) first.push_back(Action::symlink);
  if (action == Action::getxattr && !state.attributes) first.push_back(Action::setxattr);
  if (action == Action::tree_remove) {
    if (state.files) first.push_back(Action::unlink);
    if (state.directories) first.push_back(Action::rmdir);
  }
  return first;
}

std::vector<Action> removal_of(const TreeState& state) {
  if (!state.tree) return {};
  std::vector<Action> all = preparation_for(Action::tree_remove, state);
  all.push_back(Action::tree_remove);
  return all;
}

}  // namespace weir::bench::metadata
