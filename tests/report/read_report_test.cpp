// Reports that are read, and reports as pages.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/report/drawing.h"
#include "src/report/page.h"
#include "xflow/optimize.h"

namespace xflow {
namespace {

// No field has the value that it has in an empty report.
OptimizeReport full() {
  OptimizeReport r;
  r.improved = true;
  r.device = "npu: NPU 7 <fast> & \"new\", 1 thread";
  r.sizes = {{"x: [1, 3]"}, {"r of node 'nms' (NonMaxSuppression): [128, 3]"}, "Reshape", {"dimension n: 3 and 4"}};
  r.predicted = {Nanoseconds(2000), Nanoseconds(1500)};
  r.search.states = 70;
  r.search.expanded = 7;
  r.search.stop_reason = StopReason::search_memory;
  r.search.steps = {{"first", "node 'a<b>' (Relu)", Nanoseconds(-100)}, {"second", "node 'c' (Add)", Nanoseconds(600)}};
  r.search.rules = {{"first", 5, 4, 1, FloatClass::exact, {}, "f(g(x)) = x"},
                    {"second", 6, 3, 1, FloatClass::rounding, {"re-associates", "rounds twice"}},
                    {"merge-equal-nodes", 2, 2, 1}};
  r.search.gap = GapReport{"", Nanoseconds(1400), 5, 1, Nanoseconds(30), 40, Nanoseconds(20)};
  r.search.best = {{Seconds(0), 0, Nanoseconds(2000)}, {Seconds(0.5), 20, Nanoseconds(1700)}, {Seconds(1), 60, Nanoseconds(1500)}};
  r.search.time = Seconds(1.5);
  r.kernels = {12, 30, 3, 2, 1, Seconds(1.25), 500, 20, 0, 0, 9, 4, 2, "out of memory", 4096};
  r.search.gains = {{{0}, {Nanoseconds(300), Nanoseconds(100)}, Nanoseconds(150), Nanoseconds(250), 0.99, 3, 1},
                    {{}, {Nanoseconds(80), Nanoseconds(70)}, Nanoseconds(-5), Nanoseconds(25), 0.75, 2, 2}};
  r.search.unsure = {{"merge-products", "node 'q' (MatMul)", Nanoseconds(12), 0.6}};
  r.kernel_changes = {{"relu(float32[4]) -> float32[4]", 3, 1, {Nanoseconds(300), Nanoseconds(100)}},
                      {"matmul", 0, 2, {Nanoseconds(0), Nanoseconds(600)}}};
  r.nodes = {30, 20, 15, 2};
  r.operators = {{"Conv", 20, 12}, {"com.microsoft.Gelu", 0, 1}};
  r.parts = {{{{"a<b>", "Relu", {"x", ""}, {"a"}}, {"", "Add", {"a", "b"}, {"c"}}}, {{"xflow_1", "Gelu", {"x"}, {"c"}}}, {0, 1}},
             {{}, {{"", "Relu", {"c"}, {"d"}}}, {}}};
  r.constant_bytes = {1000, 1100};
  r.file_bytes = {5000, 5500};
  r.parameters = {250, 275};
  r.opaque = {"3 x no operator for com.microsoft.Foo"};
  r.regions.checked = {{"y", true, "", 100, 200, 1e-7}, {"z", false, "element 3 differs", 5, 5, 0.5}};
  r.regions.sizes = {"x: [1, 3]"};
  r.regions.skipped_sizes = {"x: [9, 9]: no memory"};
  r.regions.withdrawn = {{"third", "node 'd' (Mul)", "d_out", "element 0: 1 and 2"}};
  r.regions.time = Seconds(0.25);
  GateComparison comparison;
  comparison.faster = 18;
  comparison.slower = 2;
  comparison.ratio = 0.75;
  comparison.low = 0.7;
  comparison.high = 0.8;
  comparison.p_value = 0.001;
  comparison.confirmations = {0.74, 0.76};
  comparison.original = Nanoseconds(2100);
  comparison.result = Nanoseconds(1600);
  comparison.sizes = "x: [1, 3]";
  comparison.verdict = GateVerdict::faster;
  comparison.pairs = 20;
  comparison.repeats = 3;
  comparison.stop_reason = GateStop::decided;
  comparison.processor = static_cast<const PairedTimes&>(comparison);
  GateComparison failed;
  failed.sizes = "x: [2, 3]";
  failed.verdict = GateVerdict::failed;
  failed.stop_reason = GateStop::failure;
  failed.failure = "the runner ended";
  r.gate = {true,  "",   "onnxruntime", Clock::cpu_time, {comparison, failed}, {"0.99, undecided"}, {"0.94 of the time"},
            "214", 0.01, Seconds(4)};
  r.bodies = {{"body of node 'loop' (Loop)", 8, {Nanoseconds(100), Nanoseconds(80)}, 9, 7, true, "", {"0.9 of the time"}},
              {"body of node 'if' (If)", 1, {}, 3, 3, false, "no rewrite"}};
  r.clean_ups = {6, 20, 64, true, "none"};
  r.trace.model = "0123456789abcdef0123456789abcdef";
  r.trace.searches = {{0, 0, true, {{"first", 7, 1}}}};
  r.time = Seconds(9);
  r.command = "xflow optimize 'my model.onnx' out.onnx";
  return r;
}

TEST(ParseReport, ReadsWhatWasWritten) {
  OptimizeReport kept;
  kept.reason = "nothing is faster";
  kept.search.gap = GapReport{"none was looked for"};
  OptimizeReport replayed;
  replayed.replayed = true;
  for (const OptimizeReport& report : {full(), kept, replayed, OptimizeReport()}) {
    const auto read = parse_report(report.to_json());
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->to_json(), report.to_json());
    EXPECT_EQ(read->to_text(), report.to_text());
    EXPECT_EQ(read->to_html(), report.to_html());
  }
}

TEST(ParseReport, ReadsEveryNameOfAnEnum) {
  OptimizeReport report = full();
  for (int k = 0; k <= static_cast<int>(StopReason::cancelled); ++k) {
    report.search.stop_reason = static_cast<StopReason>(k);
    EXPECT_EQ(parse_report(report.to_json())->search.stop_reason, report.search.stop_reason);
  }
  for (int k = 0; k <= static_cast<int>(GateVerdict::failed); ++k) {
    report.gate.comparisons[0].verdict = static_cast<GateVerdict>(k);
    EXPECT_EQ(parse_report(report.to_json())->gate.comparisons[0].verdict, report.gate.comparisons[0].verdict);
  }
  for (int k = 0; k <= static_cast<int>(GateStop::failure); ++k) {
    report.gate.comparisons[0].stop_reason = static_cast<GateStop>(k);
    EXPECT_EQ(parse_report(report.to_json())->gate.comparisons[0].stop_reason, report.gate.comparisons[0].stop_reason);
  }
  for (int k = 0; k <= static_cast<int>(Clock::device_time); ++k) {
    report.gate.clock = static_cast<Clock>(k);
    EXPECT_EQ(parse_report(report.to_json())->gate.clock, report.gate.clock);
  }
}

TEST(ParseReport, RefusesOtherTexts) {
  const auto message = [](const std::string& text) { return parse_report(text).error().text(); };
  EXPECT_EQ(message("no"), "this is no report of an optimisation: it is no JSON, from byte 2 on");
  std::string other = full().to_json();
  other.replace(other.find("\"faster\""), 8, "\"quicker\"");
  for (const std::string& text : {std::string("{}"), std::string("[]"), std::string("3"), Trace().to_json(), other})
    EXPECT_EQ(message(text), "this is no report of an optimisation: a field is missing, or of another type or version") << text;
}

TEST(Drawings, AreGraphsOfNodesAndOfValuesFromElsewhere) {
  const std::vector<PartNode> nodes = {{"a \"b\"", "Relu", {"x", ""}, {"r"}}, {"", "Add", {"r", "x"}, {"y", ""}}};
  const std::string dot = report::dot_of(nodes);
  for (const char* line : {"n0 [label=\"Relu\\na \\\"b\\\"\"];\n", "n1 [label=\"Add\"];\n", "label=\"x\"];\nv0 -> n0;\n", "n0 -> n1;\n",
                           "v0 -> n1;\n", "label=\"y\"];\nn1 -> v1;\n"})
    EXPECT_NE(dot.find(line), std::string::npos) << line << "\n" << dot;
  EXPECT_EQ(dot.find("v2"), std::string::npos);
  EXPECT_EQ(report::lines_of(nodes), (std::vector<std::string>{"Relu 'a \"b\"': x,  -> r", "Add: r, x -> y, "}));
  const std::vector<PartNode> named = {{std::string(30, 'n') + "\xc3\xa4" + std::string(27, 'm'), "Relu", {}, {}}};
  EXPECT_NE(report::dot_of(named).find("\\n…" + std::string(27, 'm') + "\"]"), std::string::npos) << report::dot_of(named);
}

TEST(ReportPage, EscapesTextsAndLoadsNothing) {
  std::string html = full().to_html();
  const std::size_t script = html.find("<script>");
  ASSERT_NE(script, std::string::npos);
  EXPECT_EQ(html.substr(html.find("</script>")), "</script>\n</body>\n</html>");
  html.resize(script);
  EXPECT_NE(html.find("NPU 7 &lt;fast&gt; &amp; &quot;new&quot;"), std::string::npos);
  EXPECT_NE(html.find("node 'a&lt;b&gt;' (Relu)"), std::string::npos);
  for (const char* absent : {"<script", "href=", "src=", "url(", "@import", "<fast>", "a<b>"})
    EXPECT_EQ(html.find(absent), std::string::npos) << absent;
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(report::escaped("a\n<\x1b\xff"), "a\\n&lt;\\x1b\\xff");
}

TEST(ReportPage, SaysWhatTheReportSays) {
  const std::string html = full().to_html();
  for (const char* text :
       {"<h1>A cheaper model: 0.750 of the predicted time</h1>",
        "<b>2 us → 1.5 us</b>",
        "<span>Measured: faster</span><b>2.1 us → 1.6 us</b>",
        "<p>matmul</p>\n<div class=\"bar\"><span>before, 0×</span><span><i style=\"width: 0.00%\"></i></span><span>0 ns</span></div>\n"
        "<div class=\"bar\"><span>after, 2×</span><span><i style=\"width: 100.00%\"></i></span><span>600 ns</span></div>",
        "<span>before, 3×</span><span><i style=\"width: 50.00%\"></i></span><span>300 ns</span>",
        "0.750 of the original [0.700, 0.800]",
        "15 unchanged, byte for byte",
        "<b>7.2 %</b>",
        "<td>Conv</td><td class=\"right\">20</td><td class=\"right\">12</td><td class=\"right\">-8</td>",
        "<td>com.microsoft.Gelu</td><td class=\"right\">0</td><td class=\"right\">1</td><td class=\"right\">+1</td>",
        "<td>first</td><td>f(g(x)) = x</td><td>node 'a&lt;b&gt;' (Relu)</td><td class=\"right\">-100 ns</td><td>exact</td>",
        "rounding: re-associates, rounds twice",
        "<td class=\"right\">100 of 200</td>",
        "element 3 differs",
        "Taken back: third node 'd' (Mul)",
        "Not at x: [9, 9]: no memory",
        "the runner ended at x: [2, 3]",
        "no operator for com.microsoft.Foo",
        "dimension n: 3 and 4",
        "unchanged: no rewrite",
        "no state left in the memory of the search",
        "3 kernels were timed under interference",
        "0.99, undecided",
        "<span>250 → 275 parameters</span>",
        "<b>5000 B → 5500 B</b>",
        "<path d=\"M0.00 0.00H33.33V60.00H66.67V100.00H100\"/>",
        "The best graph was found after 1.0 s and 60 of 70 graphs.",
        "2 nodes → 1 node, at a&lt;b&gt; (Relu)",
        "<dt>first</dt><dd>f(g(x)) = x (proved; exact)</dd>",
        "0 nodes → 1 node, at d (Relu)",
        "<dt>command</dt><dd>xflow optimize 'my model.onnx' out.onnx</dd>"})
    EXPECT_NE(html.find(text), std::string::npos) << text << "\n" << html;
}

TEST(ReportPage, OfAKeptOriginalSaysWhy) {
  OptimizeReport kept;
  kept.reason = "nothing is faster";
  kept.gate.reason = "nothing was run";
  const std::string html = kept.to_html();
  EXPECT_NE(html.find("<h1>The original model: nothing is faster</h1>"), std::string::npos) << html;
  EXPECT_NE(html.find("<b>no</b><span>nothing was run</span>"), std::string::npos);
  EXPECT_EQ(html.find("Rewrites, in their order"), std::string::npos);
  EXPECT_EQ(html.find("Operators of the main graph"), std::string::npos);
}

TEST(ReportPage, IsKnownByItsName) {
  EXPECT_TRUE(is_page("a.html"));
  EXPECT_TRUE(is_page("a.b.htm"));
  for (const char* name : {"a.json", "html", "a.html.json", ""}) EXPECT_FALSE(is_page(name)) << name;
}

}  // namespace
}  // namespace xflow
