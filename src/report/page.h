// The parts of a report that is a page.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xflow::report {

// `text` for the inside of an element: characters of HTML as entities, control characters as C escapes.
std::string escaped(std::string_view text);

// A page of HTML that loads nothing: its style is inside, and its policy forbids requests and all scripts
// but its own, which sorts tables and folds parts. It reads without that. All texts are escaped here. It
// fits screens of 390 pixels and more; wide tables scroll by themselves.
class Page {
 public:
  Page(std::string_view title, std::string_view subtitle);

  struct Tile {
    std::string label;
    std::string value;
    std::string note = {};
  };
  // A bar of a length from 0 to 1.
  struct Bar {
    std::string label;
    std::string value;
    double length = 0;
  };
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  // A picture (an element of HTML that is trusted), or lines of text if there is none.
  struct Drawing {
    std::string title;
    std::string picture;
    std::vector<std::string> lines;
  };
  // A point of a curve, both from 0 to 1.
  struct Point {
    double x = 0;
    double y = 0;
  };

  void tiles(std::span<const Tile> tiles);
  void heading(std::string_view text);
  void paragraph(std::string_view text);
  void bars(std::span<const Bar> bars);
  // Each row has a cell for each column, and so has the total, which stays below all rows; empty: none.
  void table(std::span<const Column> columns, std::span<const std::vector<std::string>> rows, const std::vector<std::string>& total = {});
  // Terms with their texts, in the order given. A term is repeated by an empty one.
  void terms(std::span<const std::pair<std::string, std::string>> terms);

  // Opens an element that folds. Everything until end_fold() is inside.
  void begin_fold(std::string_view summary, bool is_open);
  void end_fold();
  // Two drawings side by side, or one below the other on a narrow screen.
  void drawings(const Drawing& left, const Drawing& right);
  // A line that keeps the height of a point until the next one and after the last, with texts at the ends of
  // both axes.
  struct Axis {
    std::string first;
    std::string last;
  };
  void curve(std::span<const Point> points, const Axis& x, const Axis& y);

  // The whole page.
  std::string to_string() &&;

 private:
  std::string html_;
};

}  // namespace xflow::report
