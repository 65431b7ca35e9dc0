// Clean-ups of a document: rewrites that leave fewer nodes and compute the same, so they need no prices.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/onnx/lower/lower.h"
#include "src/rules/verified_rules.h"

namespace xflow::api {

// The opaque nodes, counted by reason: "3 x no operator for com.microsoft.Foo".
std::vector<std::string> opaque_nodes(const onnx_io::Document& document, const onnx_io::LiftedModel& model);

struct CleanUpOptions {
  const rules::VerifiedRules& rules;   // clean-ups only (search::is_clean_up)
  bool exact = false;                  // true: no bit of a floating-point result may change
  double max_growth = 0.05;            // allowed growth of the bytes of each graph, as a fraction
  std::uint64_t max_growth_bytes = 0;  // or in bytes, if that is more
  eval::Options evaluation = {};       // of constants; `stop` ends the whole clean-up
};

struct CleanedUp {
  std::vector<onnx_io::GraphEdit> edits;       // of graphs of inner_graphs; none for a graph without clean-ups
  std::vector<ir::Constant> constants;         // own the bytes that the edits point into
  std::map<std::string, std::uint64_t> rules;  // applications by rule, built-in simplifications included
  std::vector<std::string> opaque;             // opaque_nodes() of the main graph
};

// Cleans up every graph of inner_graphs(): the main graph, bodies of If, Loop and Scan, and local functions.
// Captured values are inputs of a body. A rewrite that saves operations but no nodes of the document is left
// out. Errors: those of lift; limit, "the clean-ups were stopped".
Result<CleanedUp> clean_up(const onnx_io::Document& document, const CleanUpOptions& options);

}  // namespace xflow::api
