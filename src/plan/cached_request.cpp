#include "plan/cached_request.hpp"

namespace weir::plan {
namespace {

bool is_alike(const ArrayRequest& one, const ArrayRequest& other) {
  const FileImage* const image = one.image.dense();
  const FileImage* const others = other.image.dense();
  return image != nullptr && others != nullptr && image->shape() == others->shape() &&
         image->order() == others->order() && image->element_bytes() == others->element_bytes() &&
         one.section == other.section && one.first_file == other.first_file &&
         one.in_bundles == other.in_bundles && one.memory == other.memory;
}

}  // namespace

CachedRequest::CachedRequest(Request request) : request_(std::move(request)) {
  arrays_.reserve(request_.arrays.size());
  for (std::size_t i = 0; i < request_.arrays.size(); ++i) {
    const ArrayRequest& one = request_.arrays[i];
    const FileImage* const image = one.image.dense();
    arrays_.push_back(
        {image != nullptr ? image->offset() : -1, i > 0 && is_alike(one, request_.arrays[i - 1])});
  }
}

}  // namespace weir::plan
