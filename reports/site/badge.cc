// The badge of a cell. Its colours have a contrast of at least 4.5:1 with white.
#include <fmt/format.h>

#include <array>

#include "reports/markdown/text.h"
#include "reports/site/site.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

struct Colour {
    double from;  // the least rate
    std::string_view fill;
};
constexpr std::array<Colour, 4> kColours{
    {{1, "#1a7f37"}, {0.95, "#5b7000"}, {0.8, "#a04100"}, {0, "#b42318"}}};
constexpr std::string_view kNoColour = "#57606a", kLabelColour = "#24292f";

std::string format_rate(const SiteRate& rate) {
    if (rate.total == 0) return rate.of == RateOf::exercised ? "device not used" : "no tests";
    const double percent = 100.0 * static_cast<double>(rate.good) / static_cast<double>(rate.total);
    // 99.96 % is not all.
    if (rate.good < rate.total && percent > 99.9) return "> 99.9 %";
    if (rate.good > 0 && percent < 0.1) return "< 0.1 %";
    return rate.good == rate.total || rate.good == 0 ? fmt::format("{:.0f} %", percent)
                                                     : fmt::format("{:.1f} %", percent);
}

std::string_view colour_of(const SiteRate& rate) {
    if (rate.total == 0) return kNoColour;
    const double share = static_cast<double>(rate.good) / static_cast<double>(rate.total);
    for (const Colour& colour : kColours)
        if (share >= colour.from) return colour.fill;
    return kColours.back().fill;
}

// The width that a font of 11 px needs; the text is fitted to it.
int width_of(std::string_view text) {
    int characters = 0;
    for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    return characters * 13 / 2 + 14;
}

}  // namespace

std::string badge_svg(const SiteCell& cell) {
    const std::string label = std::string(first_bytes(cell.suite, 60)) + " · " +
                              std::string(first_bytes(cell.column, 60));
    const std::string value = format_rate(cell.now.rate);
    const int left = width_of(label), right = width_of(value);
    const auto text = [](int x, int width, std::string_view words) {
        return fmt::format(
            "<text x=\"{}\" y=\"14\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
            x + 7, width - 14, html(words));
    };
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"20\" role=\"img\" "
        "aria-label=\"{1}: {2}\">\n<title>{1}: {2}</title>\n"
        "<clipPath id=\"r\"><rect width=\"{0}\" height=\"20\" rx=\"3\"/></clipPath>\n"
        "<g clip-path=\"url(#r)\"><rect width=\"{3}\" height=\"20\" fill=\"{4}\"/>"
        "<rect x=\"{3}\" width=\"{5}\" height=\"20\" fill=\"{6}\"/></g>\n"
        "<g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">{7}{8}"
        "</g>\n</svg>\n",
        left + right, html(label), html(value), left, kLabelColour, right, colour_of(cell.now.rate),
        text(0, left, label), text(left, right, value));
}

}  // namespace compat::reports
