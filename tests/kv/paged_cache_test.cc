#include "kv/paged_cache.h"

#include <cstring>
#include <set>

#include "gtest/gtest.h"

namespace stoker::kv {
namespace {

constexpr CacheShape kShape = {
    .layers = 3, .latent = 8, .rope = 4, .dtype = kernels::KvDType::kBf16};

TEST(PagedCache, BlocksAreDistinctUntilNoneIsLeft) {
  auto cache = PagedCache::Create(kShape, 64 * 5);
  ASSERT_TRUE(cache.ok()) << cache.status();
  std::set<std::int32_t> blocks;
  for (int i = 0; i < 5; ++i) blocks.insert(*cache->Allocate());
  EXPECT_EQ(blocks.size(), 5U);
  EXPECT_EQ(cache->Allocate().status().code(), absl::StatusCode::kResourceExhausted);
  cache->Free(*blocks.begin());
  EXPECT_EQ(*cache->Allocate(), *blocks.begin());
}

TEST(PagedCache, LayersAndBlocksDoNotOverlap) {
  auto cache = PagedCache::Create(kShape, 64 * 2);
  ASSERT_TRUE(cache.ok());
  const std::size_t entry_bytes = 12 * 2;
  for (int layer = 0; layer < 3; ++layer) {
    for (int block = 0; block < 2; ++block) {
      const auto view = cache->Layer(LayerId{layer});
      for (std::size_t slot = 0; slot < 64; ++slot) {
        std::memset(view.Entry(block, slot), layer * 2 + block + 1, entry_bytes);
      }
    }
  }
  for (int layer = 0; layer < 3; ++layer) {
    for (int block = 0; block < 2; ++block) {
      const auto view = cache->Layer(LayerId{layer});
      for (const std::size_t slot : {0U, 63U}) {
        EXPECT_EQ(std::to_integer<int>(*view.Entry(block, slot)), layer * 2 + block + 1);
        EXPECT_EQ(std::to_integer<int>(view.Entry(block, slot)[entry_bytes - 1]),
                  layer * 2 + block + 1);
      }
    }
  }
}

TEST(PagedCache, CopyBlockCopiesEveryLayer) {
  auto cache = PagedCache::Create(kShape, 64 * 2);
  ASSERT_TRUE(cache.ok());
  for (int layer = 0; layer < 3; ++layer) {
    *cache->Layer(LayerId{layer}).Entry(0, 63) = std::byte(layer + 9);
  }
  cache->CopyBlock(0, 1);
  for (int layer = 0; layer < 3; ++layer) {
    EXPECT_EQ(*cache->Layer(LayerId{layer}).Entry(1, 63), std::byte(layer + 9));
  }
}

TEST(BlockTable, GivesItsBlocksBack) {
  auto cache = PagedCache::Create(kShape, 64 * 4);
  ASSERT_TRUE(cache.ok());
  {
    BlockTable table(*cache);
    ASSERT_TRUE(table.Reserve(65).ok());
    EXPECT_EQ(table.block_ids().size(), 2U);
    EXPECT_EQ(cache->free_blocks(), 2U);
    table.Truncate(64);
    EXPECT_EQ(cache->free_blocks(), 3U);
    EXPECT_FALSE(table.Reserve(64 * 5).ok());
    BlockTable moved = std::move(table);
    EXPECT_EQ(moved.block_ids().size(), 4U);
  }
  EXPECT_EQ(cache->free_blocks(), 4U);
}

TEST(CacheShape, KimiK2CostsWhatThePublishedNumbersSay) {
  const CacheShape k2 = {.layers = 61, .latent = 512, .rope = 64};
  EXPECT_EQ(k2.bytes_per_token(), 70'272U);
}

}  // namespace
}  // namespace stoker::kv
