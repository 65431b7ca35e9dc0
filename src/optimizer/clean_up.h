// Clean-ups of a document: what needs no price, because it leaves fewer nodes and computes the same.
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
#include "src/rules/rule_set.h"

namespace xflow::api {

// "3 x no operator for com.microsoft.Foo": the nodes that are not crossed, by reason.
std::vector<std::string> opaque_nodes(const onnx_io::Document& document, const onnx_io::LiftedModel& model);

struct CleanUpOptions {
  const rules::VerifiedRules& rules;  // all of them clean-ups (search::is_clean_up)
  bool exact = false;                 // no bit of a floating point result may change
  double max_growth = 0.05;           // of the bytes of each graph
  eval::Options evaluation = {};      // of constants; its `stop` ends the whole clean-up
};

struct CleanedUp {
  std::vector<onnx_io::GraphEdit> edits;       // of graphs of inner_graphs; none where there is nothing to clean up
  std::vector<ir::Constant> constants;         // whose bytes the edits point into
  std::map<std::string, std::uint64_t> rules;  // how often each was applied, built-in simplifications included
  std::vector<std::string> opaque;             // as opaque_nodes, of the main graph
};

// The document with as few nodes as the clean-ups leave. The bodies of If, Loop and Scan and local functions (inner_graphs) are graphs of
// their own, in which captured values are inputs. Rewrites that save operations but no nodes of the document are left out. Errors: those of
// lift; limit, "the clean-ups were stopped".
Result<CleanedUp> clean_up(const onnx_io::Document& document, const CleanUpOptions& options);

}  // namespace xflow::api
