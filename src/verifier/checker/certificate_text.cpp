#include "src/verifier/checker/certificate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "src/verifier/faults.h"

namespace xflow::verifier {

using ir::Symbols;

namespace {

constexpr int kCertificateDepth = 64;  // nesting of certificates

// The free symbols of the normal forms, including defined symbols, in order of first occurrence.
std::vector<SymbolId> free_symbols(const Symbols& symbols, const Proof::OutputProof& proof) {
  std::vector<SymbolId> binders;
  std::vector<Poly> polys;
  polys.reserve(proof.free.size());
  for (const SymbolId s : proof.free) polys.emplace_back(s);
  for (const Atom& a : proof.context) polys.push_back(a.poly);
  for (const NormalTerm& t : proof.terms) {
    collect_binders(t, binders);
    collect_polys(t, polys);
  }
  Factor demands;
  demands.pieces = proof.demanded;
  demands.pieces.insert(demands.pieces.end(), proof.given.begin(), proof.given.end());
  collect_binders(demands, binders);
  collect_polys(demands, polys);
  const std::unordered_set<SymbolId> bound(binders.begin(), binders.end());
  std::unordered_set<SymbolId> known;
  std::vector<SymbolId> result;
  for (const Poly& p : polys)
    for (const SymbolId s : symbols.all_symbols(p))
      if (!bound.contains(s) && known.insert(s).second) result.push_back(s);
  return result;
}

struct Unnamed {};

class Writer {
 public:
  Writer(const Symbols& symbols, const Proof::OutputProof& proof) {
    for (const SymbolId s : free_symbols(symbols, proof)) names_.emplace(s, fmt::format("s{}", names_.size()));
  }

  std::string certificate(const Certificate& c) {
    std::string text;
    for (const Cluster& k : c.clusters) text += cluster(k);
    if (!c.arithmetic.terms.empty()) text += arithmetic(c.arithmetic);
    if (c.demands.empty()) return text;
    text += "d(";
    for (const DemandProof& d : c.demands) text += fmt::format("{}", fmt::join(d.guards, ",")) + cover(d.cover);
    return text + ")";
  }

 private:
  // Names the symbols of a space. The numbering continues that of the enclosing spaces.
  class Space {
   public:
    Space(Writer& writer, const std::vector<SymbolId>& space) : writer_(writer), space_(space) {
      for (const SymbolId z : space) writer_.names_.emplace(z, fmt::format("z{}", writer_.depth_++));
    }
    ~Space() {
      for (const SymbolId z : space_) writer_.names_.erase(z);
      writer_.depth_ -= space_.size();
    }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;

   private:
    Writer& writer_;
    const std::vector<SymbolId>& space_;
  };

  std::string arithmetic(const Arithmetic& a) {
    std::string text = fmt::format("v({}:", fmt::join(a.terms, ","));
    for (std::size_t k = 0; k < a.components.size(); ++k) {
      text += fmt::format("{}{}", k == 0 ? "" : " ", a.components[k].number);
      if (!a.components[k].equal.clusters.empty()) text += "{" + certificate(a.components[k].equal) + "}";
    }
    return text + ")";
  }

  static std::string opening(const std::vector<SymbolId>& space) {
    return space.empty() ? std::string("(") : fmt::format("({}:", space.size());
  }

  std::string maps(const std::vector<Poly>& maps, const std::vector<SymbolId>& space) {
    bool identity = maps.size() == space.size();
    for (std::size_t k = 0; identity && k < maps.size(); ++k) identity = maps[k] == Poly(space[k]);
    if (identity || broken(Fault::text_maps_are_not_written)) return {};
    std::string text;
    for (const Poly& p : maps) text += (text.empty() ? "[" : ",") + poly(p);
    return text.empty() ? "[]" : text + "]";
  }

  std::string cluster(const Cluster& c) {
    const Space space(*this, c.space);
    std::string text = opening(c.space);
    for (const Member& m : c.members) {
      text += fmt::format("{}{}{}", &m == &c.members.front() ? "" : " ", m.term, maps(m.maps, c.space));
      bool identity = true;
      for (std::size_t k = 0; k < m.pairing.size(); ++k) identity = identity && m.pairing[k] == k;
      if (!identity && !broken(Fault::text_pairings_are_not_written)) text += fmt::format("<{}>", fmt::join(m.pairing, ","));
      std::string proofs;
      for (const FactorProof& f : m.factors) proofs += factor(f);
      if (proofs.find_first_not_of('.') != std::string::npos) text += "{" + proofs + "}";
    }
    return text + ")";
  }

  std::string factor(const FactorProof& f) {
    if (!f.arguments.empty()) {
      std::string text;
      for (const Certificate& c : f.arguments) text += (text.empty() ? "f(" : "|") + certificate(c);
      return text + ")";
    }
    if (f.forward.empty() && f.backward.empty()) return ".";
    std::string text = "m(";
    for (const Cover& c : f.forward) text += cover(c);
    text += '/';
    for (const Cover& c : f.backward) text += cover(c);
    return text + ")";
  }

  std::string cover(const Cover& c) {
    const Space space(*this, c.space);
    std::string text = opening(c.space);
    for (const Cover::By& by : c.by) {
      text += fmt::format("{}{}{}{{{}}}", &by == &c.by.front() ? "" : " ", by.piece, maps(by.maps, c.space), certificate(by.body));
    }
    return text + ")";
  }

  std::string poly(const Poly& p) {
    if (p.is_poisoned()) throw Unnamed{};
    std::string text;
    for (const ir::PolyTerm& t : p.terms()) {
      std::string factors;
      for (const ir::Power& power : t.monomial) {
        const auto name = names_.find(power.symbol);
        if (name == names_.end()) throw Unnamed{};
        factors += (factors.empty() ? "" : "*") + name->second;
        if (power.power != 1) factors += fmt::format("^{}", power.power);
      }
      if (t.coefficient == 1) {
        text += (text.empty() ? "" : "+") + factors;
      } else if (t.coefficient == -1) {
        text += (broken(Fault::text_signs_are_not_written) ? "+" : "-") + factors;
      } else {
        text += fmt::format("{}{}*{}", t.coefficient > 0 && !text.empty() ? "+" : "", t.coefficient, factors);
      }
    }
    const std::int64_t c = p.constant_term();
    if (c != 0 || text.empty()) text += fmt::format("{}{}", c >= 0 && !text.empty() ? "+" : "", c);
    return text;
  }

  std::unordered_map<SymbolId, std::string> names_;
  std::size_t depth_ = 0;
};

struct Malformed {
  std::size_t at;
  std::string expected;
};

class Reader {
 public:
  Reader(std::string_view text, Symbols& symbols, const Proof::OutputProof& proof) : text_(text), symbols_(symbols), proof_(proof) {}

  Certificate whole() {
    Certificate c = certificate();
    if (at_ != text_.size() && !broken(Fault::text_goes_on)) throw Malformed{at_, "the end"};
    return c;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw Malformed{at_, fmt::format("'{}'", c)};
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  template <typename T>
  T number() {
    T value{};
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || !is_digit(peek())) throw Malformed{at_, "a number"};
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  Certificate certificate() {
    if (++depth_ > kCertificateDepth) throw Malformed{at_, "certificates less deep in each other"};
    Certificate c;
    while (accept('(')) c.clusters.push_back(cluster());
    if (accept('v')) {
      expect('(');
      do c.arithmetic.terms.push_back(number<std::size_t>());
      while (accept(','));
      expect(':');
      while (!accept(')')) {
        if (!c.arithmetic.components.empty()) expect(' ');
        Component component{number<std::size_t>(), {}};
        if (accept('{')) {
          component.equal = certificate();
          if (broken(Fault::text_components_lose_certificates)) component.equal = {};
          expect('}');
        }
        c.arithmetic.components.push_back(std::move(component));
      }
    }
    if (accept('d')) {
      expect('(');
      while (!accept(')')) {
        DemandProof d;
        if (is_digit(peek())) {
          do d.guards.push_back(number<std::size_t>());
          while (accept(','));
        }
        expect('(');
        d.cover = cover();
        c.demands.push_back(std::move(d));
      }
    }
    --depth_;
    return c;
  }

  // Reads "2:" after "(", the size of a space. Its new symbols are in scope until close().
  std::vector<SymbolId> open() {
    std::vector<SymbolId> space;
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    if (end == at_ || end >= text_.size() || text_[end] != ':') return space;
    const auto size = number<std::size_t>();
    expect(':');
    if (size > 64) throw Malformed{at_, "a space of at most 64 symbols"};
    for (std::size_t k = 0; k < size; ++k) space.push_back(symbols_.fresh(ir::SymbolKind::parameter, "z"));
    scope_.insert(scope_.end(), space.begin(), space.end());
    return space;
  }
  void close(const std::vector<SymbolId>& space) {
    if (!broken(Fault::text_spaces_stay_open)) scope_.resize(scope_.size() - space.size());
  }

  std::vector<Poly> maps(const std::vector<SymbolId>& space) {
    if (!accept('[')) return {space.begin(), space.end()};
    std::vector<Poly> result;
    if (accept(']')) return result;
    do result.push_back(poly());
    while (accept(','));
    expect(']');
    return result;
  }

  Cluster cluster() {
    Cluster c;
    c.space = open();
    while (!accept(')')) {
      if (!c.members.empty()) expect(' ');
      Member m;
      m.term = number<std::size_t>();
      m.maps = maps(c.space);
      if (accept('<')) {
        do m.pairing.push_back(number<std::size_t>());
        while (accept(','));
        expect('>');
      }
      if (accept('{')) {
        while (!accept('}')) m.factors.push_back(factor());
      }
      c.members.push_back(std::move(m));
    }
    close(c.space);
    return c;
  }

  FactorProof factor() {
    FactorProof f;
    if (accept('.')) return f;
    if (accept('f')) {
      expect('(');
      do f.arguments.push_back(certificate());
      while (accept('|'));
      expect(')');
      return f;
    }
    expect('m');
    expect('(');
    while (accept('(')) f.forward.push_back(cover());
    expect('/');
    while (accept('(')) f.backward.push_back(cover());
    expect(')');
    return f;
  }

  Cover cover() {
    Cover c;
    c.space = open();
    while (!accept(')')) {
      if (!c.by.empty()) expect(' ');
      Cover::By by;
      by.piece = number<std::size_t>();
      by.maps = maps(c.space);
      expect('{');
      by.body = certificate();
      expect('}');
      c.by.push_back(std::move(by));
    }
    close(c.space);
    return c;
  }

  Poly poly() {
    Poly sum;
    bool negative = accept('-');
    do {
      Poly product(1);
      do {
        if (is_digit(peek())) {
          product *= Poly(number<std::int64_t>());
          continue;
        }
        const Poly s(symbol());
        const auto power = accept('^') ? number<std::uint32_t>() : 1U;
        if (power == 0 || power > 64) throw Malformed{at_, "a power from 1 to 64"};
        for (std::uint32_t k = 0; k < power; ++k) product *= s;
      } while (accept('*'));
      if (negative) {
        sum -= product;
      } else {
        sum += product;
      }
      negative = peek() == '-';
    } while (accept('+') || accept('-'));
    return sum;
  }

  SymbolId symbol() {
    const std::size_t start = at_;
    if (peek() != 'z' && !free_) free_ = free_symbols(symbols_, proof_);
    const std::vector<SymbolId>& list = peek() == 'z' ? scope_ : *free_;
    if (!accept('z')) expect('s');
    const auto n = number<std::size_t>();
    if (n >= list.size()) throw Malformed{start, "a symbol of the normal forms or of a space"};
    return list[n];
  }

  std::string_view text_;
  Symbols& symbols_;
  const Proof::OutputProof& proof_;
  std::optional<std::vector<SymbolId>> free_;  // computed when a map first names one: few maps mention free symbols
  std::vector<SymbolId> scope_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::string> write_certificate(const Symbols& symbols, const Proof::OutputProof& proof) {
  if (!proof.certificate) return fail(ErrorCode::invalid_argument, "the output is not proved");
  try {
    return Writer(symbols, proof).certificate(*proof.certificate);
  } catch (const Unnamed&) {
    return fail(ErrorCode::unsupported, "the certificate speaks of a symbol that the normal forms do not mention");
  }
}

Result<Certificate> read_certificate(std::string_view text, Symbols& symbols, const Proof::OutputProof& proof) {
  try {
    return Reader(text, symbols, proof).whole();
  } catch (const Malformed& m) {
    return fail(ErrorCode::syntax, fmt::format("column {}: expected {}", m.at + 1, m.expected));
  }
}

}  // namespace xflow::verifier
