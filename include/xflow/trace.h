// Traces: the rewrites that made a result, to be applied again without a search.
//
//   auto first = xflow::optimize(model, options);
//   save(first->report.trace.to_json());
//   ...
//   xflow::OptimizeOptions again;
//   again.search.replay = *xflow::parse_trace(text);
//   auto second = xflow::optimize(model, again);  // the same bytes; nothing is timed
#pragma once

#include <xflow/error.h>
#include <xflow/export.h>
#include <xflow/input_shape.h>
#include <xflow/numerics.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xflow {

// One rewrite. Operations are numbered in the order in which the graph is read and rewrites make them.
struct TracedRewrite {
  std::string rule;                                                              // its name, or that of a built-in simplification
  std::uint64_t operation = 0;                                                   // the operation at which the rule matches
  std::uint64_t match = 0;                                                       // 0: the first match of the rule there
  friend bool operator==(const TracedRewrite&, const TracedRewrite&) = default;  // compares all members
};

// The rewrites of one graph, from a model to the next result.
struct TracedSearch {
  std::uint64_t graph = 0;              // number of the graph in its model; 0: the main graph
  std::uint64_t pass = 0;               // of the passes over the bodies of nodes; 0 for the main graph
  bool declares_shapes = false;         // whether shapes of values are declared after the rewrites
  std::vector<TracedRewrite> rewrites;  // empty: built-in simplifications alone
  friend bool operator==(const TracedSearch&, const TracedSearch&) = default;  // compares all members
};

// A rule by its name and the hash of its text.
struct TracedRule {
  std::string name;                                                        // as in its text
  std::string hash;                                                        // 32 hexadecimal digits
  friend bool operator==(const TracedRule&, const TracedRule&) = default;  // compares all members
};

// The rewrites of a result.
struct Trace {
  std::string model;                       // hash of the bytes of the model, 32 hexadecimal digits; empty for a graph built in code
  Numerics numerics = Numerics::rounding;  // of the search
  bool cleans_up = false;                  // the clean-ups of <xflow/simplify.h> follow the rewrites
  double max_growth = 0;                   // their limits, as SimplifyOptions
  std::uint64_t max_growth_bytes = 0;      // see max_growth
  std::vector<std::string> skip_rules;     // as SearchOptions::skip_rules
  // Sizes of the inputs for the checks of rewritten parts; an input has several if there are several
  // choices.
  std::vector<InputShape> shapes;
  std::vector<TracedRule> rules;                                 // of all rewrites
  std::vector<TracedSearch> searches;                            // in the order in which they are applied
  friend bool operator==(const Trace&, const Trace&) = default;  // compares all members

  // The trace for programs; parse_trace reads it.
  XFLOW_API std::string to_json() const;
};

// The inverse of Trace::to_json. Also reads the report of an optimisation (OptimizeReport::to_json), which
// holds its trace. Errors: invalid_argument for any other text.
XFLOW_API Result<Trace> parse_trace(std::string_view json);

}  // namespace xflow
