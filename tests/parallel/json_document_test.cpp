// Lines of values, of faults in the syntax, and values in messages.
#include "src/parallel/json_document.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "src/parallel/json_fields.h"

namespace xflow::parallel {
namespace {

const std::string kText =
    "\n"
    "{\"name\": \"a\\nb\",\n"
    " \"links\": [1,\n"
    "  2.5\n"
    "  , {\"rate\":\n"
    "    7, \"other\": [[\n"
    "     ], {\n"
    "      \"last\": null}]}],\n"
    " \"empty\": {}\n"
    "}\n";

// The text with other ends of lines.
std::string with_ends(const std::string& text, const std::string& end) {
  std::string result;
  for (const char c : text) result += c == '\n' ? end : std::string(1, c);
  return result;
}

void expect_lines(const std::string& text) {
  const auto document = JsonDocument::parse(text, "f.json", "a test");
  ASSERT_TRUE(document) << document.error().text();
  const Json& root = document->root();
  const auto place = [&](const char* pointer) { return document->place_of(root.at(Json::json_pointer(pointer))); };
  EXPECT_EQ(document->place_of(root), "f.json:2");
  EXPECT_EQ(place("/name"), "f.json:2");
  EXPECT_EQ(place("/links"), "f.json:3");
  EXPECT_EQ(place("/links/0"), "f.json:3");
  EXPECT_EQ(place("/links/1"), "f.json:4");
  EXPECT_EQ(place("/links/2"), "f.json:5");
  EXPECT_EQ(place("/links/2/rate"), "f.json:5");  // that of its name
  EXPECT_EQ(place("/links/2/other"), "f.json:6");
  EXPECT_EQ(place("/links/2/other/0"), "f.json:6");
  EXPECT_EQ(place("/links/2/other/1"), "f.json:7");
  EXPECT_EQ(place("/links/2/other/1/last"), "f.json:8");
  EXPECT_EQ(place("/empty"), "f.json:9");
}

TEST(JsonDocument, KnowsTheLineOfEachValue) {
  expect_lines(kText);
  expect_lines(with_ends(kText, "\r\n"));
}

TEST(JsonDocument, TakesTheLastOfFieldsWithOneName) {
  const std::string text = "{\"a\": {\"b\": 1},\n \"a\": {\"c\": 3,\n \"b\": 2},\n \"d\": [\n{\"b\": 4}]}";
  const auto document = JsonDocument::parse(text, "f.json", "a test");
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_EQ(document->root()["a"]["b"], 2);
  EXPECT_EQ(document->place_of(document->root()["a"]["b"]), "f.json:3");
  EXPECT_EQ(document->place_of(document->root()["d"][0]["b"]), "f.json:5");
}

std::string parse_message(const std::string& text) {
  const auto document = JsonDocument::parse(text, "f.json", "a test");
  return document ? "no error" : document.error().text();
}

TEST(JsonDocument, NamesTheLineOfWrongSyntax) {
  EXPECT_EQ(parse_message(""), "f.json:1: not JSON; expected a test");
  EXPECT_EQ(parse_message("{\n\"a\": 1,\n}\n"), "f.json:3: not JSON; expected a test");
  EXPECT_EQ(parse_message("{\r\n\"a\": 1,\r\n}\r\n"), "f.json:3: not JSON; expected a test");
  EXPECT_EQ(parse_message("{\n\"a\": 1\n"), "f.json:2: not JSON; expected a test");
  EXPECT_EQ(parse_message("{\n\"a\": \"no end\n\"}"), "f.json:2: not JSON; expected a test");
  EXPECT_EQ(parse_message("{\"a\": 1}\n\n{}"), "f.json:3: not JSON; expected a test");
  EXPECT_EQ(parse_message("{\"a\":\n 1e999\n}"), "f.json:2: a number is out of range: 1e999");
  EXPECT_EQ(parse_message("{\"a\":\n" + std::string(400, '9') + "\n}"),
            "f.json:2: a number is out of range: " + std::string(40, '9') + "...");
  EXPECT_EQ(parse_message("\n[]"), "f.json:2: expected a test, which is an object");
}

TEST(JsonFields, NamesTheLineOfAFieldOrOfTheObjectWithoutIt) {
  const std::string text = "{\"a\":\n {\"x\": 1,\n  \"y\": -2,\n  \"z\": \"\"}}";
  const auto document = JsonDocument::parse(text, "f.json", "a test");
  ASSERT_TRUE(document) << document.error().text();
  const JsonFields fields(document->root()["a"], "a: ", *document);
  constexpr std::array<std::string_view, 2> kKnown = {"x", "y"};
  EXPECT_EQ(fields.only(kKnown).error().text(), "f.json:4: a: unknown field 'z'");
  EXPECT_EQ(fields.find("w").error().text(), "f.json:1: a: has no 'w'");
  EXPECT_EQ(fields.integer("z").error().text(), "f.json:4: a: 'z' is not an integer: \"\"");
  EXPECT_EQ(fields.amount("y").error().text(), "f.json:3: a: 'y' is negative: -2");
  EXPECT_EQ(fields.amount("z").error().text(), "f.json:4: a: 'z' is not a number: \"\"");
  EXPECT_EQ(fields.flag("y").error().text(), "f.json:3: a: 'y' is not true, false, 0 or 1: -2");
  EXPECT_EQ(fields.array("x").error().text(), "f.json:2: a: 'x' is not an array");
  EXPECT_EQ(fields.text("z").error().text(), "f.json:4: a: 'z' is not a text, or empty");
}

// A value in an array that is in arrays, of which there are `depth`.
std::string nested(std::size_t depth) { return std::string(depth, '[') + "1" + std::string(depth, ']'); }

TEST(JsonFields, NamesValuesInManyArrays) {
  const std::string text = "{\"a\":\n" + nested(200'000) + ",\n\"b\": 1,\n \"c\": 2}";
  const auto document = JsonDocument::parse(text, "f.json", "a test");
  ASSERT_TRUE(document) << document.error().text();
  const JsonFields fields(document->root(), "", *document);
  EXPECT_EQ(fields.integer("a").error().text(), "f.json:1: 'a' is not an integer: [[...]]");
  EXPECT_EQ(document->place_of(document->root()["c"]), "f.json:4");
}

TEST(BriefText, HasNoNestedValuesAndAnEnd) {
  const auto text = [](const char* json) { return brief_text(Json::parse(json)); };
  EXPECT_EQ(text("null"), "null");
  EXPECT_EQ(text("\"\\n\""), "\"\\n\"");
  EXPECT_EQ(text("[]"), "[]");
  EXPECT_EQ(text("[1, \"a\", [2], {\"b\": 3}]"), "[1,\"a\",[...],{...}]");
  EXPECT_EQ(text("{}"), "{}");
  EXPECT_EQ(text("{\"b\": 3}"), "{...}");
  EXPECT_EQ(text("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]"), "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,...");
  EXPECT_EQ(text("\"0123456789012345678901234567890123456789\""), "\"012345678901234567890123456789012345678...");
}

}  // namespace
}  // namespace xflow::parallel
