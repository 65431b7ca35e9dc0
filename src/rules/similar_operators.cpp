#include "src/rules/similar_operators.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "src/ops/operator.h"

namespace xflow::rules {
namespace {

// The edit distance from `a` to `b`: letters inserted, deleted, replaced or swapped with their neighbour.
std::size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string similar_operators(std::string_view name) {
  constexpr std::size_t kLongest = 40;
  std::string result;
  if (name.size() < 3 || name.size() > kLongest) return result;
  for (const ops::Operator& op : ops::all_operators()) {
    const std::string_view known = op.signature.name;
    const bool similar = known.find(name) != std::string_view::npos || letters_between(name, known) <= (name.size() < 5 ? 1U : 2U);
    if (similar) result.append(result.empty() ? "; similar: " : ", ").append(known);
  }
  return result;
}

}  // namespace xflow::rules
