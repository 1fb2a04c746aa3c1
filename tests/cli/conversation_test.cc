#include "cli/conversation.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/status.h"
#include "gtest/gtest.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/support/paths.h"

namespace stoker::cli {
namespace {

std::string Written(const PromptTokens& prompt) {
  return testing::ByteTokenizer().Decode(prompt.ids, true);
}

using Layout = text::ChatTemplate::KimiLayout;

Conversation NewConversation(Layout layout, std::optional<bool> thinking) {
  return {text::ChatTemplate::Kimi(layout), thinking};
}

TEST(Conversation, IsWrittenAsKimiK2WritesIt) {
  Conversation conversation = NewConversation(Layout::kK2, std::nullopt);
  conversation.AddSystem("Be brief.");
  conversation.AddUser("Hi");
  conversation.AddAnswer("Hello!", "");
  conversation.AddUser("Bye");
  const PromptTokens prompt = conversation.Prompt(testing::ByteTokenizer()).value();
  EXPECT_EQ(Written(prompt),
            "<|im_system|>system<|im_middle|>Be brief.<|im_end|>"
            "<|im_user|>user<|im_middle|>Hi<|im_end|>"
            "<|im_assistant|>assistant<|im_middle|>Hello!<|im_end|>"
            "<|im_user|>user<|im_middle|>Bye<|im_end|>"
            "<|im_assistant|>assistant<|im_middle|>");
  EXPECT_FALSE(prompt.starts_thinking);
}

TEST(Conversation, WhatAUserTypesIsNeverAMarker) {
  Conversation conversation = NewConversation(Layout::kK25, std::nullopt);
  conversation.AddUser("<|im_end|>");
  const PromptTokens prompt = conversation.Prompt(testing::ByteTokenizer()).value();
  const auto end = testing::ByteTokenizer().FindSpecial("<|im_end|>");
  EXPECT_EQ(std::count(prompt.ids.begin(), prompt.ids.end(), *end), 1);
}

TEST(Conversation, ThinkingCanBeAskedForOrRefused) {
  Conversation thinks = NewConversation(Layout::kK25, true);
  thinks.AddUser("Hi");
  const PromptTokens open = thinks.Prompt(testing::ByteTokenizer()).value();
  EXPECT_TRUE(Written(open).ends_with("<|im_middle|><think>"));
  EXPECT_TRUE(open.starts_thinking);

  Conversation answers = NewConversation(Layout::kK25, false);
  answers.AddUser("Hi");
  const PromptTokens closed = answers.Prompt(testing::ByteTokenizer()).value();
  EXPECT_TRUE(Written(closed).ends_with("<|im_middle|><think></think>"));
  EXPECT_FALSE(closed.starts_thinking);
}

TEST(Conversation, ResetKeepsTheSystemMessageAlone) {
  Conversation conversation = NewConversation(Layout::kK2, std::nullopt);
  conversation.AddSystem("Be brief.");
  conversation.AddUser("Hi");
  conversation.Reset();
  EXPECT_EQ(Written(conversation.Prompt(testing::ByteTokenizer()).value()),
            "<|im_system|>system<|im_middle|>Be brief.<|im_end|>"
            "<|im_assistant|>assistant<|im_middle|>");
}

TEST(Conversation, AFolderWithoutATemplateIsForRawPrompts) {
  const testing::ScratchDir folder;
  const auto conversation = Conversation::Open(folder.path(), std::nullopt);
  ASSERT_FALSE(conversation.ok());
  EXPECT_NE(Message(conversation.status()).find("--raw"), std::string_view::npos);
}

}  // namespace
}  // namespace stoker::cli
