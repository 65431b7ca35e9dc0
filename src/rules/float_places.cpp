// Which elements of its variables a rule reads.
#include "src/rules/float_places.h"

#include <algorithm>

namespace xflow::rules {
namespace {

// True for a variable of which all elements are equal: it has one, or a guard fixes its value.
bool is_uniform(const Rule& rule, const std::string& variable) {
  const bool guarded = std::ranges::any_of(rule.guards, [&](const Guard& g) {
    return g.value == variable && (g.kind == Guard::Kind::is_scalar || g.kind == Guard::Kind::equals_value);
  });
  const Declaration* declared = rule.declaration(variable);
  return guarded || (declared != nullptr && !declared->list && std::ranges::all_of(declared->dims, [](const Expression& e) {
                       return e.kind == Expression::Kind::number && e.number.to_double() == 1;
                     }));
}

// The reads below `roots`, by variable.
using Reads = std::map<std::string, std::vector<Read>>;
Reads reads_below(const Elements& elements, const std::vector<Read>& all, std::span<const ElementId> roots) {
  Reads result;
  for (const ElementId id : elements.below(roots, true)) {
    const Element& e = elements[id];
    if (e.kind == Element::Kind::variable && e.place > 0) result[e.name].push_back(all[static_cast<std::size_t>(e.place) - 1]);
  }
  return result;
}

std::size_t most_sums(const std::vector<Read>& reads) {
  std::size_t most = 0;
  for (const Read& r : reads) most = std::max(most, r.sums);
  return most;
}

}  // namespace

PlaceChoices::PlaceChoices(const Rule& rule, std::size_t output) {
  std::vector<Read> all;
  const Elements elements(rule, [&](const Read& read) {
    const auto same = [&](const Read& r) { return r.variable == read.variable && r.path == read.path; };
    const auto found = std::ranges::find_if(all, same);
    const auto place = static_cast<int>(found - all.begin()) + 1;
    if (found == all.end()) all.push_back(read);
    return place;
  });
  const ElementSet& source = elements.source()[output];
  const ElementSet& target = elements.target()[output];
  std::set<std::string> several;
  for (const ElementSet* set : {&source, &target}) {
    if (!*set) continue;
    for (const ElementId id : **set) {
      const ElementId roots[] = {id};
      for (const auto& [variable, reads] : reads_below(elements, all, roots))
        if (reads.size() > 1) several.insert(variable);
    }
  }
  const Reads of_source = source ? reads_below(elements, all, *source) : Reads();
  const Reads of_target = target ? reads_below(elements, all, *target) : Reads();
  for (const auto& [variable, reads] : of_target) {
    const auto own = of_source.find(variable);
    const std::vector<Read> none;
    const std::vector<Read>& of_own = own == of_source.end() ? none : own->second;
    if (!is_uniform(rule, variable) && (several.contains(variable) || most_sums(reads) > most_sums(of_own))) add(variable, of_own, reads);
  }
}

void PlaceChoices::add(const std::string& variable, const std::vector<Read>& source, const std::vector<Read>& target) {
  distinguishes_ = true;
  int next = 0;
  for (const Read& read : source) fixed_[{variable, read.path}] = ++next;
  for (const Read& read : target) {
    if (fixed_.contains({variable, read.path})) continue;
    // An element of a sum is not one that the source reads alone.
    std::vector<int> places;
    for (const Read& own : source)
      if (own.sums >= read.sums) places.push_back(fixed_.at({variable, own.path}));
    places.push_back(++next);
    open_.emplace_back(Key{variable, read.path}, std::move(places));
  }
}

std::size_t PlaceChoices::count() const {
  std::size_t count = distinguishes_ ? 1 : 0;
  for (const auto& [key, places] : open_) count = std::min<std::size_t>(count * places.size(), 100000);
  return count;
}

Places PlaceChoices::places(std::size_t n) const {
  std::map<Key, int> chosen = fixed_;
  for (const auto& [key, places] : open_) {
    chosen[key] = places[n % places.size()];
    n /= places.size();
  }
  return [chosen = std::move(chosen)](const Read& read) {
    const auto found = chosen.find({read.variable, read.path});
    return found == chosen.end() ? 0 : found->second;
  };
}

}  // namespace xflow::rules
