#include "workloads/madbench/parameters.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <string_view>

#include "workloads/madbench/filling.hpp"

namespace weir::bench::madbench {
namespace {

Status require(bool holds, std::string rule, std::string_view values) {
  if (holds) return {};
  return invalid_argument(fmt::format("madbench: {}; given: {}", rule, values));
}

// Returns the nearest squares not above and above `value`, for the advice in an error.
std::string squares_near(std::int64_t value) {
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(value)));
  return fmt::format("{} or {}", root * root, (root + 1) * (root + 1));
}

// Returns what is wrong with the text of NO_PIX, or nothing.
std::optional<std::string> complaint_about_pixels(const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if ((is_number && parse_bytes(text)) || share_to_fill(text)) return std::nullopt;
  return fmt::format(
      "is neither a whole number from 0 to 2^63-1 nor fill or fill=SHARE, with a share from {} to "
      "{}",
      least_share, largest_share);
}

std::vector<Word<const Interface*>> method_words() {
  std::vector<Word<const Interface*>> words =
      interface_words([](const Capabilities& can) { return can.submits; }, &Interface::title);
  for (Word<const Interface*>& one : words) {
    if (one.value->can.mpi_io) one.word = "MPI";
  }
  return words;
}
std::vector<Word<Mode>> mode_words() {
  return {{"SYNC", Mode::sync}, {"ASYNC", Mode::async}, {"NONE", Mode::none}};
}
std::vector<Word<FileType>> file_type_words() {
  return {{"UNIQUE", FileType::unique}, {"SHARED", FileType::shared}};
}

}  // namespace

std::string_view method_name(const Interface* method) { return word_for(method_words(), method); }
std::string_view name_of(Mode mode) { return word_for(mode_words(), mode); }
std::string_view name_of(FileType file_type) { return word_for(file_type_words(), file_type); }

std::string label_of(const Variant& variant) {
  return fmt::format("{} {} {}", method_name(variant.method), name_of(variant.file_type),
                     name_of(variant.mode));
}

std::string slug_of(const Variant& variant) {
  std::string slug = label_of(variant);
  for (char& c : slug) {
    c = c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return slug;
}

FieldSettings<Size> size_table() {
  return {
      {&Size::no_pix,
       "pixels",
       "rows and columns of a matrix of 8-byte numbers; fill: as many as let five matrices take "
       "three quarters of the memory that is available on all nodes, or another SHARE",
       {.metavar = "N|fill[=SHARE]", .position = "NO_PIX", .complaint = complaint_about_pixels}},
      {&Size::no_bin, "bins", "number of matrices", {.metavar = "N", .position = "NO_BIN"}},
      {&Size::no_gang,
       "gangs",
       "gangs of ranks in functions W and C; a square that divides ranks and bins",
       {.metavar = "N", .position = "NO_GANG"}},
      {&Size::sblocksize,
       "scalapack-block",
       "rows and columns of a block of the block-cyclic distribution",
       {.metavar = "N", .position = "SBLOCKSIZE"}},
      {&Size::fblocksize,
       "file-block",
       "every transfer starts at a multiple of this size, which is a multiple of 8",
       {.kind = SettingKind::bytes, .metavar = "BYTES", .position = "FBLOCKSIZE"}},
      {&Size::rmod,
       "read-modulus",
       "one in N consecutive ranks reads at a time",
       {.metavar = "N", .position = "RMOD"}},
      {&Size::wmod,
       "write-modulus",
       "one in N consecutive ranks writes at a time",
       {.metavar = "N", .position = "WMOD"}},
  };
}

FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::method,
       method_words(),
       "iomethod",
       "interface; each of several is a configuration",
       {.default_value = "POSIX", .metavar = "LIST", .alias = "IOMETHOD"}},
      {&Variant::file_type,
       file_type_words(),
       "filetype",
       "one file per rank, or one for all",
       {.default_value = "UNIQUE", .metavar = "LIST", .alias = "FILETYPE"}},
      {&Variant::mode,
       mode_words(),
       "iomode",
       "whether transfers run in the foreground, behind computation, or not at all",
       {.default_value = "SYNC", .metavar = "LIST", .alias = "IOMODE"}},
  });
}

std::optional<std::int64_t> exact_square_root(std::int64_t value) {
  if (value < 0) return std::nullopt;
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(value)));
  while (root > 0 && root > value / root) --root;
  while ((root + 1) <= value / (root + 1)) ++root;
  if (root * root != value) return std::nullopt;
  return root;
}

Result<Size> size_of(const Settings& settings, std::int64_t ranks, const MemoryOfRank& memory) {
  for (const Setting& setting : declarations_of(size_table())) {
    if (settings.has(setting.name)) continue;
    return invalid_argument(fmt::format(
        "madbench: {} (--{}) is missing; usage: weir-bench madbench NO_PIX NO_BIN NO_GANG "
        "SBLOCKSIZE FBLOCKSIZE RMOD WMOD, for example 2000 8 1 32 4096 1 1",
        setting.position, setting.name));
  }
  Size size{.no_pe = ranks};
  fill(settings, size_table(), &size);
  if (const auto share = share_to_fill(settings.text("pixels"))) {
    // The rules between the other parameters hold for any number of pixels that is large enough.
    size.no_pix = most_pixels;
    if (Status status = validate(size); !status) return status.error();
    const auto pixels = pixels_that_fill(size, *share, memory());
    if (!pixels) return pixels.error();
    size.no_pix = pixels.value();
  }
  if (Status status = validate(size); !status) return status.error();
  return size;
}

Status validate(const Size& size) {
  const struct {
    const char* name;
    std::int64_t value;
  } positive[] = {{"NO_PIX", size.no_pix},
                  {"NO_BIN", size.no_bin},
                  {"NO_GANG", size.no_gang},
                  {"SBLOCKSIZE", size.sblocksize},
                  {"FBLOCKSIZE", size.fblocksize},
                  {"RMOD", size.rmod},
                  {"WMOD", size.wmod},
                  {"the number of ranks", size.no_pe}};
  for (const auto& [name, value] : positive) {
    if (Status status = require(value >= 1, fmt::format("{} must be at least 1", name),
                                fmt::format("{}", value));
        !status) {
      return status;
    }
  }
  constexpr std::int64_t most_other = std::int64_t{1} << 40;
  for (const auto& [name, value] : positive) {
    const std::int64_t most = std::string_view(name) == "NO_PIX" ? most_pixels : most_other;
    if (Status status = require(value <= most, fmt::format("{} must be at most {}", name, most),
                                fmt::format("{}", value));
        !status) {
      return status;
    }
  }
  const auto root = exact_square_root(size.no_pe);
  if (!root) {
    return invalid_argument(
        fmt::format("madbench: the number of ranks must be a square; given: {} ranks, start {}",
                    size.no_pe, squares_near(size.no_pe)));
  }
  if (!exact_square_root(size.no_gang)) {
    return invalid_argument(fmt::format("madbench: NO_GANG must be a square; given: {}; use {}",
                                        size.no_gang, squares_near(size.no_gang)));
  }
  if (Status status =
          require(size.no_pe % size.no_gang == 0, "NO_GANG must divide the number of ranks",
                  fmt::format("NO_GANG {}, {} ranks", size.no_gang, size.no_pe));
      !status) {
    return status;
  }
  if (Status status = require(size.no_bin % size.no_gang == 0, "NO_GANG must divide NO_BIN",
                              fmt::format("NO_GANG {}, NO_BIN {}", size.no_gang, size.no_bin));
      !status) {
    return status;
  }
  const std::int64_t blocks = (size.no_pix + size.sblocksize - 1) / size.sblocksize;
  if (Status status = require(
          blocks >= *root, "NO_PIX/SBLOCKSIZE, rounded up, must be at least the root of the ranks",
          fmt::format("{}/{} makes {} blocks, but {} ranks need {}", size.no_pix, size.sblocksize,
                      blocks, size.no_pe, *root));
      !status) {
    return status;
  }
  if (Status status = require(size.fblocksize % 8 == 0, "FBLOCKSIZE must be a multiple of 8",
                              fmt::format("{}", size.fblocksize));
      !status) {
    return status;
  }
  const std::int64_t gang = size.no_pe / size.no_gang;
  if (Status status = require(gang % size.rmod == 0, "RMOD must divide the ranks of a gang",
                              fmt::format("RMOD {}, {} ranks in a gang", size.rmod, gang));
      !status) {
    return status;
  }
  return require(gang % size.wmod == 0, "WMOD must divide the ranks of a gang",
                 fmt::format("WMOD {}, {} ranks in a gang", size.wmod, gang));
}

}  // namespace weir::bench::madbench
