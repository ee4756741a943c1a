#include "formats/dimension_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weir::storage {
namespace {

struct Dimension {
  std::int64_t extent = 0;
  bool grows = false;

  friend bool operator==(const Dimension&, const Dimension&) = default;
};

Dimension dimension_of(const ArrayDescription& array, std::size_t d) {
  return {array.shape.extent(static_cast<int>(d)), array.grows && d == 0};
}

class Names {
 public:
  explicit Names(const FileDescription& file) {
    for (const std::string& group : all_groups(file)) others_.insert(group);
    for (const ArrayDescription& one : file.arrays) {
      others_.insert(one.name);
      for (std::size_t d = 0; d < one.dimension_names.size(); ++d) {
        const std::string& name = one.dimension_names[d];
        if (name.empty()) continue;
        const Dimension here = dimension_of(one, d);
        known_.emplace(name, here);
        if (here.grows && growing_.empty()) growing_ = name;
      }
    }
  }

  // Returns the name for a dimension of an array whose other dimensions have the names `in_array`.
  std::string name(const Dimension& wanted, const std::vector<std::string>& in_array) {
    if (wanted.grows && !growing_.empty() && known_.at(growing_) == wanted) return growing_;
    const std::string stem = wanted.grows ? "step" : fmt::format("dim_{}", wanted.extent);
    for (int number = 1;; ++number) {
      std::string name = number == 1 ? stem : fmt::format("{}_{}", stem, number);
      const bool is_in_array = std::find(in_array.begin(), in_array.end(), name) != in_array.end();
      if (is_in_array || others_.contains(name)) continue;
      if (known_.emplace(name, wanted).first->second != wanted) continue;
      return name;
    }
  }

 private:
  std::map<std::string, Dimension> known_;
  std::set<std::string> others_;  // names of arrays and groups
  std::string growing_;
};

}  // namespace

FileDescription with_dimension_names(FileDescription file) {
  Names names(file);
  for (ArrayDescription& one : file.arrays) {
    if (one.is_scalar) continue;
    const auto dimensions = static_cast<std::size_t>(one.shape.dimensions());
    if (one.dimension_names.empty()) one.dimension_names.resize(dimensions);
    if (one.dimension_names.size() != dimensions) continue;  // refused later
    for (std::size_t d = 0; d < dimensions; ++d) {
      std::string& name = one.dimension_names[d];
      if (name.empty()) name = names.name(dimension_of(one, d), one.dimension_names);
    }
  }
  return file;
}

}  // namespace weir::storage
