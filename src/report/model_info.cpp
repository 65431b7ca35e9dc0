#include <fmt/format.h>
#include <xflow/model.h>

#include <string_view>

#include "src/support/printable.h"

namespace xflow {

std::string ModelInfo::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<11}{}\n", label, onnx_io::printable(value));
  };
  const auto counted = [&](std::string_view title, const std::vector<std::pair<std::string, std::size_t>>& counts) {
    text += fmt::format("\n{}\n", title);
    for (const auto& [name, count] : counts) text += fmt::format("{:>7} {}\n", count, onnx_io::printable(name));
  };
  std::string sets;
  for (const OperatorSet& set : operator_sets) sets += fmt::format("{}{} {}", sets.empty() ? "" : ", ", set.domain, set.version);
  line("format", fmt::format("ONNX, IR version {}, opsets {}", ir_version, sets));
  if (!producer.empty()) line("producer", producer);
  line("graph", fmt::format("'{}', {} nodes{}", graph, nodes, graphs > 1 ? fmt::format(", {} graphs in all", graphs) : ""));
  for (const Port& input : inputs) line("input", fmt::format("{}: {}", input.name, input.type));
  for (const Port& output : outputs) line("output", fmt::format("{}: {}", output.name, output.type));
  line("constants", fmt::format("{} initializers, {} bytes", initializers, constant_bytes));
  for (const std::string& file : external_files) line("external", file);
  for (const auto& [key, value] : metadata) line("metadata", fmt::format("{} = {}", key, value));
  counted("operators", operators);
  if (!opaque.empty()) counted("opaque operators", opaque);
  return text;
}

}  // namespace xflow
