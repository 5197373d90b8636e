#include "parsers/import/pytest/event.h"

#include <algorithm>
#include <array>
#include <utility>

#include "parsers/closing.h"
#include "parsers/import/unittest/event.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

using PytestKind = PytestEvent::Kind;

constexpr std::string_view kStart = "test session starts";
constexpr std::string_view kStartInside = " test session starts =";
// A rule is as wide as a terminal, or little wider.
constexpr size_t kWidestRule = 2000;

bool is_ruled(PytestEvent& event, char rule, PytestKind kind) {
    event.rest = pytest_ruled(event.line, rule);
    if (!event.rest.empty()) event.kind = kind;
    return !event.rest.empty();
}

bool is_closing(PytestEvent& event) {
    const std::string_view line = event.line;
    const bool may_be = line.front() == '=' || (line.front() >= '0' && line.front() <= '9') ||
                        line.starts_with("no tests ran");
    if (!may_be || line.find(" in ") == std::string_view::npos) return false;
    event.closing = pytest_closing_of(line);
    event.framed = line.front() == '=';
    if (event.closing) event.kind = PytestKind::closing;
    return event.closing.has_value();
}

bool is_heading(PytestEvent& event) {
    if (!is_ruled(event, '=', PytestKind::heading)) return false;
    if (event.rest == kStart) event.kind = PytestKind::start;
    return true;
}

bool is_start_inside(PytestEvent& event) {
    if (event.line.back() != '=' || event.line.find(kStartInside) == std::string_view::npos)
        return false;
    event.kind = PytestKind::start;
    return true;
}

bool is_section(PytestEvent& event) {
    return event.line.front() == '_' && is_ruled(event, '_', PytestKind::section);
}

bool is_captured(PytestEvent& event) {
    return event.line.front() == '-' && is_ruled(event, '-', PytestKind::captured) &&
           (event.rest.starts_with("Captured ") || event.rest.starts_with("live log "));
}

bool is_stopped(PytestEvent& event) {
    return event.line.front() == '!' && is_ruled(event, '!', PytestKind::stopped);
}

bool is_timeout(PytestEvent& event) {
    return event.line.front() == '+' && is_ruled(event, '+', PytestKind::timeout) &&
           event.rest == "Timeout";
}

struct Beginning {
    std::string_view words;
    PytestKind kind;
};
constexpr std::array<Beginning, 4> kBeginnings{{
    {"platform ", PytestKind::platform},
    {"rootdir: ", PytestKind::root},
    {"INTERNALERROR>", PytestKind::internal},
    {"ImportError while loading conftest '", PytestKind::conftest},
}};

bool has_beginning(PytestEvent& event) {
    for (const Beginning& known : kBeginnings) {
        if (!event.line.starts_with(known.words)) continue;
        event.kind = known.kind;
        event.rest = event.line.substr(known.words.size());
        return true;
    }
    return false;
}

bool is_collected(PytestEvent& event) {
    const std::string_view line = event.line;
    const bool of_workers = line.starts_with("gw0 [") ||
                            line.find(" workers [") != std::string_view::npos ||
                            line.find(" worker [") != std::string_view::npos;
    const size_t at = line.find("collected ");
    const bool counts = at == 0 || (at != std::string_view::npos && line.starts_with("collecting"));
    if (!of_workers && !counts) return false;
    event.kind = PytestKind::collected;
    event.rest = of_workers ? std::string_view() : line.substr(at + 10);
    return true;
}

bool is_script(PytestEvent& event) {
    event.rest = announced_file(event.line);
    if (!event.rest.empty()) event.kind = PytestKind::announced;
    return !event.rest.empty();
}

bool is_node(PytestEvent& event) {
    event.node = pytest_node_of(event.line);
    if (event.node) event.kind = PytestKind::node;
    return event.node.has_value();
}

bool is_outcome(PytestEvent& event) {
    constexpr std::string_view kFirstLetters = "PFESX";
    const std::string_view text = trimmed(event.line);
    if (text.empty() || kFirstLetters.find(text[0]) == std::string_view::npos) return false;
    event.status = pytest_status_of(text);
    if (event.status) event.kind = PytestKind::outcome;
    return event.status.has_value();
}

bool is_pytest_characters(PytestEvent& event) {
    event.characters = pytest_characters_of(event.line);
    if (event.characters) event.kind = PytestKind::characters;
    return event.characters.has_value();
}

constexpr std::array<bool (*)(PytestEvent&), 7> kRules{
    is_closing, is_heading, is_section, is_captured, is_stopped, is_timeout, is_start_inside};
constexpr std::array<bool (*)(PytestEvent&), 6> kLines{
    has_beginning, is_collected, is_script, is_node, is_outcome, is_pytest_characters};

}  // namespace

PytestEvent pytest_event_of(std::string_view line) {
    PytestEvent event{.line = line};
    if (line.empty()) return event;
    const auto is_it = [&](auto* recogniser) {
        if (recogniser(event)) return true;
        event.kind = PytestKind::text;
        return false;
    };
    if (line.size() <= kWidestRule && std::any_of(kRules.begin(), kRules.end(), is_it))
        return event;
    (void)std::any_of(kLines.begin(), kLines.end(), is_it);
    return event;
}

size_t columns_of(std::string_view line) {
    return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

bool fills_terminal(std::string_view line, size_t width) {
    const size_t columns = columns_of(line);
    const bool overfull = line.size() > 4 && line[1] == ' ' && line[line.size() - 2] == ' ';
    return width == 0 || columns == width || (columns > width && overfull);
}

}  // namespace compat::parsers
