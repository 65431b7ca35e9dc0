#include "src/devices/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "src/devices/profile/features.h"
#include "src/ops/kernel_text.h"
#include "src/ops/op.h"

namespace xflow::cost::profile {
namespace {

constexpr int kVersion = 1;
constexpr std::string_view kFirstLine = "xflow profile ";
constexpr std::array kMarks{Mark::at_floor, Mark::contradicted};
constexpr std::array<std::pair<ops::Op, std::string_view>, 2> kViews{{{ops::Op::Slice, "slice"}, {ops::Op::Split, "split"}}};

// Reads a line word by word. A word ends at a space.
class Line {
 public:
  Line(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  std::string_view rest() const { return text_; }
  std::string_view word() {
    const std::size_t end = text_.find(' ');
    const std::string_view word = text_.substr(0, end);
    text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
    return word;
  }

  Unexpected wrong(const std::string& message) const { return fail(ErrorCode::syntax, message, where_); }

  template <typename T>
  Result<T> number(std::string_view what, T least) {
    const std::string_view text = word();
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (!whole || !(value >= least) || !std::isfinite(static_cast<double>(value)))
      return wrong(fmt::format("expected {}, found '{}'", what, text));
    return value;
  }
  Result<Nanoseconds> time(std::string_view what) {
    XFLOW_TRY(const double nanoseconds, number<double>(what, 0));
    return Nanoseconds(nanoseconds);
  }

  Result<Layout> layout(std::string_view what) {
    const std::string_view text = word();
    if (const auto layout = layout_from_name(text)) return *layout;
    return wrong(fmt::format("expected {} (plain, channels_last, ...), found '{}'", what, text));
  }

  Result<void> end() const {
    if (text_.empty()) return {};
    return wrong(fmt::format("expected the end of the line, found '{}'", text_));
  }

 private:
  std::string_view text_;
  std::string where_;
};

// Replaces line breaks, so that the written text can be read again.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Result<Profile> read(std::string_view text) {
    std::size_t number = 0;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++number;
      if (number == 1) {
        XFLOW_CHECK(version(Line(line, place(number))));
      } else if (!line.empty() && line[0] != '#') {
        XFLOW_CHECK(entry(Line(line, place(number))));
      }
    }
    if (number == 0) return fail(ErrorCode::syntax, "expected 'xflow profile 1', found nothing", place(1));
    for (const std::string_view name : {"device", "model", "library", "threads"})
      if (!seen_.contains(name)) return fail(ErrorCode::syntax, fmt::format("the profile has no line '{}'", name), file_);
    const Roofline& roofline = profile_.roofline;
    const bool partly = !roofline.peak.empty() || roofline.launch.count() > 0 || roofline.group_channels > 0 ||
                        roofline.multiprocessors > 0 || roofline.cache > 0;
    if (partly && !roofline.given())
      return fail(ErrorCode::syntax, "the profile has lines 'roofline', but none of them says the bandwidth", file_);
    return std::move(profile_);
  }

 private:
  std::string place(std::size_t line) const { return fmt::format("{}:{}", file_, line); }

  static Result<void> version(const Line& line) {
    const std::string_view text = line.rest();
    if (!text.starts_with(kFirstLine))
      return line.wrong(fmt::format("expected '{}{}', found '{}'", kFirstLine, kVersion, text.substr(0, 40)));
    Line rest(text.substr(kFirstLine.size()), {});
    const auto version = rest.number<int>("", 1);
    if (!version || !rest.end()) return line.wrong(fmt::format("expected '{}{}', found '{}'", kFirstLine, kVersion, text.substr(0, 40)));
    if (*version > kVersion)
      return line.wrong(fmt::format("the profile has version {}, this xflow supports up to {}: use a newer xflow", *version, kVersion));
    return {};
  }

  Result<void> entry(Line line) {
    const std::string_view kind = line.word();
    if (kind == "kernel") return measured(line, std::nullopt);
    for (const Mark mark : kMarks)
      if (kind == mark_name(mark)) return measured(line, mark);
    if (kind == "refused") return refused(line);
    if (kind == "roofline") return roofline(line);
    if (kind == "views") return views(line);
    const std::array<std::pair<std::string_view, std::string*>, 6> texts{{{"device", &profile_.device.name},
                                                                          {"model", &profile_.device.model},
                                                                          {"library", &profile_.device.library},
                                                                          {"clock", &profile_.device.clock},
                                                                          {"source", &profile_.source},
                                                                          {"licence", &profile_.licence}}};
    for (const auto& [name, text] : texts) {
      if (kind != name) continue;
      XFLOW_CHECK(once(line, name));
      if (line.rest().empty()) return line.wrong(fmt::format("expected a text after '{}'", name));
      *text = one_line(std::string(line.rest()));
      return {};
    }
    if (kind == "threads") {
      XFLOW_CHECK(once(line, "threads"));
      XFLOW_TRY(profile_.device.threads, line.number<int>("a number of threads", 1));
      return line.end();
    }
    return line.wrong(fmt::format(
        "expected device, model, library, threads, clock, source, licence, roofline, views, kernel, at_floor, contradicted, refused or # "
        "(a comment), found '{}'",
        kind));
  }

  Result<void> once(const Line& line, std::string_view name) {
    if (seen_.emplace(name).second) return {};
    return line.wrong(fmt::format("a second '{}'", name));
  }

  // roofline launch NANOSECONDS | roofline bandwidth BYTES | roofline peak TYPE OPERATIONS
  // | roofline group_channels CHANNELS | roofline multiprocessors NUMBER | roofline cache BYTES
  Result<void> roofline(Line line) {
    const std::string_view what = line.word();
    if (what == "launch") {
      XFLOW_CHECK(once(line, "roofline launch"));
      XFLOW_TRY(profile_.roofline.launch, line.time("nanoseconds"));
    } else if (what == "bandwidth") {
      XFLOW_CHECK(once(line, "roofline bandwidth"));
      XFLOW_TRY(profile_.roofline.bandwidth, line.number<double>("bytes a second, more than 0", 1e-300));
    } else if (what == "peak") {
      const std::string_view name = line.word();
      const auto type = ir::data_type_from_name(name);
      if (!type) return line.wrong(fmt::format("expected a data type, found '{}'", name));
      XFLOW_TRY(const double peak, line.number<double>("operations a second, more than 0", 1e-300));
      if (!profile_.roofline.peak.emplace(*type, peak).second) return line.wrong(fmt::format("a second peak of {}", name));
    } else if (what == "group_channels") {
      XFLOW_CHECK(once(line, "roofline group_channels"));
      XFLOW_TRY(profile_.roofline.group_channels, line.number<int>("a number of channels, 1 or more", 1));
    } else if (what == "multiprocessors") {
      XFLOW_CHECK(once(line, "roofline multiprocessors"));
      XFLOW_TRY(profile_.roofline.multiprocessors, line.number<int>("a number of multiprocessors, 1 or more", 1));
    } else if (what == "cache") {
      XFLOW_CHECK(once(line, "roofline cache"));
      XFLOW_TRY(profile_.roofline.cache, line.number<double>("bytes of a cache, 1 or more", 1));
    } else {
      return line.wrong(fmt::format("expected launch, bandwidth, peak, group_channels, multiprocessors or cache, found '{}'", what));
    }
    return line.end();
  }

  // views BYTES OPERATORS
  Result<void> views(Line line) {
    XFLOW_CHECK(once(line, "views"));
    XFLOW_TRY(profile_.views.alignment, line.number<std::size_t>("an alignment in bytes, 1 or more", 1));
    std::set<ops::Op> operators;
    do {
      const std::string_view name = line.word();
      const auto found = std::ranges::find(kViews, name, &std::pair<ops::Op, std::string_view>::second);
      if (found == kViews.end()) return line.wrong(fmt::format("expected slice or split, found '{}'", name));
      if (!operators.insert(found->first).second) return line.wrong(fmt::format("a second {}", name));
    } while (!line.rest().empty());
    profile_.views.operators.assign(operators.begin(), operators.end());
    return {};
  }

  // kernel LAYOUT OPERANDS RESULTS MEDIAN SPREAD REPEATS INTERFERENCE ATTEMPTS TEXT, or with a mark instead
  // of "kernel"
  Result<void> measured(Line line, std::optional<Mark> mark) {
    DatabaseEntry entry;
    XFLOW_TRY(const Layout layout, line.layout("a layout"));
    XFLOW_TRY(entry.cost.operands, line.layout("the layout of operands"));
    XFLOW_TRY(entry.cost.results, line.layout("the layout of results"));
    XFLOW_TRY(entry.cost.median, line.time("a median in nanoseconds"));
    XFLOW_TRY(entry.cost.spread, line.time("a spread in nanoseconds"));
    XFLOW_TRY(entry.cost.repeats, line.number<int>("a number of repeats", 0));
    XFLOW_TRY(entry.cost.interference, line.number<double>("an interference (0.1 for a tenth)", 0));
    XFLOW_TRY(entry.attempts, line.number<int>("a number of attempts", 1));
    return add(line, line.rest(), layout, std::move(entry), mark);
  }

  // refused LAYOUT TEXT <tab> REASON
  Result<void> refused(Line line) {
    XFLOW_TRY(const Layout layout, line.layout("a layout"));
    const std::size_t tab = line.rest().find('\t');
    if (tab == std::string_view::npos || tab + 1 == line.rest().size())
      return line.wrong("expected the kernel, a tab, and the reason why it was refused");
    DatabaseEntry entry;
    entry.ran = xflow::refused(one_line(std::string(line.rest().substr(tab + 1))));
    return add(line, line.rest().substr(0, tab), layout, std::move(entry), std::nullopt);
  }

  Result<void> add(const Line& line, std::string_view text, Layout layout, DatabaseEntry entry, std::optional<Mark> mark) {
    const auto spec = ops::parse_kernel(text);
    if (!spec) return line.wrong(spec.error().message);
    if (!has_plausible_sizes(*spec)) return line.wrong(fmt::format("kernel '{}': expected sizes of tensors that a machine may hold", text));
    // The key is normalised text, whatever number format the tool that wrote the file used.
    const auto [added, is_new] = profile_.kernels.emplace(Profile::Key{ops::to_string(*spec), layout}, std::move(entry));
    if (!is_new) return line.wrong(fmt::format("a second line for this kernel in layout {}", name(layout)));
    if (mark) profile_.marks.emplace(added->first, *mark);
    return {};
  }

  const std::string& file_;
  Profile profile_;
  std::set<std::string, std::less<>> seen_;
};

// "views 64 slice split"
std::string views_text(const ViewSupport& views) { return fmt::format("views {} {}", views.alignment, operators_of(views)); }

// Whether `fresh` replaces `old`, a measurement of the same kernel: as in a database, a provisional one is
// replaced by one with less interference.
bool replaces(const DatabaseEntry& fresh, const DatabaseEntry& old) {
  if (old.ran.accepted != fresh.ran.accepted) return false;
  return is_provisional(old.cost) && fresh.cost.interference < old.cost.interference;
}

// Names what both profiles name.
void join(std::string& into, const std::string& other) {
  if (other.empty() || into == other) return;
  into += into.empty() ? other : "; " + other;
}

}  // namespace

bool Profile::has_mark(const Key& key, Mark mark) const {
  const auto found = marks.find(key);
  return found != marks.end() && found->second == mark;
}

std::size_t Profile::count(Mark mark) const {
  return static_cast<std::size_t>(std::ranges::count(marks, mark, &std::pair<const Key, Mark>::second));
}

std::string operators_of(const ViewSupport& views) {
  std::string text;
  for (const auto& [op, name] : kViews)
    if (std::ranges::find(views.operators, op) != views.operators.end()) text += fmt::format("{}{}", text.empty() ? "" : " ", name);
  return text;
}

Result<Profile> parse_profile(std::string_view text, const std::string& file) { return Reader(file).read(text); }

Result<Profile> read_profile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || file.bad()) return fail(ErrorCode::io, "cannot read the profile", path);
  return parse_profile(text.view(), path);
}

std::string to_text(const Profile& profile) {
  const DeviceInfo& device = profile.device;
  std::string text = fmt::format("{}{}\ndevice {}\nmodel {}\nlibrary {}\nthreads {}\n", kFirstLine, kVersion, one_line(device.name),
                                 one_line(device.model), one_line(device.library), device.threads);
  if (!device.clock.empty()) text += fmt::format("clock {}\n", one_line(device.clock));
  if (!profile.source.empty()) text += fmt::format("source {}\n", one_line(profile.source));
  if (!profile.licence.empty()) text += fmt::format("licence {}\n", one_line(profile.licence));
  if (profile.roofline.given()) {
    text += fmt::format("roofline launch {}\nroofline bandwidth {}\n", profile.roofline.launch.count(), profile.roofline.bandwidth);
    for (const auto& [type, peak] : profile.roofline.peak) text += fmt::format("roofline peak {} {}\n", ir::name(type), peak);
    if (profile.roofline.group_channels > 0) text += fmt::format("roofline group_channels {}\n", profile.roofline.group_channels);
    if (profile.roofline.multiprocessors > 0) text += fmt::format("roofline multiprocessors {}\n", profile.roofline.multiprocessors);
    if (profile.roofline.cache > 0) text += fmt::format("roofline cache {}\n", profile.roofline.cache);
  }
  if (!profile.views.operators.empty()) text += fmt::format("{}\n", views_text(profile.views));
  for (const auto& [key, entry] : profile.kernels) {
    if (!entry.ran) {
      text += fmt::format("refused {} {}\t{}\n", name(key.second), key.first, one_line(entry.ran.reason));
      continue;
    }
    const KernelCost& cost = entry.cost;
    const auto mark = profile.marks.find(key);
    text += fmt::format("{} {} {} {} {} {} {} {} {} {}\n", mark == profile.marks.end() ? "kernel" : mark_name(mark->second),
                        name(key.second), name(cost.operands), name(cost.results), cost.median.count(), cost.spread.count(), cost.repeats,
                        cost.interference, entry.attempts, key.first);
  }
  return text;
}

Result<std::size_t> merge(Profile& into, const Profile& other) {
  const auto differ = [](std::string_view what, const auto& a, const auto& b) {
    return fail(ErrorCode::invalid_argument, fmt::format("the profiles are of different devices: {}'{}' and '{}'", what, a, b));
  };
  if (into.device.name != other.device.name) return differ("device ", into.device.name, other.device.name);
  if (into.device.model != other.device.model) return differ("model ", into.device.model, other.device.model);
  if (into.device.library != other.device.library) return differ("library ", into.device.library, other.device.library);
  if (into.device.threads != other.device.threads) return differ("threads ", into.device.threads, other.device.threads);
  if (into.device.clock != other.device.clock) return differ("clock ", into.device.clock, other.device.clock);
  if (into.roofline.given() && other.roofline.given() && !(into.roofline == other.roofline))
    return fail(ErrorCode::invalid_argument, "the profiles have different rooflines");
  const bool both_have_views = !into.views.operators.empty() && !other.views.operators.empty();
  if (both_have_views && !(into.views == other.views)) return differ("", views_text(into.views), views_text(other.views));
  if (other.roofline.given()) into.roofline = other.roofline;
  if (!other.views.operators.empty()) into.views = other.views;
  join(into.source, other.source);
  join(into.licence, other.licence);
  std::size_t taken = 0;
  for (const auto& [key, entry] : other.kernels) {
    const auto [known, is_new] = into.kernels.try_emplace(key, entry);
    if (!is_new && !replaces(entry, known->second)) continue;
    known->second = entry;
    into.marks.erase(key);
    if (const auto mark = other.marks.find(key); mark != other.marks.end()) into.marks.insert(*mark);
    ++taken;
  }
  return taken;
}

Profile profile_of(const Database& database, const DeviceInfo& device) {
  Profile profile;
  profile.device = device;
  database.for_each([&](const DatabaseKey& key, const DatabaseEntry& entry) {
    const auto spec = ops::parse_kernel(key.kernel);
    // A database may hold any text; an invalid kernel would make the profile unreadable.
    if (!spec || !has_plausible_sizes(*spec) || ops::to_string(*spec) != key.kernel) return;
    profile.kernels.emplace(Profile::Key{key.kernel, key.layout}, entry);
  });
  return profile;
}

void add_to(Database& database, const Profile& profile) {
  for (const auto& [key, entry] : profile.kernels)
    if (!profile.has_mark(key, Mark::contradicted)) database.insert(DatabaseKey{key.first, key.second}, entry);
  database.flush();
}

std::size_t prune(Profile& profile, const PruneOptions& options) {
  const std::size_t dropped = std::erase_if(profile.kernels, [&](const auto& kernel) {
    const DatabaseEntry& entry = kernel.second;
    if (options.with_interference && is_provisional(entry.cost)) return true;
    if (options.refused && !entry.ran) return true;
    return kernel.first.first.find(options.only) == std::string::npos;
  });
  std::erase_if(profile.marks, [&](const auto& mark) { return !profile.kernels.contains(mark.first); });
  return dropped;
}

}  // namespace xflow::cost::profile
