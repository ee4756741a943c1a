#include "plan/file_image.hpp"

#include <gtest/gtest.h>

namespace weir::plan {
namespace {

TEST(FileImage, RefusesWhatFilesCannotHold) {
  const std::int64_t tebi = std::int64_t{1} << 40;
  const auto shape = array::Shape::create({tebi, 1 << 20}).value();
  EXPECT_TRUE(FileImage::create(shape, array::ElementKind::int32, array::Order::row_major, 0).ok());
  EXPECT_FALSE(
      FileImage::create(shape, array::ElementKind::int64, array::Order::row_major, 0).ok());
  EXPECT_FALSE(
      FileImage::create(shape, array::ElementKind::int8, array::Order::row_major, -1).ok());
}

}  // namespace
}  // namespace weir::plan
