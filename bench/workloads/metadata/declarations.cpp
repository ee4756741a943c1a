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
       .help = "what is measured: names separated by commas (tree-create, mkdir, directory-stat, "
               "directory-rename, rmdir, create, open, close, stat, lstat, utime, chmod, write, "
               "read, truncate, setxattr, getxattr, rename, rename-across, link, symlink, "
               "readlink, readdir, readdir-attributes, unlink, tree-remove), mdtest, or all"},
      {.name = "mix",
       .metavar = "LIST",
       .help = "measured instead of actions, in one phase: every rank does these at random, so "
               "often in proportion (create=30,stat=50,unlink=20); of mkdir, directory-stat, "
               "rmdir, create, stat, lstat, utime, chmod, write, read, setxattr, unlink"},
      {.name = "mix-operations",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "of every rank in a mix [as many as it has items]"},
      {.name = "kind",
       .kind = SettingKind::choice,
       .default_value = "both",
       .metavar = "KIND",
       .help = "of `mdtest` and `all`, only what is done to these",
       .choices = {"both", "files", "directories"}},
      {.name = "api",
       .kind = SettingKind::choices,
       .default_value = "POSIX",
       .metavar = "LIST",
       .help = "whole paths, *at calls relative to the tree's opened root, io_uring, or MPI-IO; "
               "several make several configurations",
       .choices = {"POSIX", "AT", "io_uring", "MPIIO"}},
      {.name = "queue-depth",
       .kind = SettingKind::integer,
       .default_value = "32",
       .metavar = "N",
       .help = "operations that a rank keeps in flight by io_uring"},
      {.name = "order",
       .kind = SettingKind::choice,
       .default_value = "sequential",
       .metavar = "ORDER",
       .help = "in which a rank visits items that exist; in a mix, the order of their places too",
       .choices = {"sequential", "random"}},
      {.name = "one-creator",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "rank 0 makes and removes the items of all ranks"},
      {.name = "delay",
       .kind = SettingKind::real,
       .default_value = "0",
       .metavar = "SECONDS",
       .help = "wait before every repetition"},
      {.name = "stonewall",
       .kind = SettingKind::real,
       .default_value = "0",
       .metavar = "SECONDS",
       .help =
           "after so long, mkdir and create go on only to the count of the furthest rank, which "
           "is every rank's from then on; of files or directories alone [0: never]"},
      {.name = "stonewall-file",
       .metavar = "FILE",
       .help = "that count is written there, and read by a run with --existing"},
      {.name = "sync-phases",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "syncfs at the end of every phase, inside its timed part"},
  };
}

std::vector<Setting> tree() {
  return {
      {.name = "items",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "files, and directories, of every rank [1000, or what --items-per-directory makes]"},
      {.name = "total",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "files, and directories, of all ranks together, instead of --items"},
      {.name = "items-per-directory",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "of every rank, in every directory that holds items [as few as hold --items]"},
      {.name = "branching",
       .kind = SettingKind::integer,
       .default_value = "1",
       .metavar = "N",
       .help = "directories in every directory of the tree"},
      {.name = "depth",
       .kind = SettingKind::integer,
       .default_value = "0",
       .metavar = "N",
       .help = "levels of the tree below its root"},
      {.name = "leaf-only",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "items only in the lowest directories"},
      {.name = "sharing",
       .kind = SettingKind::choices,
       .default_value = "shared",
       .metavar = "LIST",
       .help = "one tree for all ranks, a tree for every rank, or one file for all; several make "
               "several configurations",
       .choices = {"shared", "per-rank", "one-file"}},
      {.name = "prefix", .metavar = "TEXT", .help = "before the name of every item"},
      {.name = "name-length",
       .kind = SettingKind::integer,
       .metavar = "N",
       .help = "bytes of every item's name, padded [as short as it is]"},
  };
}

std::vector<Setting> files() {
  return {
      {.name = "bytes",
       .kind = SettingKind::bytes,
       .default_value = "0",
       .metavar = "SIZE",
       .help = "written to every file by create and write, and read from it by read"},
      {.name = "sizes",
       .kind = SettingKind::choice,
       .default_value = "constant",
       .metavar = "RULE",
       .help = "--bytes for every file, or drawn with it as the mean: up to twice as much, or "
               "exponential (up to 16 times)",
       .choices = {"constant", "uniform", "exponential"}},
      {.name = "read-bytes",
       .kind = SettingKind::bytes,
       .metavar = "SIZE",
       .help = "read from every file by read [all that create and write wrote]"},
      {.name = "truncate-to",
       .kind = SettingKind::bytes,
       .default_value = "0",
       .metavar = "SIZE",
       .help = "what truncate sets"},
      {.name = "keep",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "leave what no action removes, in DIRECTORY/weir-metadata; one repetition"},
      {.name = "existing",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "on what --keep left there, with the same shape of tree; one repetition"},
      {.name = "make-directory",
       .kind = SettingKind::flag,
       .default_value = "false",
       .help = "make --directory where it is not there, and those above it; it stays"},
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
      setting.help = "after writing to a file, inside the timed part";
    } else if (setting.name == "rank-shift") {
      setting.help =
          "in each later phase handle the items of the N-th next rank; not given: those of the "
          "next node's ranks, where there are several nodes";
    } else if (setting.name == "verify") {
      setting.help = "after every phase, check that what should exist does, and nothing else";
    }
  }
  return all;
}

}  // namespace weir::bench::metadata
