#include "kernels/isa.h"

#include "base/status.h"
#include "gmock/gmock.h"
#include "kernels/context.h"
#include "kernels/op_table.h"

namespace stoker::kernels {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(Isa, PortableAndRefAreAlwaysThere) {
  EXPECT_THAT(SupportedIsas(), Contains(Isa::kPortable));
  EXPECT_THAT(SupportedIsas(), Contains(Isa::kRef));
}

TEST(Isa, AutoIsTheBest) {
  const auto isa = ParseIsa("auto");
  ASSERT_TRUE(isa.ok());
  EXPECT_EQ(*isa, SupportedIsas().front());
}

TEST(Isa, EverySupportedNameParses) {
  for (const Isa isa : SupportedIsas()) {
    const auto parsed = ParseIsa(Name(isa));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, isa);
  }
}

TEST(Isa, UnknownNameIsRefusedWithASuggestion) {
  const auto isa = ParseIsa("avx521");
  EXPECT_EQ(isa.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(isa.status())), HasSubstr("avx512"));
}

}  // namespace
}  // namespace stoker::kernels
