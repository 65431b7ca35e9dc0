// Facts from the source of a proof.
#include <algorithm>

#include "src/verifier/faults.h"
#include "src/verifier/proof/demands.h"
#include "src/verifier/proof/proof_engine.h"
#include "src/verifier/proof/source_facts.h"

namespace xflow::verifier {

bool Proof::source_asks() {
  const auto& outputs = instance_.source.outputs;
  return asks_of_nodes() || std::any_of(outputs.begin(), outputs.end(), [&](ir::ValueId v) { return engine_->composer.has_demands(v); });
}

// True if nodes may divide by integer operands or use them as indices.
bool Proof::asks_of_nodes() const {
  const auto nodes = ir::topological_order(*instance_.arena, instance_.source);
  return std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) {
    const ir::Node& node = instance_.arena->node(id);
    const auto is_integer = [&](ir::ValueId v) {
      return !instance_.arena->is_absent(v) && ir::is_integer(instance_.arena->type(v).data_type);
    };
    return node.kind == ir::NodeKind::operation && std::any_of(node.operands.begin(), node.operands.end(), is_integer);
  });
}

// Numbers the demands and returns the first number. Demands that a record omits are numbered, but are not
// facts.
std::size_t Proof::note_asked(std::optional<std::size_t> output, const std::vector<Piece>& demands) {
  const std::size_t first = asked_.size();
  for (const Piece& d : demands) asked_.push_back({output, d});
  return first;
}

bool Proof::is_allowed(std::size_t number) const {
  return !allowed_ || broken(Fault::source_facts_beyond_records) || std::binary_search(allowed_->begin(), allowed_->end(), number);
}

void Proof::add_facts_of_nodes() {
  if (!asks_of_nodes()) return;
  Engine& e = *engine_;
  const std::vector<Piece> asked =
      simplify_demands(e.normalizer, e.composer.demands_of_nodes(instance_.source, instance_.source, {}), {}, true);
  const std::size_t first = note_asked(std::nullopt, asked);
  signs_of_nodes_ = known_signs(asked, first);
  std::erase_if(signs_of_nodes_, [&](const KnownSign& s) { return !is_allowed(s.number); });
  for (KnownRange& r : known_ranges(instance_.arena->symbols(), asked, first)) {
    if (!is_allowed(r.number)) continue;
    ranges_.push_back(r.number);
    e.solver.assume_elements(r.tensor, std::move(r.range));
  }
}

void Proof::add_facts(ir::ValueId source, OutputProof& proof) {
  Engine& e = *engine_;
  e.algebra.know(nullptr);
  const std::vector<Piece> asked = simplify_demands(e.normalizer, e.composer.demands(source, proof.index), proof.context, true);
  proof.signs = known_signs(asked, note_asked(outputs_.size(), asked));
  std::erase_if(proof.signs, [&](const KnownSign& s) { return !is_allowed(s.number); });
  know_signs(&proof);
  e.composer.set_branches([this, context = proof.context](const Expression& branch, const Expression& guard) {
    engine_->algebra.know(nullptr);
    const Expression simple = engine_->normalizer.simplify(guard, context);
    engine_->algebra.know(&engine_->signs);
    const Algebra::Under under(engine_->algebra, context, booleans_of({simple}));
    return engine_->normalizer.simplify(branch, context);
  });
}

// Sets the facts that hold where an element of an output has a value. nullptr: those that hold where nodes
// run, even if no element has a value.
void Proof::know_signs(const OutputProof* proof) {
  if (!with_facts_) return;
  std::vector<KnownSign> signs = signs_of_nodes_;
  if (proof != nullptr) signs.insert(signs.end(), proof->signs.begin(), proof->signs.end());
  if (broken(Fault::source_facts_of_other_outputs))
    for (const OutputProof& p : outputs_) signs.insert(signs.end(), p.signs.begin(), p.signs.end());
  engine_->signs.set(std::move(signs));
  engine_->algebra.know(&engine_->signs);
}

void Proof::know_signs_of_demand(const OutputProof& proof, std::size_t demand) {
  const bool of_node = demand + proof.demanded_of_nodes >= proof.demanded.size();
  know_signs(of_node && !broken(Fault::source_facts_where_a_node_stops) ? nullptr : &proof);
}

std::vector<Proof::SourceFact> Proof::source_facts() const {
  std::vector<SourceFact> facts;
  facts.reserve(given_.size());
  for (const std::size_t k : given_) facts.push_back(asked_[k]);
  return facts;
}

}  // namespace xflow::verifier
