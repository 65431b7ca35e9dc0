#include "tests/generator/slow_enumerator.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace xflow::generator {
namespace {

// A value as a term over inputs "<0.1>" (group 0, number 1) and constants "{7}".
struct Value {
  std::string term;
  TypeId type{};
  bool constant = false;
};

struct Node {
  std::string term;
  std::vector<std::string> operands;
  std::vector<Value> outputs;
  bool operator<(const Node& other) const { return term < other.term; }
};

using Nodes = std::set<Node>;

class Slow {
 public:
  Slow(const Universe& universe, std::size_t max_operators, std::size_t max_outputs)
      : universe_(universe), max_operators_(max_operators), max_outputs_(max_outputs), graphs_(max_operators + 1) {
    for (std::size_t k = 0; k < universe.leaves().size(); ++k) {
      const Leaf& leaf = universe.leaves()[k];
      const bool is_input = leaf.kind == Leaf::Kind::input;
      const std::string term = is_input
                                   ? "<" + std::to_string(leaf.group) + "." + std::to_string(k - universe.group_begins()[leaf.group]) + ">"
                                   : "{" + std::to_string(k) + "}";
      leaves_.push_back({term, leaf.type, !is_input});
      graphs_[0].insert(canonical({term}));
    }
    // All ways to rename inputs within their groups.
    renamings_.push_back({});
    for (std::size_t g = 0; g < universe.group_begins().size(); ++g) {
      std::vector<std::size_t> order(universe.group_size(g));
      std::iota(order.begin(), order.end(), 0U);
      std::vector<std::map<std::string, std::string>> next;
      do {
        for (auto renaming : renamings_) {
          for (std::size_t k = 0; k < order.size(); ++k)
            renaming["<" + std::to_string(g) + "." + std::to_string(k) + ">"] =
                "<" + std::to_string(g) + "." + std::to_string(order[k]) + ">";
          next.push_back(std::move(renaming));
        }
      } while (std::next_permutation(order.begin(), order.end()));
      renamings_ = std::move(next);
    }
    graphs_[0].clear();
    for (const Value& v : leaves_) graphs_[0].insert(canonical({v.term}));
    grow({});
  }

  std::vector<std::size_t> counts() const {
    std::vector<std::size_t> result;
    for (const auto& g : graphs_) result.push_back(g.size());
    return result;
  }

 private:
  void grow(const Nodes& nodes) {
    std::string key;
    for (const Node& n : nodes) key += n.term + ";";
    if (!seen_.insert(key).second) return;
    if (!nodes.empty()) choose(nodes, {}, nodes.begin());
    if (nodes.size() == max_operators_) return;
    std::vector<Value> values = leaves_;
    for (const Node& n : nodes) values.insert(values.end(), n.outputs.begin(), n.outputs.end());
    for (std::size_t c = 0; c < universe_.choices().size(); ++c) {
      for (const Value& a : values) {
        if (universe_.choices()[c].operands == 1) {
          add(nodes, static_cast<ChoiceId>(c), {a});
        } else {
          for (const Value& b : values) add(nodes, static_cast<ChoiceId>(c), {a, b});
        }
      }
    }
  }

  void add(Nodes nodes, ChoiceId id, std::vector<Value> operands) {
    if (std::all_of(operands.begin(), operands.end(), [](const Value& v) { return v.constant; })) return;
    std::vector<TypeId> types;
    for (const Value& v : operands) {
      if (v.constant && !universe_.reads(id, std::stoul(v.term.substr(1)))) return;
      types.push_back(v.type);
    }
    const auto outputs = universe_.type(id, types);
    if (outputs.empty()) return;
    const Choice& choice = universe_.choice(id);
    std::vector<std::string> names;
    for (const Value& v : operands) names.push_back(v.term);
    if (choice.commutative) std::sort(names.begin(), names.end());
    Node node;
    node.operands = names;
    node.term = term(choice, names);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      node.outputs.push_back({outputs.size() == 1 ? node.term : node.term + "." + std::to_string(k), outputs[k], false});
    if (nodes.insert(std::move(node)).second) grow(nodes);
  }

  static std::string term(const Choice& choice, const std::vector<std::string>& operands) {
    std::string text = choice.name + "(";
    for (const std::string& o : operands) text += o + ",";
    return text + ")";
  }

  // Outputs: of every operation that nobody reads at least one, and as many more values that nobody reads as one likes.
  void choose(const Nodes& nodes, std::vector<std::string> outputs, Nodes::const_iterator at) {
    if (outputs.size() > max_outputs_) return;
    if (at == nodes.end()) {
      graphs_[nodes.size()].insert(canonical(outputs));
      return;
    }
    const Node& node = *at++;
    std::vector<std::string> unread;
    for (const Value& v : node.outputs) {
      const bool read = std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) {
        return std::find(n.operands.begin(), n.operands.end(), v.term) != n.operands.end();
      });
      if (!read) unread.push_back(v.term);
    }
    for (std::size_t set = 0; set < std::size_t{1} << unread.size(); ++set) {
      if (set == 0 && unread.size() == node.outputs.size()) continue;
      std::vector<std::string> next = outputs;
      for (std::size_t k = 0; k < unread.size(); ++k)
        if ((set >> k & 1) != 0) next.push_back(unread[k]);
      choose(nodes, std::move(next), at);
    }
  }

  // A term with other names, commutative operands sorted again.
  std::string renamed(const std::string& text, std::size_t& at, const std::map<std::string, std::string>& names) const {
    std::string result;
    if (text[at] == '<' || text[at] == '{') {
      const std::size_t end = text.find(text[at] == '<' ? '>' : '}', at) + 1;
      const std::string leaf = text.substr(at, end - at);
      at = end;
      const auto found = names.find(leaf);
      return found == names.end() ? leaf : found->second;
    }
    const std::size_t open = text.find('(', at);
    const std::string name = text.substr(at, open - at);
    at = open + 1;
    std::vector<std::string> operands;
    while (text[at] != ')') {
      operands.push_back(renamed(text, at, names));
      ++at;  // the comma
    }
    ++at;
    const auto choice =
        std::find_if(universe_.choices().begin(), universe_.choices().end(), [&](const Choice& c) { return c.name == name; });
    if (choice->commutative) std::sort(operands.begin(), operands.end());
    result = term(*choice, operands);
    if (at < text.size() && text[at] == '.') {
      result += text.substr(at, 2);
      at += 2;
    }
    return result;
  }

  std::string canonical(const std::vector<std::string>& outputs) const {
    std::string best;
    for (const auto& names : renamings_) {
      std::vector<std::string> terms;
      for (const std::string& o : outputs) {
        std::size_t at = 0;
        terms.push_back(renamed(o, at, names));
      }
      std::sort(terms.begin(), terms.end());
      std::string text;
      for (const std::string& t : terms) text += t + ";";
      if (best.empty() || text < best) best = text;
    }
    return best;
  }

  const Universe& universe_;
  std::size_t max_operators_;
  std::size_t max_outputs_;
  std::vector<Value> leaves_;
  std::vector<std::map<std::string, std::string>> renamings_;
  std::set<std::string> seen_;
  std::vector<std::set<std::string>> graphs_;
};

}  // namespace

std::vector<std::size_t> count_slowly(const Universe& universe, std::size_t max_operators, std::size_t max_outputs) {
  return Slow(universe, max_operators, max_outputs).counts();
}

}  // namespace xflow::generator
