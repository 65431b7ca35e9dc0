#include "src/optimizer/places.h"

#include <utility>

namespace xflow::api {

void list_steps(const Places& places, const search::Finalist& found, OptimizeReport& report) {
  // Maps values of the final graph back to equal values of the original, by reading the correspondence
  // backwards. How the steps map values of later graphs to the original is not recorded.
  std::map<ir::ValueId, ir::ValueId> original;
  for (const auto& [before, after] : found.correspondence) {
    const auto [known, fresh] = original.try_emplace(after, before);
    if (!fresh && before < known->second) known->second = before;
  }
  report.search.steps.clear();
  for (const search::Step& step : found.steps) {
    RewriteStep line{step.rule, {}, step.gain};
    for (const ir::ValueId value : step.replaced) {
      line.where = places.of(value);
      if (line.where.empty()) {
        if (const auto found = original.find(value); found != original.end()) line.where = places.of(found->second);
      }
      if (!line.where.empty()) break;
    }
    if (line.where.empty()) line.where = "a value that an earlier step made";
    report.search.steps.push_back(std::move(line));
  }
}

}  // namespace xflow::api
