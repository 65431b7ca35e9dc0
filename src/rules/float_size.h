// Bounds of rounding errors, as sets of products.
//
// To first order the error of a result is at most some units in the last place of a sum of products of sizes: of |x| |s| + |b| |s| for
// (x + b) * s. A side whose products are among those of the other side has, up to a factor, no larger an error. Variance as
// mean(x x) - mean(x) mean(x) has the product |x| |x|, and as mean((x - m) (x - m)) only |x - m| |x|, which can be much smaller.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "src/rules/float_elements.h"

namespace xflow::rules {

// A product of sizes of elements, sorted; -1 - id is the inverse of the size of element id. The empty product is 1.
using SizeProduct = std::vector<int>;
using SizeProducts = std::set<SizeProduct>;

class Sizes {
 public:
  explicit Sizes(const Elements& elements) : elements_(elements) {}

  // True if the error bound of `target` is within that of `source`, where both are equal for real numbers. False also where the products
  // are too many to tell.
  bool within(const std::vector<ElementId>& target, const std::vector<ElementId>& source);

 private:
  struct Size {
    SizeProducts size;      // of the result, with sums that can cancel as elements of their own
    SizeProducts expanded;  // the same with each sum as the sum of the sizes of its terms
    SizeProducts error;
  };
  const Size& of(ElementId id);
  Size computed(ElementId id, const Element& e);
  SizeProducts times(const SizeProducts& a, const SizeProducts& b);
  const SizeProducts& inverse(ElementId id);
  SizeProducts joined(const Element& e, SizeProducts Size::*part);
  // Only sums and products of variables and of numbers that are not negative.
  bool is_positive_sum(const std::vector<ElementId>& roots) const;
  // Some product has two factors that can cancel.
  bool multiplies_sums(const std::vector<ElementId>& roots);
  bool covered(const SizeProduct& product, const SizeProducts& by, int depth);

  const Elements& elements_;
  std::map<ElementId, Size> sizes_;
  std::map<ElementId, SizeProducts> inverses_;
  int expansions_ = 0;
  bool too_many_ = false;
};

}  // namespace xflow::rules
