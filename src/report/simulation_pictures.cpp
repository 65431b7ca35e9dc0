// Pictures of a simulated step: a drawing, and events for a viewer of traces.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "src/report/page.h"
#include "src/report/step_trace.h"
#include "src/support/printable.h"
#include "xflow/simulate.h"

namespace xflow {
namespace {

// What runs one task at a time.
struct TaskRow {
  std::string name;
  bool is_device = false;
  std::vector<const SimulatedTask*> tasks;  // by start
};

// The rows that have tasks: devices, links inside hosts, ports.
std::vector<TaskRow> rows_of(const SimulationResult& result) {
  enum class Kind : std::uint8_t { device, link, port };
  std::map<std::tuple<Kind, std::size_t, std::size_t>, TaskRow> rows;
  for (const SimulatedTask& task : result.tasks) {
    const SimulatedDevice& to = result.devices[task.device];
    const SimulatedDevice& from = result.devices[task.from];
    if (!task.is_transfer) {
      rows.try_emplace({Kind::device, task.device, 0}, TaskRow{to.name, true, {}}).first->second.tasks.push_back(&task);
    } else if (from.host == to.host) {
      const std::string name = fmt::format("{} -> {}", from.name, to.name);
      rows.try_emplace({Kind::link, task.from, task.device}, TaskRow{name, false, {}}).first->second.tasks.push_back(&task);
    } else {
      const std::string name = fmt::format("port of host {}", from.host);
      rows.try_emplace({Kind::port, from.host, 0}, TaskRow{name, false, {}}).first->second.tasks.push_back(&task);
    }
  }
  std::vector<TaskRow> row_list;
  row_list.reserve(rows.size());
  for (auto& [key, row] : rows) row_list.push_back(std::move(row));
  return row_list;
}

constexpr double kLeft = 170;    // the column of names
constexpr double kWidth = 1000;  // of the time axis
constexpr double kTop = 48;
constexpr double kRow = 22;
constexpr int kTicks = 5;

constexpr const char* kTimelineStyle =
    "text{font:12px sans-serif;fill:#1b1f24}.back{fill:#ffffff}.grid{stroke:#d0d7de}.node{fill:#2f6fb7;stroke:#ffffff;stroke-width:.3}"
    ".transfer{fill:#b7612f;stroke:#ffffff;stroke-width:.3}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}.grid{stroke:#30363d}.node{fill:#6ea8e5;stroke:#0d1117}"
    ".transfer{fill:#e59a6e;stroke:#0d1117}}";

std::string row_text(const TaskRow& row, double y, double per_second) {
  constexpr std::size_t kMostName = 24;
  constexpr double kMilliseconds = 1e3;
  std::string name = row.name;
  if (name.size() > kMostName) name.replace(kMostName - 3, std::string::npos, "...");
  std::string text =
      fmt::format("<text x=\"8\" y=\"{:.0f}\">{}<title>{}</title></text>\n", y + 15, report::escaped(name), report::escaped(row.name));
  for (const SimulatedTask* task : row.tasks) {
    const double start = task->start.count();
    const double end = task->end.count();
    text += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\"><title>{}, {:.4f} to {:.4f} ms</title></rect>\n",
        task->is_transfer ? "transfer" : "node", kLeft + start * per_second, y + 2, (end - start) * per_second, kRow - 4,
        report::escaped(task->name), start * kMilliseconds, end * kMilliseconds);
  }
  return text;
}

}  // namespace

std::string SimulationResult::to_svg() const {
  constexpr double kMilliseconds = 1e3;
  const std::vector<TaskRow> rows = rows_of(*this);
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  const double per_second = step.count() > 0 ? kWidth / step.count() : 0;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\">\n"
      "<title>Step of {2:.4f} ms on {3}</title>\n<style>{4}</style>\n<rect class=\"back\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n",
      kLeft + kWidth + 40, bottom + 12, step.count() * kMilliseconds, report::escaped(cluster), kTimelineStyle);
  for (int k = 0; k <= kTicks; ++k) {
    const double x = kLeft + kWidth * k / kTicks;
    text += fmt::format(
        "<line class=\"grid\" x1=\"{0:.0f}\" y1=\"{1:.0f}\" x2=\"{0:.0f}\" y2=\"{2:.0f}\"/><text x=\"{0:.0f}\" y=\"{3:.0f}\" "
        "text-anchor=\"middle\">{4:.3g} ms</text>\n",
        x, kTop - 8, bottom, kTop - 16, step.count() * kMilliseconds * k / kTicks);
  }
  double y = kTop;
  for (const TaskRow& row : rows) {
    text += row_text(row, y, per_second);
    y += kRow;
  }
  return text + "</svg>\n";
}

std::string trace_of_step(const SimulationResult& result, int first, const std::string& before) {
  using TraceJson = nlohmann::ordered_json;
  constexpr double kMicroseconds = 1e6;
  const int devices = first;
  const int links = first + 1;
  TraceJson events = TraceJson::array();
  const auto name = [&](const char* what, int process, std::size_t thread, const std::string& text) {
    events.push_back({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", text}}}});
  };
  name("process_name", devices, 0, before + "devices");
  name("process_name", links, 0, before + "links and ports");
  std::size_t thread = 0;
  for (const TaskRow& row : rows_of(result)) {
    const int process = row.is_device ? devices : links;
    name("thread_name", process, ++thread, row.name);
    for (const SimulatedTask* task : row.tasks) {
      events.push_back({{"ph", "X"},
                        {"name", task->name},
                        {"cat", task->is_transfer ? "transfer" : "node"},
                        {"pid", process},
                        {"tid", thread},
                        {"ts", task->start.count() * kMicroseconds},
                        {"dur", (task->end - task->start).count() * kMicroseconds}});
    }
  }
  const TraceJson json = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return onnx_io::printable_json(json.dump(1, ' ', false, TraceJson::error_handler_t::replace)) + "\n";
}

std::string SimulationResult::to_trace() const { return trace_of_step(*this, 1, ""); }

}  // namespace xflow
