#include "xflow/simplify.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/api/clean_up.h"
#include "src/api/engine.h"
#include "src/eval/evaluate.h"
#include "src/onnx/document_writer.h"
#include "src/search/simplify.h"
#include "xflow/optimize.h"

namespace xflow {
namespace {

using onnx_io::Document;

// What became of a model.
struct Simplified {
  SimplifyReport report;
  std::unique_ptr<const Document> rewritten;  // where more than one pass changed it: what `lowered` edits
  onnx_io::LoweredModel lowered;
};

// A clean-up may make another one possible: what a node that is gone has read may be known to everything that reads it now. So the result
// is cleaned up again until nothing changes, up to this many times, and unless a copy of the model is large.
constexpr int kMostPasses = 8;
constexpr std::size_t kMostCopied = std::size_t{512} << 20U;

Result<rules::VerifiedRules> clean_up_rules(const SimplifyOptions& options) {
  OptimizeOptions all;
  all.rules = options.rules;
  all.skip_rules = options.skip_rules;
  XFLOW_TRY(rules::VerifiedRules rules, api::load_rules(all));
  rules.keep(search::is_clean_up);
  return rules;
}

// Bytes of the elements that the main graph stores after these edits of it.
std::uint64_t stored_bytes(const Document& document, std::span<const onnx_io::GraphEdit> edits) {
  std::uint64_t bytes = 0;
  const auto bytes_of = [](const onnx_io::TensorView& tensor) -> std::uint64_t {
    const auto elements = tensor.elements();
    return elements && tensor.data_type != ir::DataType::undefined ? ir::storage_bytes(tensor.data_type, *elements) : 0;
  };
  const auto add_node = [&](const onnx_io::Node& node) {
    const onnx_io::Attribute* value = node.is("Constant") ? node.find("value") : nullptr;
    if (value == nullptr) return;
    if (const auto tensor = document.tensor(*value)) bytes += bytes_of(*tensor);
  };
  const auto nodes = document.nodes(onnx_io::GraphId{0});
  const std::vector<onnx_io::Initializer>& initializers = document.main().initializers;
  if (edits.empty()) {
    for (const onnx_io::Initializer& initializer : initializers) bytes += bytes_of(initializer.tensor);
    for (const onnx_io::Node& node : nodes) add_node(node);
    return bytes;
  }
  for (const onnx_io::Entry& entry : *edits[0].initializers)
    bytes += entry.kept ? bytes_of(initializers[*entry.kept].tensor) : entry.tail.size();
  for (const onnx_io::Entry& entry : *edits[0].nodes)
    if (entry.kept) add_node(nodes[*entry.kept]);
  return bytes;
}

// Nodes of `after` that are nodes of `before`, byte for byte.
std::uint64_t kept_nodes(const Document& before, const Document& after) {
  std::unordered_map<std::string_view, std::size_t> payloads;
  for (const onnx_io::Node& node : before.nodes(onnx_io::GraphId{0})) ++payloads[node.payload];
  std::uint64_t kept = 0;
  for (const onnx_io::Node& node : after.nodes(onnx_io::GraphId{0})) {
    const auto found = payloads.find(node.payload);
    if (found == payloads.end() || found->second == 0) continue;
    --found->second;
    ++kept;
  }
  return kept;
}

Result<api::CleanedUp> clean_up_once(const Document& document, const rules::VerifiedRules& rules, const SimplifyOptions& options) {
  ir::Arena arena;
  XFLOW_TRY(const onnx_io::LiftedModel model, onnx_io::lift(document, arena, {.infer = true}));
  std::map<ir::ValueId, Result<ir::Constant>> folded;
  const onnx_io::Fold fold = [&](ir::ValueId value) -> Result<ir::Constant> {
    const auto known = folded.find(value);
    return known != folded.end() ? known->second : folded.emplace(value, eval::fold(arena, value)).first->second;
  };
  return api::clean_up({document, model, arena, fold, rules, options.numbers == "exact", options.max_growth});
}

Result<Simplified> simplify_document(const Document& document, const SimplifyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.numbers != "exact" && options.numbers != "rounding")
    return fail(ErrorCode::invalid_argument, fmt::format("numbers must be exact or rounding, found '{}'", options.numbers));
  if (!(options.max_growth >= 0)) return fail(ErrorCode::invalid_argument, "max_growth must not be negative");
  XFLOW_TRY(const rules::VerifiedRules rules, clean_up_rules(options));
  std::map<std::string_view, std::string> numbers;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const rules::Rule& rule = rules.rule(static_cast<rules::RuleId>(k));
    numbers.emplace(rule.name, rules::numbers_text(rule));
  }
  Simplified result;
  SimplifyReport& report = result.report;
  XFLOW_TRY(api::CleanedUp cleaned, clean_up_once(document, rules, options));
  report.opaque = cleaned.opaque;
  report.nodes_before = report.nodes_after = report.nodes_kept = document.nodes(onnx_io::GraphId{0}).size();
  report.stored_bytes_before = report.stored_bytes_after = stored_bytes(document, {});
  report.simplified = !cleaned.lowered.edits.empty();
  if (!report.simplified) report.reason = "no clean-up leaves fewer nodes";

  std::map<std::string, std::uint64_t> counts;
  for (int pass = 1; !cleaned.lowered.edits.empty(); ++pass) {
    for (const auto& [rule, count] : cleaned.rules) counts[rule] += count;
    const Document& edited = result.rewritten ? *result.rewritten : document;
    report.nodes_after = cleaned.nodes;
    report.nodes_kept = cleaned.lowered.kept_nodes;
    report.stored_bytes_after = stored_bytes(edited, cleaned.lowered.edits);
    result.lowered = std::move(cleaned.lowered);
    if (pass == kMostPasses || edited.bytes().size() > kMostCopied) break;
    XFLOW_TRY(std::string bytes, onnx_io::write_bytes(edited, result.lowered.edits));
    XFLOW_TRY(Document next, Document::parse(std::move(bytes), document.origin()));
    report.nodes_kept = kept_nodes(document, next);
    XFLOW_TRY(cleaned, clean_up_once(next, rules, options));
    if (cleaned.lowered.edits.empty()) break;
    result.rewritten = std::make_unique<const Document>(std::move(next));
  }
  for (const auto& [rule, count] : counts) report.rules.push_back({rule, count, numbers[rule]});
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

// Exceptions of the standard library (no memory) must not cross the public interface.
template <typename T, typename Body>
Result<T> guarded(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::limit, "out of memory");
  } catch (const std::exception& e) {
    return fail(ErrorCode::internal, e.what());
  }
}

}  // namespace

Result<SimplifyResult> simplify(std::string_view model, const SimplifyOptions& options) {
  return guarded<SimplifyResult>([&]() -> Result<SimplifyResult> {
    XFLOW_TRY(const Document document, Document::parse(std::string(model)));
    XFLOW_TRY(Simplified simplified, simplify_document(document, options));
    if (!simplified.report.simplified) return SimplifyResult{std::string(model), std::move(simplified.report)};
    const Document& edited = simplified.rewritten ? *simplified.rewritten : document;
    XFLOW_TRY(std::string bytes, onnx_io::write_bytes(edited, simplified.lowered.edits));
    return SimplifyResult{std::move(bytes), std::move(simplified.report)};
  });
}

Result<SimplifyReport> simplify_file(const std::string& input, const std::string& output, const SimplifyOptions& options) {
  return guarded<SimplifyReport>([&]() -> Result<SimplifyReport> {
    XFLOW_TRY(const Document document, Document::open(input, options.allow_external));
    XFLOW_TRY(Simplified simplified, simplify_document(document, options));
    const Document& edited = simplified.rewritten ? *simplified.rewritten : document;
    XFLOW_CHECK(onnx_io::write_document(edited, simplified.lowered.edits, output));
    return std::move(simplified.report);
  });
}

std::string SimplifyReport::to_text() const {
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) { text += fmt::format("{:<12}{}\n", label, value); };
  line("nodes", fmt::format("{} -> {}, {} of them as they were", nodes_before, nodes_after, nodes_kept));
  line("stored", fmt::format("{} B -> {} B", stored_bytes_before, stored_bytes_after));
  for (const std::string& nodes : opaque) line("opaque", nodes);
  if (!rules.empty()) {
    text += fmt::format("\n{:<44} {:>8}\n", "rule", "applied");
    for (const Count& count : rules)
      text += fmt::format("{:<44} {:>8}{}\n", count.rule, count.applied, count.numbers.empty() ? "" : "  " + count.numbers);
    text += '\n';
  }
  line("result", simplified ? "a smaller model" : "the original model: " + reason);
  line("time", fmt::format("{:.2f} s", seconds));
  return text;
}

std::string SimplifyReport::to_json() const {
  nlohmann::ordered_json json;
  json["simplified"] = simplified;
  json["reason"] = reason;
  json["nodes"] = {{"before", nodes_before}, {"after", nodes_after}, {"kept", nodes_kept}};
  json["stored_bytes"] = {{"before", stored_bytes_before}, {"after", stored_bytes_after}};
  json["opaque"] = opaque;
  json["rules"] = nlohmann::ordered_json::array();
  for (const Count& count : rules) json["rules"].push_back({{"rule", count.rule}, {"applied", count.applied}, {"numbers", count.numbers}});
  json["seconds"] = seconds;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace xflow
