// Any text is the report of an optimisation or an error of one line. What was read and written is read again as the same, and can be shown.
#include "tests/fuzz/fuzz.h"
#include "xflow/report.h"

using xflow::fuzz::expect;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto report = xflow::parse_report(xflow::fuzz::text_of(data, size));
  const auto trace = xflow::parse_trace(xflow::fuzz::text_of(data, size));
  if (!trace) xflow::fuzz::expect_message(trace.error().message);
  if (!report) {
    xflow::fuzz::expect_message(report.error().message);
    return 0;
  }
  expect(trace.has_value(), "a report has a trace");
  const std::string json = report->to_json();
  const auto repeated = xflow::parse_report(json);
  if (!repeated) std::fprintf(stderr, "%s\n%s\n", json.c_str(), repeated.error().text().c_str());
  expect(repeated.has_value(), "a report that was written is read again");
  expect(repeated->to_json() == json, "a report that is read again is the same");
  expect(repeated->to_text() == report->to_text(), "a report that is read again says the same");
  const std::string html = report->to_html();
  expect(html == repeated->to_html(), "a report that is read again has the same page");
  // Texts have no quotes and brackets of their own.
  const std::string content = html.substr(0, html.rfind("<script>"));
  for (const char* absent : {"<script", "src=\"", "href=\"", "nan%\""}) expect(content.find(absent) == std::string::npos, absent);
  return 0;
}
