#include "src/optimizer/simplify_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/onnx/document/document_writer.h"
#include "src/optimizer/inner_graphs.h"
#include "src/optimizer/session.h"
#include "src/search/rule_rewriter.h"
#include "src/search/simplify.h"
#include "xflow/optimize.h"

namespace xflow::api {
namespace {

using onnx_io::Document;

// A clean-up may enable another one: removing a node can make a value known to all its other readers. The
// result is therefore cleaned up again until nothing changes, up to kMostPasses times, unless the model is
// larger than kMostCopied bytes.
constexpr int kMostPasses = 8;
constexpr std::size_t kMostCopied = std::size_t{512} << 20U;

Result<rules::VerifiedRules> clean_up_rules(const SimplifyOptions& options, const RunLimits& limits, Session& session) {
  OptimizeOptions all;
  all.search.rules = options.rules;
  all.search.skip_rules = options.skip_rules;
  all.search.rule_text = options.rule_text;
  XFLOW_TRY(rules::VerifiedRules rules, session.rules(all, limits.seconds_left(), [&limits] { return limits.ends_clean_ups(); }));
  rules.keep(search::is_clean_up);
  return rules;
}

// The number of nodes and the bytes of stored elements, over all graphs of inner_graphs().
struct Content {
  std::uint64_t nodes = 0;
  std::uint64_t stored_bytes = 0;
};
Content content_of(const Document& document) {
  Content content;
  const auto add = [&](const onnx_io::TensorView& tensor) {
    const auto elements = tensor.elements();
    if (elements && tensor.data_type != ir::DataType::undefined) content.stored_bytes += ir::storage_bytes(tensor.data_type, *elements);
  };
  for (const onnx_io::GraphId id : inner_graphs(document)) {
    content.nodes += document.nodes(id).size();
    for (const onnx_io::Initializer& initializer : document.graph(id).initializers) add(initializer.tensor);
    for (const onnx_io::Node& node : document.nodes(id)) {
      const onnx_io::Attribute* value = node.is("Constant") ? node.find("value") : nullptr;
      if (value == nullptr) continue;
      if (const auto tensor = document.tensor(*value)) add(*tensor);
    }
  }
  return content;
}

// Counts the nodes of `after` that are byte for byte nodes of `before`.
std::uint64_t kept_nodes(const Document& before, const Document& after) {
  std::unordered_map<std::string_view, std::size_t> payloads;
  for (const onnx_io::GraphId id : inner_graphs(before))
    for (const onnx_io::Node& node : before.nodes(id)) ++payloads[node.payload];
  std::uint64_t kept = 0;
  for (const onnx_io::GraphId id : inner_graphs(after)) {
    for (const onnx_io::Node& node : after.nodes(id)) {
      const auto found = payloads.find(node.payload);
      if (found == payloads.end() || found->second == 0) continue;
      --found->second;
      ++kept;
    }
  }
  return kept;
}

// Computes the figures of a result that is not parsed again from the nodes and bytes that its edits keep and
// add. Bodies of added nodes are not counted.
void describe_large(const Document& document, std::span<const onnx_io::GraphEdit> edits, SimplifyReport& report) {
  for (const onnx_io::GraphEdit& edit : edits) {
    const std::uint64_t before = document.nodes(edit.graph).size();
    const auto kept =
        static_cast<std::uint64_t>(std::ranges::count_if(*edit.nodes, [](const auto& entry) { return entry.kept.has_value(); }));
    report.nodes_after -= before - edit.nodes->size();
    report.nodes_kept -= before - kept;
    std::vector<bool> stays(document.graph(edit.graph).initializers.size());
    for (const onnx_io::Entry& entry : *edit.initializers) {
      if (entry.kept) stays[*entry.kept] = true;
      report.stored_bytes_after += entry.tail.size();
    }
    for (std::size_t k = 0; k < stays.size(); ++k) {
      const onnx_io::TensorView& tensor = document.graph(edit.graph).initializers[k].tensor;
      const auto elements = tensor.elements();
      if (!stays[k] && elements) report.stored_bytes_after -= ir::storage_bytes(tensor.data_type, *elements);
    }
  }
}

}  // namespace

Result<Simplified> simplify_document(const Document& document, const SimplifyOptions& options, const RunLimits& limits, Session& session) {
  const auto start = std::chrono::steady_clock::now();
  if (options.numerics == Numerics::any) return fail(ErrorCode::invalid_argument, "numerics must be exact or rounding, found any");
  if (!(options.max_growth >= 0)) return fail(ErrorCode::invalid_argument, "max_growth must not be negative");
  auto decided = clean_up_rules(options, limits, session);
  XFLOW_CHECK(limits.check());
  const bool is_over = !decided && decided.error().code == ErrorCode::limit && limits.ends_clean_ups();
  if (!decided && !is_over) return fail(decided.error());
  const rules::VerifiedRules rules = decided ? *std::move(decided) : rules::VerifiedRules(std::span<const rules::RuleHash>());
  const CleanUpOptions how{rules, options.numerics == Numerics::exact, options.max_growth, options.max_growth_bytes,
                           within_clean_ups(limits)};

  Simplified result;
  SimplifyReport& report = result.report;
  std::map<std::string, std::uint64_t> counts;
  const Content before = content_of(document);
  report.nodes_before = report.nodes_after = report.nodes_kept = before.nodes;
  report.stored_bytes_before = report.stored_bytes_after = before.stored_bytes;
  // Returns nothing if the run ended before.
  const auto cleaned = [&](const Document& model) -> Result<std::optional<CleanedUp>> {
    if (!is_over) {
      auto made = clean_up(model, how);
      XFLOW_CHECK(limits.check());
      if (made) return std::optional(*std::move(made));
      if (!limits.ends_clean_ups()) return fail(made.error());
    }
    report.stopped = limits.may_continue().reason;
    return std::optional<CleanedUp>();
  };
  XFLOW_TRY(std::optional<CleanedUp> first, cleaned(document));
  const bool was_stopped = !first;
  CleanedUp next = std::move(first).value_or(CleanedUp());
  report.opaque = next.opaque;
  report.simplified = !next.edits.empty();
  if (!report.simplified) report.reason = was_stopped ? report.stopped : "no clean-up leaves fewer nodes";
  for (int pass = 1; !next.edits.empty(); ++pass) {
    for (const auto& [rule, count] : next.rules) counts[rule] += count;
    result.last = std::move(next);
    if (document.bytes().size() > kMostCopied) {
      describe_large(document, result.last.edits, report);
      break;
    }
    const Document& edited = result.edited ? *result.edited : document;
    XFLOW_TRY(std::string bytes, onnx_io::write_bytes(edited, result.last.edits));
    XFLOW_TRY(Document written, Document::parse(std::move(bytes), document.origin()));
    const Content after = content_of(written);
    report.nodes_after = after.nodes;
    report.nodes_kept = kept_nodes(document, written);
    report.stored_bytes_after = after.stored_bytes;
    if (pass == kMostPasses) break;
    XFLOW_TRY(std::optional<CleanedUp> more, cleaned(written));
    next = std::move(more).value_or(CleanedUp());
    if (!next.edits.empty()) result.edited = std::make_unique<const Document>(std::move(written));
  }
  std::map<std::string_view, const rules::Rule*> named;
  for (std::size_t k = 0; k < rules.size(); ++k) {
    const rules::Rule& rule = rules.rule(static_cast<rules::RuleId>(k));
    named.emplace(rule.name, &rule);
  }
  for (const auto& [name, count] : counts) {
    SimplifyReport::Count& reported = report.rules.emplace_back(SimplifyReport::Count{name, count});
    const auto rule = named.find(name);
    if (rule == named.end()) continue;  // a built-in simplification
    reported.float_class = rule->second->float_class;
    reported.float_effects = rule->second->number_effects;
  }
  report.time = std::chrono::steady_clock::now() - start;
  return result;
}

SimplifyOptions simplify_options(const OptimizeOptions& options) {
  SimplifyOptions simplify;
  simplify.numerics = options.search.numerics == Numerics::exact ? Numerics::exact : Numerics::rounding;
  simplify.max_growth = options.search.max_growth;
  simplify.max_growth_bytes = options.search.max_growth_bytes;
  simplify.rules = options.search.rules;
  simplify.skip_rules = options.search.skip_rules;
  simplify.rule_text = options.search.rule_text;
  return simplify;
}

Result<ir::Graph> cleaned_graph(const onnx_io::LiftedModel& model, ir::Arena& arena, const OptimizeOptions& options,
                                const RunLimits& limits, Session& session) {
  XFLOW_TRY(const rules::VerifiedRules rules, clean_up_rules(simplify_options(options), limits, session));
  const auto stop = [&limits] { return limits.is_over(); };
  search::RuleRewriter rewriter(rules, rules::MatchOptions{false, options.search.numerics == Numerics::exact});
  search::SimplifyOptions how;
  how.max_growth = 0;
  how.admissible = [&](const ir::Arena& in, ir::NodeId node) { return onnx_io::can_export(in, node, model.opset).has_value(); };
  how.stop = stop;
  return search::simplify(arena, model.graph, rewriter, how).graph;
}

}  // namespace xflow::api
