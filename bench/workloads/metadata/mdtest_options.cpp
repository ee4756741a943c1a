#include "workloads/metadata/mdtest_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

namespace weir::bench::metadata {
namespace {

constexpr std::string_view compatible = "--mdtest-compat";

// The meaning of a letter here.
enum class Use {
  setting,  // gives its value to a setting
  flag,     // turns a setting on
  special,  // see Translation::take_special()
  nothing,  // done anyway, or without effect on the measurement
  refused,
};

struct Letter {
  char letter;
  bool takes_value;
  Use use;
  std::string_view text;  // the setting; for an unsupported option, the alternative
};

constexpr Letter letters[] = {
    {'a', true, Use::special, ""},
    {'b', true, Use::setting, "branching"},
    {'B', false, Use::refused,
     "leave it out: phases end at a barrier, and the rate without the barrier is shown too"},
    {'c', false, Use::flag, "one-creator"},
    {'C', false, Use::special, ""},
    {'d', true, Use::special, ""},
    {'D', false, Use::special, ""},
    {'e', true, Use::setting, "read-bytes"},
    {'E', false, Use::special, ""},
    {'f', true, Use::refused, "use `weir bench metadata --sweep ranks=…`"},
    {'F', false, Use::special, ""},
    {'g', false, Use::refused, "use `lfs setstripe -d` on the directory"},
    {'G', true, Use::special, ""},
    {'i', true, Use::special, ""},
    {'I', true, Use::setting, "items-per-directory"},
    {'k', false, Use::refused, "files are created by open; mknod is not supported"},
    {'l', true, Use::refused, "use `weir bench metadata --sweep ranks=…`"},
    {'L', false, Use::flag, "leaf-only"},
    {'n', true, Use::setting, "items"},
    {'N', true, Use::setting, "rank-shift"},
    {'p', true, Use::setting, "delay"},
    {'P', false, Use::special, ""},
    {'q', false, Use::nothing, ""},
    {'r', false, Use::special, ""},
    {'R', false, Use::special, ""},
    {'s', true, Use::refused, "use `weir bench metadata --sweep ranks=…`"},
    {'S', false, Use::special, ""},
    {'t', false, Use::nothing, ""},
    {'T', false, Use::special, ""},
    {'u', false, Use::special, ""},
    {'v', false, Use::nothing, ""},
    {'V', true, Use::nothing, ""},
    {'w', true, Use::setting, "bytes"},
    {'W', true, Use::setting, "stonewall"},
    {'x', true, Use::setting, "stonewall-file"},
    {'X', false, Use::nothing, ""},
    {'y', false, Use::special, ""},
    {'Y', false, Use::flag, "sync-phases"},
    {'z', true, Use::setting, "depth"},
    {'Z', false, Use::special, ""},
};

class Translation {
 public:
  explicit Translation(std::span<const std::string> arguments) : arguments_(arguments) {}

  Result<std::vector<std::string>> run() {
    while (at_ < arguments_.size()) {
      const std::string& argument = arguments_[at_++];
      if (argument == compatible) continue;
      if (argument.starts_with("--") && argument.size() > 2) {
        own_.push_back(argument);
        const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
        if (name == "--total") sized_ = true;
        // The value is in a separate argument.
        if (argument.find('=') == std::string::npos && at_ < arguments_.size() &&
            !arguments_[at_].starts_with('-')) {
          own_.push_back(arguments_[at_++]);
        }
        continue;
      }
      if (!argument.starts_with('-') || argument.size() < 2) {
        return invalid_argument(
            fmt::format("metadata: mdtest has no option with the value '{}'", argument));
      }
      if (Status status = take_letters(std::string_view(argument).substr(1)); !status) {
        return status.error();
      }
    }
    finish();
    return translated_;
  }

 private:
  Status take_letters(std::string_view rest) {
    while (!rest.empty()) {
      const char letter = rest.front();
      rest.remove_prefix(1);
      const auto* found = std::find_if(std::begin(letters), std::end(letters),
                                       [&](const Letter& one) { return one.letter == letter; });
      if (found == std::end(letters)) {
        return invalid_argument(
            fmt::format("metadata: mdtest has no option -{}; --help lists Weir's options", letter));
      }
      if (found->use == Use::refused) {
        return invalid_argument(
            fmt::format("metadata: mdtest's -{} is not supported: {}", letter, found->text));
      }
      std::string value;
      if (found->takes_value) {
        if (rest.starts_with('=')) rest.remove_prefix(1);
        if (!rest.empty()) {
          value = rest;
          rest = {};
        } else if (at_ < arguments_.size()) {
          value = arguments_[at_++];
        } else {
          return invalid_argument(fmt::format("metadata: mdtest's -{} needs a value", letter));
        }
      } else if (letter == 'R') {  // its seed, if any, is attached
        const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
        value = rest.substr(0, digits);
        rest.remove_prefix(digits);
      }
      if (Status status = take(*found, value); !status) return status;
    }
    return {};
  }

  Status take(const Letter& letter, const std::string& value) {
    switch (letter.use) {
      case Use::setting:
        give(letter.text, value);
        if (letter.letter == 'n' || letter.letter == 'I') sized_ = true;
        if (letter.letter == 'e') reads_ = true;
        break;
      case Use::flag:
        translated_.push_back(fmt::format("--{}", letter.text));
        break;
      case Use::special:
        return take_special(letter.letter, value);
      case Use::nothing:
      case Use::refused:
        break;
    }
    return {};
  }

  Status take_special(char letter, const std::string& value) {
    switch (letter) {
      case 'a':
        if (value != "POSIX") {
          return invalid_argument(fmt::format(
              "metadata: mdtest's -a {}: only POSIX is supported; Weir also has --api AT", value));
        }
        break;
      case 'C':
        create_ = true;
        break;
      case 'T':
        stat_ = true;
        break;
      case 'E':
        read_ = true;
        break;
      case 'r':
        remove_ = true;
        break;
      case 'd':
        if (value.find('@') != std::string::npos) {
          return invalid_argument(
              "metadata: mdtest's -d with several directories is not supported: run once for each");
        }
        give("directory", value);
        makes_directory_ = true;
        break;
      case 'D':
        directories_only_ = true;
        break;
      case 'F':
        files_only_ = true;
        break;
      case 'i':
        iterations_ = value;
        break;
      case 'P':
        rates_ = times_ = true;
        break;
      case 'Z':
        times_ = true;
        break;
      case 'G':
        if (seed_.empty()) seed_ = value;
        break;
      case 'R':
        give("order", "random");
        if (!value.empty()) seed_ = value;
        break;
      case 'S':
        files_only_ = true;
        give("sharing", "one-file");
        break;
      case 'u':
        give("sharing", "per-rank");
        break;
      default:  // 'y'
        give("sync", "fsync");
        break;
    }
    return {};
  }

  void finish() {
    const bool all = !create_ && !stat_ && !read_ && !remove_;
    const bool of_files = files_only_ || !directories_only_;
    const bool of_directories = directories_only_ || !files_only_;
    std::string chosen;
    const auto add = [&](bool wanted, const char* name) {
      if (wanted) chosen += (chosen.empty() ? "" : ",") + std::string(name);
    };
    const bool create = all || create_;
    const bool remove = all || remove_;
    add(create, "tree-create");
    add(create && of_directories, "mkdir");
    add((all || stat_) && of_directories, "directory-stat");
    add(remove && of_directories, "rmdir");
    add(create && of_files, "create");
    add((all || stat_) && of_files, "stat");
    add((all || read_) && of_files, "read");
    add(remove && of_files, "unlink");
    add(remove, "tree-remove");
    give("actions", chosen);
    give("kind", of_files && of_directories ? "both" : of_files ? "files" : "directories");
    if (!remove) translated_.emplace_back("--keep");
    if (!create) translated_.emplace_back("--existing");
    if (makes_directory_ && create) translated_.emplace_back("--make-directory");
    // The seed draws the order and the files' content; mdtest's -G has no effect on the order.
    if (!seed_.empty()) give("seed", seed_);
    give("warmups", "0");
    give("repetitions", iterations_);
    give("max-repetitions", iterations_);
    give("mdtest-table", rates_ && times_ ? "both" : times_ ? "times" : "rates");
    if (!reads_) give("read-bytes", "0");  // mdtest's read phase only opens and closes then
    if (!sized_) give("items", "0");       // mdtest's default, which is an error
    for (std::string& argument : own_) translated_.push_back(std::move(argument));
  }

  void give(std::string_view name, const std::string& value) {
    translated_.push_back(fmt::format("--{}={}", name, value));
  }

  std::span<const std::string> arguments_;
  std::size_t at_ = 0;
  std::vector<std::string> translated_;
  std::vector<std::string> own_;
  bool create_ = false;
  bool stat_ = false;
  bool read_ = false;
  bool remove_ = false;
  bool files_only_ = false;
  bool directories_only_ = false;
  bool rates_ = false;
  bool times_ = false;
  bool sized_ = false;
  bool reads_ = false;
  bool makes_directory_ = false;
  std::string seed_;
  std::string iterations_ = "1";
};

}  // namespace

Status refuse_letters(std::span<const std::string> arguments) {
  for (const std::string& word : arguments) {
    if (word.size() < 2 || word[0] != '-' || word == "-h" ||
        std::isalpha(static_cast<unsigned char>(word[1])) == 0) {
      continue;
    }
    return invalid_argument(fmt::format(
        "metadata: unknown option {}; mdtest's options are accepted after {}, those of metarates "
        "after --metarates-compat, and Weir's own options have long names (--help)",
        word.substr(0, 2), compatible));
  }
  return {};
}

Result<std::vector<std::string>> translate_mdtest(std::span<const std::string> arguments) {
  if (std::find(arguments.begin(), arguments.end(), compatible) == arguments.end()) {
    return std::vector<std::string>(arguments.begin(), arguments.end());
  }
  return Translation(arguments).run();
}

}  // namespace weir::bench::metadata
