#include "tests/generator/slow_enumerator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "src/generator/enumerate/enumerate.h"

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
  Slow(const GraphSignature& signature, std::size_t max_operators, std::size_t max_outputs)
      : signature_(signature),
        max_operators_(max_operators),
        max_outputs_(max_outputs),
        evaluator_(signature, {.max_operators = max_operators}),
        graphs_(max_operators + 1) {
    for (std::size_t k = 0; k < signature.leaves().size(); ++k) {
      const Leaf& leaf = signature.leaves()[k];
      const bool is_input = leaf.kind == Leaf::Kind::input;
      const std::string term = is_input
                                   ? "<" + std::to_string(leaf.group) + "." + std::to_string(k - signature.group_begins()[leaf.group]) + ">"
                                   : "{" + std::to_string(k) + "}";
      leaves_.push_back({term, leaf.type, !is_input});
      graphs_[0].insert(canonical({term}));
    }
    // All ways to rename inputs within their groups.
    renamings_.push_back({});
    for (std::size_t g = 0; g < signature.group_begins().size(); ++g) {
      std::vector<std::size_t> order(signature.group_size(g));
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
    for (std::size_t c = 0; c < signature_.choices().size(); ++c) {
      for (const Value& a : values) {
        if (signature_.choices()[c].operands == 1) {
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
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Value& v = operands[k];
      if (v.constant && !signature_.reads(id, std::stoul(v.term.substr(1)), operands[operands.size() - 1 - k].type)) return;
      types.push_back(v.type);
    }
    const auto outputs = signature_.type(id, types);
    if (outputs.empty()) return;
    const Choice& choice = signature_.choice(id);
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
      if (outputs.size() == 1 || can_be_target(nodes, outputs))
        if (!repeats_a_value(nodes, outputs)) graphs_[nodes.size()].insert(canonical(outputs));
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

  // Whether some operation is part of all outputs, and some output has the same value whatever some input is that it reads.
  bool can_be_target(const Nodes& nodes, const std::vector<std::string>& outputs) {
    const auto is_part = [](const std::string& part, const std::string& of) { return of.find(part) != std::string::npos; };
    const auto is_shared = [&](const Node& n) {
      return std::all_of(outputs.begin(), outputs.end(), [&](const std::string& o) { return is_part(n.term, o); });
    };
    if (std::none_of(nodes.begin(), nodes.end(), is_shared)) return false;
    return std::any_of(outputs.begin(), outputs.end(), [&](const std::string& o) {
      return std::any_of(leaves_.begin(), leaves_.end(), [&](const Value& leaf) {
        return !leaf.constant && is_part(leaf.term, o) && value(nodes, o, leaf.term) == value(nodes, o, {});
      });
    });
  }

  // Whether all outputs of some operation are there without it, among the leaves and the operations of less depth, and of this depth those
  // of operators that are not after its own. The one output of a graph may be such a value.
  bool repeats_a_value(const Nodes& nodes, const std::vector<std::string>& outputs) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) {
      const bool is_result =
          outputs.size() == 1 && std::any_of(n.outputs.begin(), n.outputs.end(), [&](const Value& v) { return v.term == outputs[0]; });
      return !is_result && std::all_of(n.outputs.begin(), n.outputs.end(), [&](const Value& v) {
        const auto is_same = [&](const Value& other) {
          return other.type == v.type && evaluator_.values(graph(nodes, other.term)) == evaluator_.values(graph(nodes, v.term));
        };
        return std::any_of(leaves_.begin(), leaves_.end(), is_same) || std::any_of(nodes.begin(), nodes.end(), [&](const Node& m) {
                 return m.term != n.term && place(m) <= place(n) && std::any_of(m.outputs.begin(), m.outputs.end(), is_same);
               });
      });
    });
  }

  // The operations of a graph, with one output.
  SmallGraph graph(const Nodes& nodes, const std::string& output) const {
    std::vector<const Node*> order;
    for (const Node& n : nodes) order.push_back(&n);
    std::stable_sort(order.begin(), order.end(), [&](const Node* a, const Node* b) { return place(*a) < place(*b); });
    std::map<std::string, std::uint8_t> at;
    for (const Value& leaf : leaves_) at.emplace(leaf.term, static_cast<std::uint8_t>(at.size()));
    SmallGraph result;
    for (const Node* n : order) {
      SmallGraphNode node{static_cast<ChoiceId>(choice_of(n->term) - signature_.choices().begin()), {}};
      for (const std::string& o : n->operands) node.operands.push_back(at.at(o));
      for (const Value& v : n->outputs) at.emplace(v.term, static_cast<std::uint8_t>(at.size()));
      result.nodes.push_back(std::move(node));
    }
    result.outputs = {at.at(output)};
    return result;
  }

  // Depth and operator.
  std::pair<std::size_t, std::size_t> place(const Node& node) const {
    std::size_t open = 0;
    std::size_t depth = 0;
    for (const char c : node.term) {
      open += c == '(' ? 1 : 0;
      open -= c == ')' ? 1 : 0;
      depth = std::max(depth, open);
    }
    return {depth, static_cast<std::size_t>(choice_of(node.term) - signature_.choices().begin())};
  }

  std::span<const Choice>::iterator choice_of(const std::string& term) const {
    const std::span<const Choice> choices = signature_.choices();
    return std::find_if(choices.begin(), choices.end(), [&](const Choice& c) { return c.name == term.substr(0, term.find('(')); });
  }

  struct Matrix {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<double> numbers;
    double& at(std::size_t row, std::size_t column) { return numbers[row * columns + column]; }
    friend bool operator==(const Matrix&, const Matrix&) = default;
  };

  Matrix empty(TypeId type) const {
    const std::vector<std::int64_t> shape = signature_.shape(type, 0);
    Matrix m{static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]), {}};
    m.numbers.resize(m.rows * m.columns);
    return m;
  }

  // Of a value of a graph of matrices; leaf `changed` has other numbers than it has elsewhere.
  Matrix value(const Nodes& nodes, const std::string& wanted, const std::string& changed) const {
    for (const Value& leaf : leaves_) {
      if (leaf.term != wanted) continue;
      Matrix m = empty(leaf.type);
      std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(wanted)) + (wanted == changed ? 1U : 0U));
      for (double& number : m.numbers) number = std::uniform_real_distribution<double>(-1, 1)(random);
      return m;
    }
    for (const Node& n : nodes) {
      for (std::size_t output = 0; output < n.outputs.size(); ++output) {
        if (n.outputs[output].term != wanted) continue;
        std::vector<Matrix> read;
        for (const std::string& o : n.operands) read.push_back(value(nodes, o, changed));
        return compute(n.term.substr(0, n.term.find('(')), read, output, empty(n.outputs[output].type));
      }
    }
    ADD_FAILURE() << "no value " << wanted;
    return {};
  }

  static Matrix compute(const std::string& name, std::vector<Matrix> read, std::size_t output, Matrix result) {
    Matrix& a = read[0];
    Matrix& b = read.back();
    for (std::size_t row = 0; row < result.rows; ++row) {
      for (std::size_t column = 0; column < result.columns; ++column) {
        double& out = result.at(row, column);
        if (name == "add") {
          out = a.at(row, column) + b.at(row, column);
        } else if (name == "mul") {
          out = a.at(row, column) * b.at(row, column);
        } else if (name == "relu") {
          out = std::max(a.at(row, column), 0.0);
        } else if (name == "transpose") {
          out = a.at(column, row);
        } else if (name == "matmul") {
          for (std::size_t k = 0; k < a.columns; ++k) out += a.at(row, k) * b.at(k, column);
        } else if (name == "concat 0") {
          out = row < a.rows ? a.at(row, column) : b.at(row - a.rows, column);
        } else if (name == "concat 1") {
          out = column < a.columns ? a.at(row, column) : b.at(row, column - a.columns);
        } else if (name == "split 0") {
          out = a.at(output == 0 ? row : row + a.rows - result.rows, column);
        } else if (name == "split 1") {
          out = a.at(row, output == 0 ? column : column + a.columns - result.columns);
        } else {
          ADD_FAILURE() << "not computed slowly: " << name;
        }
      }
    }
    return result;
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
    const auto choice = choice_of(text.substr(at));
    at = open + 1;
    std::vector<std::string> operands;
    while (text[at] != ')') {
      operands.push_back(renamed(text, at, names));
      ++at;  // the comma
    }
    ++at;
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

  const GraphSignature& signature_;
  std::size_t max_operators_;
  std::size_t max_outputs_;
  Evaluator evaluator_;
  std::vector<Value> leaves_;
  std::vector<std::map<std::string, std::string>> renamings_;
  std::set<std::string> seen_;
  std::vector<std::set<std::string>> graphs_;
};

}  // namespace

std::vector<std::size_t> count_slowly(const GraphSignature& signature, std::size_t max_operators, std::size_t max_outputs) {
  return Slow(signature, max_operators, max_outputs).counts();
}

}  // namespace xflow::generator
