// A library that is loaded when it is first needed, so that a process without that need has none of
// it, and that stays loaded.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <utility>

#include "common/status.hpp"

namespace weir::storage {

class LoadedLibrary {
 public:
  // `name` is what people call it, and `file` is its file, such as "libucp.so.0".
  static Result<LoadedLibrary> load(const std::string& name, const char* file) {
    void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return LoadedLibrary(name, file, library);
    const char* const reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is safe
    return Error(ErrorCode::unsupported, fmt::format("{} cannot be loaded: {}", name, reason));
  }

  template <typename Function>
  void find(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(::dlsym(library_, symbol));
    if (function == nullptr) missing_ = symbol;
  }
  // Fails if a function was not found.
  [[nodiscard]] Status has_all() const {
    if (missing_.empty()) return {};
    return Error(ErrorCode::unsupported,
                 fmt::format("{} has another version than Weir was built with: {} has no {}", name_,
                             file_, missing_));
  }

 private:
  LoadedLibrary(std::string name, const char* file, void* library)
      : name_(std::move(name)), file_(file), library_(library) {}

  std::string name_;
  const char* file_;
  void* library_;
  std::string missing_;
};

}  // namespace weir::storage
