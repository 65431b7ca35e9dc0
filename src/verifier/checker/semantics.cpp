#include "src/verifier/checker/semantics.h"

#include <set>
#include <string_view>
#include <unordered_map>

#include "src/ops/operator.h"
#include "src/verifier/faults.h"

namespace xflow::verifier {

namespace {

using ir::Poly;
using ir::SymbolId;
using ir::SymbolKind;

// Raised whenever the meaning of a certificate or of a normal form changes, which makes older records stale.
// A record that depends on a form that the normaliser no longer produces is detected by replaying it.
constexpr std::string_view kVersions = "xflow checker 4, normal form 8";

// FNV-1a (Fowler, Noll, Vo), 64 bits.
constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

constexpr std::uint64_t kExpression = hash_text("expression");
constexpr std::uint64_t kSum = hash_text("sum");
constexpr std::uint64_t kBound = hash_text("bound");
constexpr std::uint64_t kSymbol = hash_text("symbol");

// The finaliser of SplitMix64 over a and b.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9E3779B97F4A7C15ULL + b + 0x632BE59BD9B4E019ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

// Hashes indices and binders by the order in which they are bound. Hashes of polynomials do not depend on
// the order of symbols.
class Hasher {
 public:
  Hasher(const ir::Symbols& symbols, const std::vector<Poly>& index) : symbols_(symbols) {
    for (const Poly& p : index)
      if (const auto s = p.as_symbol()) bind(*s);
  }

  std::uint64_t expression(const ops::Expr& e) {
    std::uint64_t hash = mix(kExpression, static_cast<std::uint64_t>(e->kind));
    switch (e->kind) {
      case ops::ExprKind::literal:
        return mix(hash, hash_text(e->literal.to_string()));
      case ops::ExprKind::integer:
        return mix(hash, poly(e->integer));
      case ops::ExprKind::read:
        hash = mix(hash, static_cast<std::uint64_t>(e->operand));
        for (const Poly& p : e->indices) hash = broken(Fault::semantics_without_indices) ? hash : mix(hash, poly(p));
        for (const ops::WrappedIndex& w : e->wrapped) {
          if (broken(Fault::semantics_without_wrapped_indices)) break;
          hash = mix(mix(hash, static_cast<std::uint64_t>(w.operand)), poly(w.size));
          for (const Poly& p : w.at) hash = mix(hash, poly(p));
        }
        return hash;
      case ops::ExprKind::sum:
      case ops::ExprKind::maximum:
        hash = mix(hash, poly(e->extent));
        bind(e->binder);
        break;
      case ops::ExprKind::select:
        for (const ops::Atom& a : e->condition) hash = mix(mix(hash, poly(a.poly)), static_cast<std::uint64_t>(a.relation));
        break;
      case ops::ExprKind::apply:
        if (!broken(Fault::semantics_without_functions)) hash = mix(hash, hash_text(ops::name(e->function)));
        break;
      case ops::ExprKind::cast:
        hash = mix(hash, hash_text(ir::name(e->data_type)));
        break;
    }
    for (const ops::Expr& a : e->arguments) hash = mix(hash, expression(a));
    return hash;
  }

 private:
  void bind(SymbolId s) { bound_.emplace(s, bound_.size()); }

  std::uint64_t poly(const Poly& p) {
    std::uint64_t sum = static_cast<std::uint64_t>(p.constant_term());
    for (const ir::PolyTerm& t : p.terms()) {
      std::uint64_t product = 0;
      for (const ir::Power& power : t.monomial) product += mix(symbol(power.symbol), power.power);
      sum += mix(product, static_cast<std::uint64_t>(t.coefficient));
    }
    return mix(kSum, sum);
  }

  std::uint64_t symbol(SymbolId s) {
    if (const auto found = bound_.find(s); found != bound_.end()) return mix(kBound, found->second);
    const ir::SymbolInfo& info = symbols_.info(s);
    std::uint64_t hash = mix(kSymbol, static_cast<std::uint64_t>(info.kind));
    if (info.kind == SymbolKind::maximum) return mix(hash, poly(info.arguments[0]) + poly(info.arguments[1]));
    if (info.kind == SymbolKind::element) hash = mix(hash, info.tensor);
    if (info.arguments.empty()) return mix(hash, hash_text(info.name));
    for (const Poly& p : info.arguments) hash = mix(hash, poly(p));
    return hash;
  }

  const ir::Symbols& symbols_;
  std::unordered_map<SymbolId, std::uint64_t> bound_;
};

}  // namespace

std::uint64_t semantics_hash(std::span<rules::RuleInstance> instances, const SemanticsOf& semantics_of) {
  std::set<std::uint64_t> operators;
  for (rules::RuleInstance& instance : instances) {
    for (const ir::Graph* graph : {&instance.source, &instance.target}) {
      for (const ir::NodeId id : ir::topological_order(*instance.arena, *graph)) {
        const ir::Node& node = instance.arena->node(id);
        if (node.kind != ir::NodeKind::operation) continue;
        const std::uint64_t name = hash_text(ops::get(node.op).signature.name);
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
          std::vector<Poly> index;
          const ops::Expr e = semantics_of(*instance.arena, id, static_cast<int>(k), index);
          operators.insert(mix(name, Hasher(instance.arena->symbols(), index).expression(e)));
        }
      }
    }
  }
  std::uint64_t hash = hash_text(kVersions);
  for (const std::uint64_t h : operators) hash = mix(hash, h);
  return hash;
}

std::uint64_t semantics_hash(std::span<rules::RuleInstance> instances) { return semantics_hash(instances, &ops::semantics_of); }

}  // namespace xflow::verifier
