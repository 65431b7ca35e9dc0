#include "src/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/support/printable.h"

namespace xflow::report {
namespace {

constexpr std::string_view kStyle = R"(
:root { --text: #1b1f24; --quiet: #57606a; --page: #ffffff; --card: #f3f5f7; --line: #d5dae0; --bar: #2f6feb; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --quiet: #9aa5b1; --page: #0f141a; --card: #1a212a; --line: #303a45; --bar: #5b9bff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 72rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.6rem; }
p { margin: 0.4rem 0; max-width: 60rem; }
.quiet { color: var(--quiet); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: 0.8rem; margin: 1.4rem 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.7rem 0.9rem; }
.tile b { display: block; font-size: 1.25rem; font-weight: 600; }
.tile span { color: var(--quiet); font-size: 0.875rem; display: block; }
.bar { display: grid; grid-template-columns: 9rem 1fr 5rem; gap: 0.6rem; align-items: center; margin: 0.3rem 0; }
.bar i { display: block; height: 1rem; background: var(--bar); border-radius: 3px; min-width: 1px; }
.bar span:last-child { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.7rem; border-bottom: 1px solid var(--line); min-width: 4.5rem; }
td:not(.right) { min-width: 8.5rem; }
th { color: var(--quiet); font-weight: 600; background: var(--card); overflow-wrap: normal; }
th[tabindex] { cursor: pointer; }
th[aria-sort=ascending]::after { content: " \2191"; }
th[aria-sort=descending]::after { content: " \2193"; }
button { font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.2rem 0.7rem; }
tr:last-child td { border-bottom: 0; }
tfoot td { border-top: 1px solid var(--line); }
.right { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dl { display: grid; grid-template-columns: minmax(6rem, 10rem) 1fr; gap: 0.25rem 1rem; margin: 0.4rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; }
details { border: 1px solid var(--line); border-radius: 8px; padding: 0.5rem 0.9rem; margin: 0.5rem 0; }
summary { cursor: pointer; }
.drawings { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); gap: 1rem; margin: 0.6rem 0; }
.drawing { min-width: 0; }
.drawing > span { color: var(--quiet); font-size: 0.875rem; }
.drawing svg { display: block; max-width: 100%; height: auto; }
.drawing svg text { fill: var(--text); }
.drawing svg path, .drawing svg polygon { stroke: var(--quiet); }
.drawing svg .edge polygon { fill: var(--quiet); }
.drawing pre { margin: 0.3rem 0; white-space: pre-wrap; font-size: 0.85rem; }
.curve { display: grid; grid-template-columns: auto 1fr; gap: 0 0.6rem; margin: 0.6rem 0; }
.curve svg { width: 100%; height: 9rem; border-left: 1px solid var(--line); border-bottom: 1px solid var(--line); }
.curve path { fill: none; stroke: var(--bar); stroke-width: 2; vector-effect: non-scaling-stroke; }
.curve div { display: flex; justify-content: space-between; color: var(--quiet); font-size: 0.875rem; }
.curve div.y { flex-direction: column; text-align: right; }
.curve div.x { grid-column: 2; }
)";

// Sorts tables by a click on the head of a column, and folds all parts: nothing that the page needs. Numbers
// with units are compared as numbers.
constexpr std::string_view kScript = R"(
const units = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, kB: 1e3, MB: 1e6 };
const number = text => {
  const found = /^([-+]?[0-9][0-9.,]*(?:e[-+]?[0-9]+)?) ?([A-Za-z]*)/.exec(text);
  return found ? parseFloat(found[1].replaceAll(",", "")) * (units[found[2]] || 1) : NaN;
};
const compared = (a, b) => {
  const difference = number(a) - number(b);
  return isNaN(difference) ? isNaN(number(a)) - isNaN(number(b)) || a.localeCompare(b) : difference;
};
for (const head of document.querySelectorAll("th")) {
  const sort = () => {
    const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
    const body = head.closest("table").tBodies[0];
    const cell = row => row.cells[head.cellIndex].textContent;
    body.append(...[...body.rows].sort((a, b) => direction * compared(cell(a), cell(b))));
  };
  head.tabIndex = 0;
  head.addEventListener("click", sort);
  head.addEventListener("keydown", event => event.key === "Enter" && sort());
}
const folds = [...document.querySelectorAll("details")];
if (folds.length > 1) {
  const button = document.createElement("button");
  const name = () => { button.textContent = folds.some(fold => fold.open) ? "Fold all" : "Unfold all"; };
  button.addEventListener("click", () => {
    const open = !folds.some(fold => fold.open);
    for (const fold of folds) fold.open = open;
    name();
  });
  name();
  folds[0].before(button);
}
)";
// The hash of the script for the policy, which allows no other one.
constexpr std::string_view kScriptHash = "OhpcxZOlhuKRv36TrugEZgw5LMrvZi4h+yvtR+g5Uzc=";

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : onnx_io::printable(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

Page::Page(std::string_view title, std::string_view subtitle) {
  html_ = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'sha256-{3}'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>xflow: {0}</title>\n<style>{2}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p class=\"quiet\">{1}</p>\n",
      escaped(title), escaped(subtitle), kStyle, kScriptHash);
}

void Page::tiles(std::span<const Tile> tiles) {
  html_ += "<div class=\"tiles\">\n";
  for (const Tile& tile : tiles)
    html_ += fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b><span>{}</span></div>\n", escaped(tile.label), escaped(tile.value),
                         escaped(tile.note));
  html_ += "</div>\n";
}

void Page::heading(std::string_view text) { html_ += fmt::format("<h2>{}</h2>\n", escaped(text)); }

void Page::paragraph(std::string_view text) { html_ += fmt::format("<p>{}</p>\n", escaped(text)); }

void Page::bars(std::span<const Bar> bars) {
  for (const Bar& bar : bars)
    html_ += fmt::format("<div class=\"bar\"><span>{}</span><span><i style=\"width: {:.2f}%\"></i></span><span>{}</span></div>\n",
                         escaped(bar.label), 100 * std::clamp(bar.length, 0.0, 1.0), escaped(bar.value));
}

void Page::table(std::span<const Column> columns, std::span<const std::vector<std::string>> rows, const std::vector<std::string>& total) {
  const auto start = [&](const char* tag, std::size_t column) {
    return columns[column].align == Align::right ? fmt::format("<{} class=\"right\">", tag) : fmt::format("<{}>", tag);
  };
  html_ += "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t k = 0; k < columns.size(); ++k) html_ += start("th", k) + escaped(columns[k].title) + "</th>";
  html_ += "</tr></thead>\n<tbody>\n";
  const auto add_row = [&](const std::vector<std::string>& row) {
    html_ += "<tr>";
    for (std::size_t k = 0; k < columns.size(); ++k) html_ += start("td", k) + escaped(row[k]) + "</td>";
    html_ += "</tr>\n";
  };
  for (const std::vector<std::string>& row : rows) add_row(row);
  html_ += "</tbody>";
  if (!total.empty()) {
    html_ += "\n<tfoot>\n";
    add_row(total);
    html_ += "</tfoot>";
  }
  html_ += "</table></div>\n";
}

void Page::terms(std::span<const std::pair<std::string, std::string>> terms) {
  html_ += "<dl>\n";
  for (const auto& [term, text] : terms) html_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(term), escaped(text));
  html_ += "</dl>\n";
}

void Page::begin_fold(std::string_view summary, bool is_open) {
  html_ += fmt::format("<details{}><summary>{}</summary>\n", is_open ? " open" : "", escaped(summary));
}

void Page::end_fold() { html_ += "</details>\n"; }

void Page::drawings(const Drawing& left, const Drawing& right) {
  html_ += "<div class=\"drawings\">\n";
  for (const Drawing* drawing : {&left, &right}) {
    html_ += fmt::format("<div class=\"drawing\"><span>{}</span>", escaped(drawing->title));
    if (!drawing->picture.empty()) {
      html_ += drawing->picture;
    } else {
      html_ += "<pre>";
      for (const std::string& line : drawing->lines) html_ += escaped(line) + "\n";
      html_ += "</pre>";
    }
    html_ += "</div>\n";
  }
  html_ += "</div>\n";
}

void Page::curve(std::span<const Point> points, const Axis& x, const Axis& y) {
  constexpr double kSide = 100;
  std::string path;
  for (const Point& point : points) {
    const double at = kSide * std::clamp(point.x, 0.0, 1.0);
    const double height = kSide * (1 - std::clamp(point.y, 0.0, 1.0));
    path += path.empty() ? fmt::format("M{:.2f} {:.2f}", at, height) : fmt::format("H{:.2f}V{:.2f}", at, height);
  }
  html_ += fmt::format(
      "<div class=\"curve\"><div class=\"y\"><span>{}</span><span>{}</span></div>"
      "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\"><path d=\"{}H{}\"/></svg>"
      "<div class=\"x\"><span>{}</span><span>{}</span></div></div>\n",
      escaped(y.last), escaped(y.first), kSide, kSide, path, kSide, escaped(x.first), escaped(x.last));
}

std::string Page::to_string() && {
  html_ += fmt::format("<script>{}</script>\n</body>\n</html>", kScript);
  return std::move(html_);
}

}  // namespace xflow::report
