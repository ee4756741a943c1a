// An array in its file or files: dense or in chunks.
#pragma once

#include <cstdint>
#include <variant>

#include "plan/chunked_image.hpp"
#include "plan/file_image.hpp"

namespace weir::plan {

class Image {
 public:
  // NOLINTBEGIN(google-explicit-constructor): either kind is an image
  Image(const FileImage& dense) : kind_(dense) {}
  Image(const ChunkedImage& chunked) : kind_(chunked) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] const array::Shape& shape() const {
    return std::visit([](const auto& kind) -> const array::Shape& { return kind.shape(); }, kind_);
  }
  [[nodiscard]] array::Order order() const {
    return std::visit([](const auto& kind) { return kind.order(); }, kind_);
  }
  [[nodiscard]] std::int64_t element_bytes() const {
    return std::visit([](const auto& kind) { return kind.element_bytes(); }, kind_);
  }
  [[nodiscard]] std::int64_t files() const { return chunked() == nullptr ? 1 : chunked()->files(); }
  // Null if the image is of the other kind.
  [[nodiscard]] const FileImage* dense() const { return std::get_if<FileImage>(&kind_); }
  [[nodiscard]] const ChunkedImage* chunked() const { return std::get_if<ChunkedImage>(&kind_); }

  friend bool operator==(const Image&, const Image&) = default;

 private:
  std::variant<FileImage, ChunkedImage> kind_;
};

}  // namespace weir::plan
