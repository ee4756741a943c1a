#include "transport/rendezvous.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "system/incomplete.hpp"
#include "system/network_address.hpp"
#include "system/process_name.hpp"
#include "system/slices.hpp"
#include "system/uninterrupted.hpp"
#include "transport/messages.hpp"

namespace weir::transport {
namespace {

constexpr std::string_view word = "weir-stager";
constexpr std::size_t key_bytes = 16;
constexpr std::size_t longest_rendezvous = std::size_t{1} << 20;  // bytes of a file
constexpr std::size_t most_rendezvous = 4096;                     // stagers

// Splits at each separator; two of them have an empty text between them.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

std::optional<std::string> from_hexadecimal(std::string_view text) {
  if (text.size() != 2 * key_bytes) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    std::uint8_t one = 0;
    const auto read = std::from_chars(text.data() + i, text.data() + i + 2, one, 16);
    if (read.ec != std::errc() || read.ptr != text.data() + i + 2) return std::nullopt;
    bytes.push_back(static_cast<char>(one));
  }
  return bytes;
}

Result<Rendezvous> parse_line(std::string_view line, const std::string& path) {
  const auto damaged = [&] {
    return invalid_argument(
        "this is no rendezvous file of a stager, or it is damaged: give the file that `weir stage "
        "start --rendezvous` has written",
        path);
  };
  const std::vector<std::string_view> words = split(line, ' ');
  if (words.size() < 2 || words[0] != word) return damaged();
  if (words[1] != std::to_string(protocol_version)) {
    return Error(ErrorCode::unsupported,
                 "the stager that wrote this file has another version of Weir than this program: "
                 "use the same for both",
                 path);
  }
  if (words.size() != 5) return damaged();
  Rendezvous made;
  for (const std::string_view address : split(words[2], ',')) {
    made.addresses.emplace_back(address);
    if (!storage::NetworkAddress::parse(made.addresses.back())) return damaged();
  }
  const auto authentication = parse_authentication(words[3]);
  const auto key = from_hexadecimal(words[4]);
  if (!authentication || !key) return damaged();
  made.authentication = *authentication;
  made.key = *key;
  return made;
}

// Fails if others may read a secret in the file, or may write the file and so send ranks elsewhere.
Status check_owner(const storage::File& file, bool is_secret) {
  struct stat about {};
  if (::fstat(file.descriptor(), &about) != 0) {
    return system_failure("fstat", file.path(), -1, errno);
  }
  if (!S_ISREG(about.st_mode)) {
    return invalid_argument("a rendezvous file is a regular file", file.path());
  }
  const mode_t refused = is_secret ? S_IRWXG | S_IRWXO : S_IWGRP | S_IWOTH;
  if (about.st_uid == ::geteuid() && (about.st_mode & refused) == 0) return {};
  return invalid_argument(
      is_secret
          ? "a rendezvous file with a cookie has a secret and must belong to you alone: chmod "
            "600 it, or let a stager of yours write another"
          : "a rendezvous file must belong to you, and nobody else may write it: let a stager "
            "of yours write another",
      file.path());
}

Result<storage::File> open_unfollowed(const std::string& path, int flags) {
  const int descriptor = storage::uninterrupted([&] {
    return ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
  });
  if (descriptor < 0) return system_failure("open", path, -1, errno);
  return storage::File::passed(descriptor, path, 0);
}

Result<std::vector<Rendezvous>> read_file(const std::string& path) {
  // What is read is what was checked.
  const auto file = open_unfollowed(path, O_RDONLY);
  if (!file && file.error().system_error == ENOENT) {
    return invalid_argument(
        "the rendezvous file does not exist: start a stager with `weir stage start --listen "
        "ADDRESS --rendezvous FILE` first, and wait until it has written the file",
        path);
  }
  if (!file) return file.error();
  if (Status owned = check_owner(file.value(), false); !owned.ok()) return owned.error();
  std::string text(longest_rendezvous + 1, '\0');
  const storage::Slice slice{reinterpret_cast<std::byte*>(text.data()), std::ssize(text)};
  std::int64_t bytes = 0;
  std::int64_t calls = 0;
  Status read = storage::read_slices(file.value(), {&slice, 1}, 0, bytes, calls);
  if (!read.ok()) return read.error();
  text.resize(static_cast<std::size_t>(bytes));
  auto stagers = parse_rendezvous(text, path);
  if (!stagers) return stagers.error();
  const bool is_secret = std::ranges::any_of(stagers.value(), [](const Rendezvous& one) {
    return one.authentication == Authentication::cookie;
  });
  if (Status owned = check_owner(file.value(), is_secret); !owned.ok()) return owned.error();
  return stagers;
}

}  // namespace

std::string text_of(const std::vector<Rendezvous>& stagers) {
  std::string text;
  for (const Rendezvous& one : stagers) {
    std::string key;
    for (const char byte : one.key) {
      key += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    text += fmt::format("{} {} {} {} {}\n", word, protocol_version, fmt::join(one.addresses, ","),
                        word_of(one.authentication), key);
  }
  return text;
}

Result<std::vector<Rendezvous>> parse_rendezvous(const std::string& text, const std::string& path) {
  if (text.empty()) {
    return invalid_argument("the rendezvous file is empty: the stager has not begun to listen",
                            path);
  }
  std::vector<std::string_view> lines = split(text, '\n');
  // A file that ends within a line is being written, or was cut.
  if (!lines.back().empty() || text.size() > longest_rendezvous) lines = {""};
  if (lines.size() > 1) lines.pop_back();
  if (lines.size() > most_rendezvous) {
    return invalid_argument(
        fmt::format("it names {} stagers: give at most {}", lines.size(), most_rendezvous), path);
  }
  std::vector<Rendezvous> all;
  for (const std::string_view line : lines) {
    auto one = parse_line(line, path);
    if (!one) return one.error();
    all.push_back(std::move(one).value());
  }
  return all;
}

Result<std::vector<Rendezvous>> read_rendezvous(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) return read_file(path);
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(path, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    names.push_back(entry->path().string());
  }
  if (failed) return system_failure("readdir", path, -1, failed.value());
  if (names.empty()) {
    return invalid_argument("no stager has written a rendezvous file in this folder", path);
  }
  std::ranges::sort(names);
  std::vector<Rendezvous> all;
  for (const std::string& name : names) {
    auto some = read_file(name);
    if (!some) return some.error();
    all.insert(all.end(), some.value().begin(), some.value().end());
    if (all.size() > most_rendezvous) {
      return invalid_argument(
          fmt::format("the files of this folder name more than {} stagers", most_rendezvous), path);
    }
  }
  return all;
}

// The lock tells a second stager that the first one still runs, and ends with its process.
Result<RendezvousFile> RendezvousFile::write(const std::string& path, const Rendezvous& stager) {
  std::error_code failed;
  // The process that removes the file has another working directory.
  const std::string place =
      storage::absolute_path(std::filesystem::is_directory(path, failed)
                                 ? fmt::format("{}/{}-{}", path, storage::host_name(), ::getpid())
                                 : path);
  const bool is_secret = stager.authentication == Authentication::cookie;
  auto file = open_unfollowed(place, O_RDWR | O_CREAT);
  if (!file) return file.error();
  if (Status owned = check_owner(file.value(), is_secret); !owned.ok()) return owned.error();
  const int descriptor = file.value().descriptor();
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return invalid_argument(
        "a stager that runs has written this rendezvous file: stop it, or give another name",
        place);
  }
  RendezvousFile made(std::move(file).value());
  if (!is_secret && ::fchmod(descriptor, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) != 0) {
    return system_failure("fchmod", place, -1, errno);
  }
  if (Status emptied = made.file_->set_length(0); !emptied.ok()) return emptied.error();
  std::string text = text_of({stager});
  const storage::Slice slice{reinterpret_cast<std::byte*>(text.data()), std::ssize(text)};
  std::int64_t calls = 0;
  Status written = storage::write_slices(*made.file_, {&slice, 1}, 0, calls);
  if (!written.ok()) return written.error();
  // Ranks of other nodes are to see it.
  if (Status synced = made.file_->sync(); !synced.ok()) return synced.error();
  return made;
}

RendezvousFile::~RendezvousFile() {
  if (!file_) return;
  struct stat own {};
  struct stat now {};
  const std::string& path = file_->path();
  const bool is_own = ::fstat(file_->descriptor(), &own) == 0 && ::lstat(path.c_str(), &now) == 0 &&
                      own.st_dev == now.st_dev && own.st_ino == now.st_ino;
  if (is_own) ::unlink(path.c_str());
}

}  // namespace weir::transport
