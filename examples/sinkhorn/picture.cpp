//===- picture.cpp - An alignment as an SVG -------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All marks of one colour share a path. A point is a stroke of length 0 with
// round ends.
//
//===----------------------------------------------------------------------===//

#include "picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <map>

namespace {

constexpr double Top = 48, Tall = 300, Height = 432, Width = 1310;
const std::string Dot = "fill='none' stroke-linecap='round' ";

std::string format(const char *pattern, ...) {
  char text[512];
  va_list values;
  va_start(values, pattern);
  std::vsnprintf(text, sizeof(text), pattern, values);
  va_end(values);
  return text;
}

std::string stroke(double width, const std::string &colour) {
  return format("stroke-width='%g' stroke='%s'", width, colour.c_str());
}

using Colour = std::array<int, 3>;

std::string between(Colour first, Colour second, double share) {
  auto mix = [&](int k) {
    return static_cast<int>(
        std::lround(first[k] + share * (second[k] - first[k])));
  };
  return format("#%02x%02x%02x", mix(0), mix(1), mix(2));
}

/// The colour of a point by its position in the list. The colours of each arm
/// of the spiral change along it.
std::string armColour(size_t index, size_t count) {
  double place = 2.0 * index / count;
  double along = std::floor((place - std::floor(place)) * 12) / 11;
  return place < 1 ? between({28, 44, 120}, {60, 190, 200}, along)
                   : between({140, 20, 70}, {250, 170, 50}, along);
}

/// One of the plots: a rectangle of the picture with data axes.
class Plot {
public:
  Plot(double left, double wide) : left(left), wide(wide) {}

  void titles(const std::string &title, const std::string &xLabel,
              const std::string &yLabel) {
    put(left + wide / 2, Top - 16, title, "middle",
        "font-size='17' font-weight='bold'");
    put(left + wide / 2, Top + Tall + 40, xLabel);
    double x = left - 47, y = Top + Tall / 2;
    put(x, y, yLabel, "middle",
        format("transform='rotate(-90 %.1f %.1f)'", x, y));
  }
  void ranges(double x0, double x1, double y0, double y1) {
    xFirst = x0, xLast = x1, yFirst = y0, yLast = y1;
  }
  double atX(double x) const {
    return left + wide * (x - xFirst) / (xLast - xFirst);
  }
  double atY(double y) const {
    return Top + Tall * (1 - (y - yFirst) / (yLast - yFirst));
  }
  std::string at(double x, double y) const {
    return format("%.1f %.1f", atX(x), atY(y));
  }

  void tickX(double x, const std::string &label) {
    path(format("M%.1f %.1fv5", atX(x), Top + Tall), stroke(1, "#444444"));
    put(atX(x), Top + Tall + 20, label);
  }
  void tickY(double y, const std::string &label) {
    path(format("M%.1f %.1fh-5", left, atY(y)), stroke(1, "#444444"));
    put(left - 9, atY(y) + 5, label, "end");
  }
  void path(const std::string &marks, const std::string &style) {
    text += "<path " + style + " d='" + marks + "'/>\n";
  }
  void put(double x, double y, const std::string &words,
           const char *anchor = "middle", const std::string &style = "") {
    text += format("<text x='%.1f' y='%.1f' text-anchor='%s' %s>", x, y, anchor,
                   style.c_str()) +
            words + "</text>\n";
  }
  /// An entry of the legend, at an offset from the lower left corner.
  void legend(double right, double down, const std::string &mark,
              const std::string &style, const std::string &words) {
    double x = left + right, y = Top + Tall + down;
    path(format("M%.1f %.1f", x, y) + mark, style);
    put(x + 27, y + 5, words, "start");
  }
  std::string framed() const {
    return text + format("<rect x='%.1f' y='%.1f' width='%.1f' "
                         "height='%.1f' fill='none' stroke='#444444'/>\n",
                         left, Top, wide, Tall);
  }

  const double left, wide;

private:
  double xFirst = 0, xLast = 1, yFirst = 0, yLast = 1;
  std::string text;
};

/// The points, with the strongest couplings of every sixth source point.
std::string drawPoints(const Alignment &found) {
  Plot plot(60, 450);
  plot.titles("Where the points go", "x", "y");
  plot.ranges(-1.3, 3.35, -1.5, 1.6);
  for (int tick = -1; tick <= 3; ++tick)
    plot.tickX(tick, std::to_string(tick));
  for (int tick = -1; tick <= 1; ++tick)
    plot.tickY(tick, std::to_string(tick));

  size_t targets = found.target.size();
  std::map<std::string, std::string> lines, from, to; // by colour
  for (size_t i = 0; i < found.source.size(); ++i) {
    std::string colour = armColour(i, found.source.size());
    const float *row = &found.plan[i * targets];
    float strongest = *std::max_element(row, row + targets);
    Point p = found.source[i], y = found.projection[i];
    for (size_t j = 0; i % 6 == 0 && j < targets; ++j)
      if (row[j] > 0.9f * strongest)
        lines[colour] += "M" + plot.at(p.x, p.y) + "L" +
                         plot.at(found.target[j].x, found.target[j].y);
    from[colour] += "M" + plot.at(p.x, p.y) + "h0";
    to[colour] += "M" + plot.at(y.x, y.y) + "h0";
  }
  std::string target;
  for (Point q : found.target)
    target += "M" + plot.at(q.x, q.y) + "h0";

  for (auto &[colour, marks] : lines)
    plot.path(marks, "fill='none' opacity='0.4' " + stroke(0.8, colour));
  plot.path(target, Dot + stroke(7, "#c8c8c8"));
  for (auto &[colour, marks] : from)
    plot.path(marks, Dot + stroke(4, colour));
  for (auto &[colour, marks] : to)
    plot.path(marks, Dot + stroke(2.4, colour));

  plot.legend(-14, 65, "m14 0h0", Dot + stroke(6, "#1c2c78"), "source");
  plot.legend(78, 65, "m14 0h0", Dot + stroke(8, "#c8c8c8"), "target");
  plot.legend(165, 65, "m14 0h0", Dot + stroke(3, "#1c2c78"), "projection");
  plot.legend(283, 65, "h22", "opacity='0.5' " + stroke(1.2, "#1c2c78"),
              "strongest couplings");
  return plot.framed();
}

/// The plan, summed over blocks, in shades.
std::string drawPlan(const Alignment &found) {
  size_t rows = found.source.size(), columns = found.target.size();
  Plot plot(592, Tall);
  plot.titles("The plan", "target point j", "source point i");
  plot.ranges(0, columns, rows, 0);
  for (size_t tick = 0; tick <= columns; tick += 100)
    plot.tickX(tick, std::to_string(tick));
  for (size_t tick = 0; tick <= rows; tick += 120)
    plot.tickY(tick, std::to_string(tick));

  constexpr size_t Cells = 80, Shades = 16;
  std::vector<double> mass(Cells * Cells);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      mass[i * Cells / rows * Cells + j * Cells / columns] +=
          found.plan[i * columns + j];
  double most = *std::max_element(mass.begin(), mass.end());

  std::array<std::string, Shades + 1> cells; // shade 0 stays white
  for (size_t k = 0; k < mass.size(); ++k)
    cells[std::lround(Shades * mass[k] / most)] +=
        format("M%zu %zuh1v1h-1z", k % Cells, k / Cells);
  std::string place = format("transform='translate(%g %g) scale(%g)' ",
                             plot.left, Top, Tall / Cells);
  for (size_t shade = 1; shade <= Shades; ++shade) {
    std::string colour =
        between({222, 236, 244}, {12, 22, 84}, (shade - 1) / (Shades - 1.0));
    plot.path(cells[shade], place + "fill='" + colour + "'");
    plot.path(format("M%.1f %.1fh8.2v12h-8.2z",
                     plot.left + 82 + 8 * (shade - 1), Top + Tall + 59),
              "fill='" + colour + "'");
  }
  plot.put(plot.left + 74, Top + Tall + 70, "0", "end");
  plot.put(plot.left + 218, Top + Tall + 70, format("%.1g of the mass", most),
           "start");
  return plot.framed();
}

/// The errors over the iterations, on a logarithmic axis.
std::string drawErrors(const Alignment &found) {
  const std::array<std::string, 3> colours = {"#c8553d", "#7d84b2", "#0b6e4f"};
  constexpr double Highest = 0.5;
  double stop = std::log10(found.tolerance);
  size_t iterations = 0;
  for (const Curve &curve : found.curves)
    iterations = std::max(iterations, curve.errors.size());

  Plot plot(985, 305);
  plot.titles("Convergence", "iteration", "error of the row sums, l1");
  plot.ranges(0, 1.03 * iterations, stop - 0.4, Highest);
  for (size_t tick = 0; tick <= iterations;
       tick += iterations > 600 ? 200 : 100)
    plot.tickX(tick, std::to_string(tick));
  for (int power = 0; power >= stop - 0.01; --power) {
    plot.path("M" + plot.at(0, power) + format("h%g", plot.wide),
              stroke(1, "#e4e4e4"));
    plot.tickY(power, power == 0 ? "1" : format("1e%d", power));
  }
  plot.path("M" + plot.at(0, stop) + format("h%g", plot.wide),
            "stroke-dasharray='4 3' " + stroke(1, "#888888"));
  plot.put(plot.left + 8, plot.atY(stop) + 17, "tolerance", "start",
           "fill='#666666'");

  for (size_t k = 0; k < found.curves.size(); ++k) {
    std::string marks;
    const std::vector<float> &errors = found.curves[k].errors;
    for (size_t iteration = 0; iteration < errors.size(); ++iteration)
      if (double height = std::log10(errors[iteration]); height <= Highest)
        marks += (marks.empty() ? "M" : "L") + plot.at(iteration + 1, height);
    plot.path(marks, "fill='none' stroke-linejoin='round' " +
                         stroke(2, colours[k % 3]));
    plot.legend(95, 24 + 24 * k - Tall, "h20", stroke(3, colours[k % 3]),
                found.curves[k].label);
  }
  return plot.framed();
}

} // namespace

std::string draw(const Alignment &found) {
  return format("<svg xmlns='http://www.w3.org/2000/svg' width='%g' "
                "height='%g' viewBox='0 0 %g %g' "
                "font-family='sans-serif' font-size='14'>\n"
                "<rect width='100%%' height='100%%' fill='white'/>\n",
                Width, Height, Width, Height) +
         drawPoints(found) + drawPlan(found) + drawErrors(found) + "</svg>\n";
}
