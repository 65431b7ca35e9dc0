#include "src/api/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/optimizer/shipped_rules.h"
#include "src/rules/instantiate.h"
#include "src/rules/rule_set.h"
#include "src/support/printable.h"
#include "src/verifier/proof/assumptions.h"

namespace xflow::api {
namespace {

using onnx_io::Document;

std::string opsets_text(const std::vector<onnx_io::OperatorSet>& opsets) {
  std::string text;
  for (const onnx_io::OperatorSet& opset : opsets)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", onnx_io::is_default_domain(opset.domain) ? "ai.onnx" : opset.domain,
                        opset.version);
  return text;
}

std::uint64_t constant_bytes(const onnx_io::Graph& graph) {
  std::uint64_t bytes = 0;
  for (const onnx_io::Initializer& initializer : graph.initializers)
    bytes += ir::storage_bytes(initializer.tensor.data_type, initializer.tensor.elements().value_or(0));
  return bytes;
}

// Types and facts of a proof, for a typical one of the choices that the rule leaves open.
std::string assumed_text(const rules::Rule& rule) {
  const auto instances = rules::instantiate(rule);
  if (!instances) return fmt::format("  no shapes: {}\n", instances.error().message);
  const rules::RuleInstance& instance = (*instances)[verifier::typical_instance(*instances)];
  std::string text = "  assumed";
  if (instances->size() > 1) text += fmt::format(" (for {}; {} choices in all)", instance.choice, instances->size());
  text += '\n';
  for (const std::string& line : verifier::variable_types(instance)) text += fmt::format("    {}\n", line);
  for (const std::string& line : verifier::assumptions(instance)) text += fmt::format("    {}\n", line);
  return text;
}

// The comment, which holds the equation, and the rule; what its proof assumes.
std::string rule_text(const rules::Rule& rule) {
  return fmt::format("{}{}  numbers: {}\n  hash: {}\n", rules::print(rule), assumed_text(rule), rules::numbers_text(rule),
                     rule.hash.to_string());
}

}  // namespace

Result<std::string> show_rule(const std::string& name) {
  std::string similar;
  for (const ShippedFile& file : shipped_rule_files()) {
    XFLOW_TRY(const std::vector<rules::Rule> rules, rules::parse_rules(file.text, file.name));
    for (const rules::Rule& rule : rules) {
      if (rule.name == name) return fmt::format("{}  proved, in {}\n", rule_text(rule), file.name);
      if (rule.name.find(name) != std::string::npos) similar += fmt::format("{}{}", similar.empty() ? "; similar: " : ", ", rule.name);
    }
  }
  return fail(ErrorCode::invalid_argument, fmt::format("no shipped rule '{}'{}", name, similar));
}

Result<std::string> show_rules(const std::string& path) {
  XFLOW_TRY(const std::string text, rules::read_rule_file(path));
  XFLOW_TRY(const std::vector<rules::Rule> rules, rules::parse_rules(text, path));
  std::string all;
  for (const rules::Rule& rule : rules) all += (all.empty() ? "" : "\n") + rule_text(rule);
  return all;
}

Result<std::string> show_model(const std::string& path, const std::vector<std::string>& allow_external) {
  XFLOW_TRY(const Document document, Document::open(path, allow_external));
  const onnx_io::Model& model = document.model();
  const onnx_io::Graph& main = document.main();
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<11}{}\n", label, onnx_io::printable(value));
  };
  line("format", fmt::format("ONNX, IR version {}, opsets {}", model.ir_version, opsets_text(model.opsets)));
  if (!model.producer_name.empty()) line("producer", fmt::format("{} {}", model.producer_name, model.producer_version));
  line("graph", fmt::format("'{}', {} nodes{}", main.name, main.node_count,
                            document.graphs().size() > 1 ? fmt::format(", {} graphs in all", document.graphs().size()) : ""));
  for (const onnx_io::ValueInfo& input : main.inputs) line("input", fmt::format("{}: {}", input.name, input.type.text()));
  for (const onnx_io::ValueInfo& output : main.outputs) line("output", fmt::format("{}: {}", output.name, output.type.text()));
  line("constants", fmt::format("{} initializers, {} bytes", main.initializers.size(), constant_bytes(main)));
  for (const onnx_io::ExternalFile& file : document.external_files()) line("external", file.location);
  for (const auto& [key, value] : model.metadata) line("metadata", fmt::format("{} = {}", key, value));

  const auto counts = document.operator_counts();
  std::vector<std::pair<std::string, std::size_t>> operators(counts.begin(), counts.end());
  std::stable_sort(operators.begin(), operators.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  text += "\noperators\n";
  for (const auto& [op, count] : operators) text += fmt::format("{:>7} {}\n", count, onnx_io::printable(op));

  ir::Arena arena;
  XFLOW_TRY(const onnx_io::LiftedModel lifted, onnx_io::lift(document, arena));
  std::map<std::string, std::size_t> reasons;
  for (const onnx_io::OpaqueNode& opaque : lifted.opaque)
    ++reasons[fmt::format("{}: {}", document.node(opaque.node).op_type, opaque.reason)];
  if (!reasons.empty()) text += "\nnot crossed\n";
  for (const auto& [reason, count] : reasons) text += fmt::format("{:>7} {}\n", count, onnx_io::printable(reason));
  return text;
}

}  // namespace xflow::api
