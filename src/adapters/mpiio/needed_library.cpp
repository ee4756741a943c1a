#include "adapters/mpiio/needed_library.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace weir::mpiio {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Dynamic = ElfW(Dyn);

// The bytes of a file, mapped.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat facts {};
    if (::fstat(file, &facts) == 0 && facts.st_size > 0) {
      size_ = static_cast<std::size_t>(facts.st_size);
      void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED) bytes_ = static_cast<std::byte*>(mapped);
    }
    ::close(file);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (bytes_ != nullptr) ::munmap(bytes_, size_);
  }

  // Returns `count` objects at an offset, or null if the file does not have them.
  template <typename Object>
  [[nodiscard]] const Object* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (bytes_ == nullptr || offset > size_ || count > (size_ - offset) / sizeof(Object) ||
        offset % alignof(Object) != 0) {
      return nullptr;
    }
    return reinterpret_cast<const Object*>(bytes_ + offset);
  }
  // Returns the text at an offset, or null if it does not end in the file.
  [[nodiscard]] const char* text_at(std::uint64_t offset) const {
    const char* const text = at<char>(offset);
    if (text == nullptr || std::memchr(text, 0, size_ - offset) == nullptr) return nullptr;
    return text;
  }

 private:
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
};

// The segments of a shared library.
struct Segments {
  const Segment* first = nullptr;
  std::size_t count = 0;

  // Returns where the file has what is loaded at this address; 0 if it does not have it.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const {
    for (std::size_t i = 0; i < count; ++i) {
      const Segment& one = first[i];
      if (one.p_type == PT_LOAD && address >= one.p_vaddr && address - one.p_vaddr < one.p_filesz) {
        return address - one.p_vaddr + one.p_offset;
      }
    }
    return 0;
  }
  [[nodiscard]] const Segment* dynamic() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (first[i].p_type == PT_DYNAMIC) return &first[i];
    }
    return nullptr;
  }
};

Segments segments_of(const MappedFile& file) {
  const auto* const header = file.at<Header>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      header->e_phentsize != sizeof(Segment)) {
    return {};
  }
  const auto* const first = file.at<Segment>(header->e_phoff, header->e_phnum);
  return {first, first == nullptr ? 0U : header->e_phnum};
}

}  // namespace

bool any_needed_library(const char* path, bool (*visit)(const char* name)) {
  const MappedFile file(path);
  const Segments segments = segments_of(file);
  const Segment* const dynamic = segments.dynamic();
  if (dynamic == nullptr) return false;
  const std::uint64_t count = dynamic->p_filesz / sizeof(Dynamic);
  const auto* const entries = file.at<Dynamic>(dynamic->p_offset, count);
  if (entries == nullptr) return false;
  std::uint64_t names = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (entries[i].d_tag == DT_STRTAB) names = segments.offset_of(entries[i].d_un.d_ptr);
  }
  if (names == 0) return false;
  for (std::uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i) {
    if (entries[i].d_tag != DT_NEEDED) continue;
    const char* const name = file.text_at(names + entries[i].d_un.d_val);
    if (name != nullptr && visit(name)) return true;
  }
  return false;
}

}  // namespace weir::mpiio
