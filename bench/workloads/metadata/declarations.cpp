// The settings of `weir-bench metadata`. mdtest_options.cpp has mdtest's names for them.
#include <algorithm>

#include "workloads/metadata/parameters.hpp"

namespace weir::bench::metadata {
namespace {

std::vector<Setting> what_is_done() {
  return {
      {.name = "actions",
       .default_value = "mdtest",
       .metavar = "LIST",
       .help = "actions to measure: names separated by commas (tree-create, mkdir, directory-stat, "
               "directory-rename, rmdir, create, open, close, stat, lstat, utime, chmod, write, "
               "read, truncate, setxattr, getxattr, rename, rename-across, link, symlink, "
               "readlink, readdir, readdir-attributes, unlink, tree-remove), mdtest, or all"},
      {.name = "mix",
       .metavar = "LIST",
       .help = "measure a mix in one phase instead of --actions: every rank chooses at random with "
               "these weights (create=30,stat=50,unlink=20) from mkdir, directory-stat, rmdir, "
               "create, stat, lstat, utime, chmod, write, read, setxattr, unlink"},
      {.name = "mix-operations",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "number of operations of every rank in a mix [as many as it has items]"},
      {.name = "kind",
       .kind = SettingKind::choice,
       .default_value = "both",
       .metavar = "KIND",
       .help = "of `mdtest` and `all`, measure only actions on these",
       .choices = {"both", "files", "directories"}},
      {.name = "api",
       .kind = SettingKind::choices,
       .default_value = "POSIX",
       .metavar = "LIST",
       .help = "calls with whole paths, *at calls relative to the open root of the tree, io_uring, "
               "or MPI-IO; each of several is a configuration",
       .choices = interface_names([](const Capabilities& can) { return !can.name_calls.empty(); },
                                  &Interface::title)},
      {.name = "queue-depth",
       .kind = SettingKind::integer,
       .default_value = "32",
       .metavar = "N",
       .help = "number of operations that a rank keeps in flight with io_uring"},
      {.name = "order",
       .kind = SettingKind::choice,
       .default_value = "sequential",
       .metavar = "ORDER",
       .help =
           "order in which a rank visits existing items; in a mix, also the order of their places",
       .choices = {"sequential", "random"}},
      {.name = "one-creator",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "rank 0 creates and removes the items of all ranks"},
      {.name = "delay",
       .kind = SettingKind::real,
       .default_value = "0",
       .metavar = "SECONDS",
       .help = "seconds to wait before every repetition"},
      {.name = "stonewall",
       .kind = SettingKind::real,
       .default_value = "0",
       .metavar = "SECONDS",
       .help = "after this time, mkdir and create continue only to the count of the furthest rank, "
               "which then holds for every rank; for files only or directories only [0: never]"},
      {.name = "stonewall-file",
       .metavar = "FILE",
       .help =
           "file to which that count is written, and from which a run with --existing reads it"},
      {.name = "sync-phases",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "call syncfs at the end of every phase, inside its timed part"},
  };
}

std::vector<Setting> tree() {
  return {
      {.name = "items",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "number of files, and of directories, of every rank [1000, or as "
               "--items-per-directory implies]"},
      {.name = "total",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "number of files, and of directories, of all ranks together, instead of --items"},
      {.name = "items-per-directory",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "number of items of every rank in every directory with items [the smallest number "
               "that holds --items]"},
      {.name = "branching",
       .kind = SettingKind::integer,
       .default_value = "1",
       .metavar = "N",
       .help = "number of subdirectories of every directory of the tree"},
      {.name = "depth",
       .kind = SettingKind::integer,
       .default_value = "0",
       .metavar = "N",
       .help = "number of levels of the tree below its root"},
      {.name = "leaf-only",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "create items only in the lowest directories"},
      {.name = "sharing",
       .kind = SettingKind::choices,
       .default_value = "shared",
       .metavar = "LIST",
       .help = "one tree for all ranks, one for every rank, or one file for all; each of several "
               "is a configuration",
       .choices = {"shared", "per-rank", "one-file"}},
      {.name = "prefix", .metavar = "TEXT", .help = "prefix of the name of every item"},
      {.name = "name-length",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "number of bytes of every item's name, padded [no padding]"},
  };
}

std::vector<Setting> files() {
  return {
      {.name = "bytes",
       .kind = SettingKind::bytes,
       .default_value = "0",
       .metavar = "SIZE",
       .help = "number of bytes that create and write write to every file, and that read reads"},
      {.name = "sizes",
       .kind = SettingKind::choice,
       .default_value = "constant",
       .metavar = "RULE",
       .help = "sizes of the files: --bytes for each, or random with that mean: uniform up to "
               "twice as much, or exponential up to 16 times",
       .choices = {"constant", "uniform", "exponential"}},
      {.name = "read-bytes",
       .kind = SettingKind::bytes,
       .metavar = "SIZE",
       .help = "number of bytes that read reads from every file [all bytes that create and write "
               "wrote]"},
      {.name = "truncate-to",
       .kind = SettingKind::bytes,
       .default_value = "0",
       .metavar = "SIZE",
       .help = "size that truncate sets"},
      {.name = "keep",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "keep the items that no action removes, in DIRECTORY/weir-metadata; one repetition"},
      {.name = "existing",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "use the items that --keep left there, with the same shape of tree; one repetition"},
      {.name = "make-directory",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "create --directory and its parents if they do not exist; they are not removed"},
      {.name = "mdtest-table",
       .kind = SettingKind::choice,
       .default_value = "none",
       .metavar = "CONTENT",
       .help = "print mdtest's table instead of Weir's",
       .choices = {"none", "rates", "times", "both"}},
      {.name = "metarates-table",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "print create, utime and stat in metarates' terms instead of Weir's table"},
  };
}

}  // namespace

std::vector<Setting> declarations() {
  std::vector<Setting> all = what_is_done();
  for (const auto& group : {tree(), files(), core_declarations()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  for (Setting& setting : all) {
    if (setting.name == "sync") {
      setting.default_value = "none";
      setting.help = "when written files are made durable; the time counts as part of the write";
    } else if (setting.name == "rank-shift") {
      setting.help =
          "in each later phase use the items of the rank that is N ranks further; by default those "
          "of the next node, if there are several nodes";
    } else if (setting.name == "verify") {
      setting.help = "after every phase, check that all items that should exist do, and no others";
    }
  }
  return all;
}

}  // namespace weir::bench::metadata
