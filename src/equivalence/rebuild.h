// A graph, rebuilt in its arena with other values in place of some of its own.
#pragma once

#include <xflow/error.h>

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::equivalence {

// Maps values of a graph to values of the same arena, operands before users.
class Rebuild {
 public:
  explicit Rebuild(ir::Arena& arena) : arena_(arena) {}
  virtual ~Rebuild() = default;
  Rebuild(const Rebuild&) = delete;
  Rebuild& operator=(const Rebuild&) = delete;

  // `to` stands for `from`. Sizes of the type of `from` that are single symbols stand for those of `to`, in
  // everything that is rebuilt later. The first size that stands for a symbol is kept.
  void equate(ir::ValueId from, ir::ValueId to);
  // Rebuilds what is not mapped yet. Errors: ill_typed for an operation that refuses the types of its mapped
  // operands; those of the virtual functions.
  Result<ir::Graph> run(const ir::Graph& graph);
  // The value that stands for `value`; itself if it was not rebuilt.
  ir::ValueId at(ir::ValueId value) const;
  // `names`, by the values that stand for the named ones. The first name is kept.
  template <typename Name>
  std::unordered_map<ir::ValueId, Name> renamed(const std::unordered_map<ir::ValueId, Name>& names) const {
    std::unordered_map<ir::ValueId, Name> result;
    for (const auto& [value, name] : names) {
      const auto [at_value, added] = result.emplace(at(value), name);
      if (!added && name < at_value->second) at_value->second = name;  // the order of `names` is unspecified
    }
    return result;
  }

 protected:
  ir::Arena& arena() { return arena_; }
  // The value of a constant or constant expression that an operation or the graph reads. Default: itself.
  virtual Result<ir::ValueId> constant(ir::ValueId value) { return value; }
  // The node that stands for an opaque node with these operands.
  virtual Result<ir::NodeId> opaque(ir::NodeId node, std::vector<ir::ValueId> operands);
  // Called for every operation after it was rebuilt as `now`; may equate its outputs with other values.
  virtual Result<void> rebuilt(ir::NodeId /*node*/, ir::NodeId /*now*/) { return {}; }

  ir::TensorType with_sizes(const ir::TensorType& type);
  // `size` stands for a symbol from now on, unless another size does already.
  void set_size(ir::SymbolId symbol, const ir::Poly& size);

 private:
  Result<ir::ValueId> operand(ir::ValueId value);
  Result<void> visit(ir::NodeId id);
  ir::Attributes with_sizes(const ir::Attributes& attributes);

  ir::Arena& arena_;
  ir::ValueMap map_;
  ir::Symbols::Substitution sizes_;
  std::unordered_set<ir::SymbolId> kept_sizes_;  // symbols that stand for themselves
};

}  // namespace xflow::equivalence
