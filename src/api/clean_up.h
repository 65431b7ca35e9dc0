// Clean-ups of a document: what needs no price, because it leaves fewer nodes and computes the same.
#pragma once

#include <xflow/result.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/onnx/document.h"
#include "src/onnx/lift.h"
#include "src/onnx/lower.h"
#include "src/rules/rule_set.h"

namespace xflow::api {

// "3 x no operator for com.microsoft.Foo": the nodes that are not crossed, by reason.
std::vector<std::string> opaque_nodes(const onnx_io::Document& document, const onnx_io::LiftedModel& model);

// A lifted document, and what becomes of constants that are computed before it is written.
struct CleanUpTask {
  const onnx_io::Document& document;
  const onnx_io::LiftedModel& model;
  ir::Arena& arena;
  onnx_io::Fold fold;
  const rules::VerifiedRules& rules;  // all of them clean-ups (search::is_clean_up)
  bool exact = false;                 // no bit of a floating point result may change
  double max_growth = 0.05;           // of the document's bytes
};

struct CleanedUp {
  onnx_io::LoweredModel lowered;               // without edits where there is nothing to clean up
  std::map<std::string, std::uint64_t> rules;  // how often each was applied, built-in simplifications included
  std::uint64_t nodes = 0;                     // of the main graph, written
  std::vector<std::string> opaque;             // as opaque_nodes
};

// The document with as few nodes as the clean-ups leave. Rewrites that save operations but no nodes of the document are left out.
Result<CleanedUp> clean_up(const CleanUpTask& task);

}  // namespace xflow::api
