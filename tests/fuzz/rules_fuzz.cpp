// Any text is rules or a clean error, and rules that are printed parse back to themselves.
#include "src/rules/rule.h"
#include "tests/fuzz/fuzz.h"

using xflow::fuzz::expect;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = xflow::rules::parse_rules(xflow::fuzz::text_of(data, size), "fuzz");
  if (!parsed) {
    xflow::fuzz::expect_message(parsed.error().message);
    expect(!parsed.error().where.empty(), "an error says where");
    return 0;
  }
  for (const auto& rule : *parsed) {
    const std::string text = print(rule);
    const auto reparsed = xflow::rules::parse_rules(text, "printed");
    if (!reparsed) std::fprintf(stderr, "%s\n%s: %s\n", text.c_str(), reparsed.error().where.c_str(), reparsed.error().message.c_str());
    expect(reparsed.has_value() && reparsed->size() == 1, "a printed rule parses");
    expect(print(reparsed->front()) == text, "a rule that was printed and parsed prints the same");
  }
  return 0;
}
