// Traces as text.
#include "xflow/trace.h"

#include <gtest/gtest.h>

#include "xflow/optimize.h"

namespace xflow {
namespace {

Trace trace() {
  Trace trace;
  trace.model = "0123456789abcdef0123456789abcdef";
  trace.numerics = Numerics::exact;
  trace.cleans_up = true;
  trace.max_growth = 0.05;
  trace.max_growth_bytes = 65536;
  trace.skip_rules = {"one"};
  trace.shapes = {{"x", {1, 3}}, {"x", {2, 3}}};
  trace.rules = {{"two", "00000000000000000000000000000001"}};
  trace.searches = {{0, 0, true, {{"two", 7, 1}, {"two", 9, 0}}}, {3, 1, false, {}}};
  return trace;
}

TEST(Trace, IsReadAsItIsWritten) {
  EXPECT_EQ(*parse_trace(trace().to_json()), trace());
  EXPECT_EQ(*parse_trace(Trace().to_json()), Trace());
}

TEST(Trace, IsReadOutOfAReport) {
  OptimizeReport report;
  report.trace = trace();
  EXPECT_EQ(*parse_trace(report.to_json()), trace());
}

TEST(Trace, RefusesOtherTexts) {
  const auto message = [](const std::string& text) { return parse_trace(text).error().text(); };
  EXPECT_EQ(message("no"), "this is no trace: it is no JSON, from byte 2 on");
  for (const char* text : {"{}", "[]", "3", R"({"trace": {}})"})
    EXPECT_EQ(message(text), "this is no trace: a field is missing, or of another type or version") << text;
  std::string other = trace().to_json();
  other.replace(other.find("\"version\": 1"), 12, "\"version\": 2");
  EXPECT_EQ(message(other), "this is no trace: a field is missing, or of another type or version");
  EXPECT_EQ(parse_trace("no").error().code, ErrorCode::invalid_argument);
}

TEST(Trace, IsAppliedWithoutTimes) {
  OptimizeReport report;
  report.improved = report.replayed = true;
  report.search.steps = {{"two", "node 'a' (Add)"}, {"two", "node 'b' (Add)"}};
  report.trace = trace();
  const std::string text = report.to_text();
  EXPECT_NE(text.find("trace       2 rewrites in 2 searches were applied\n"), std::string::npos) << text;
  EXPECT_NE(text.find("result      the model of the trace\n"), std::string::npos) << text;
  for (const char* word : {"predicted", "device ", "kernels", "gain", "graphs costed"})
    EXPECT_EQ(text.find(word), std::string::npos) << text;
}

}  // namespace
}  // namespace xflow
