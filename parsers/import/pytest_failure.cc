#include "parsers/import/pytest_failure.h"

#include <fmt/format.h>

#include <algorithm>

#include "parsers/diagnosis/traceback.h"
#include "parsers/pattern.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

#define COMPAT_DOTTED R"([\w.\x80-\xFF]+)"

struct Place {
    std::string_view file;
    int line = 0;
    std::string_view after;  // "ValueError", "in helper", ""
};

// "test_a.py:21: ValueError", "test_a.py:21: in f", "test_a.py:21: ".
std::optional<Place> place_in(std::string_view line) {
    static const Pattern place("([^ >].*?):(\\d{1,9}):(?: (in .*|" COMPAT_DOTTED "))?\\s*");
    const auto found = line.starts_with("E  ") ? std::nullopt : place.match(line);
    if (!found) return std::nullopt;
    return Place{(*found)[1], static_cast<int>(*number_of((*found)[2])), (*found)[3]};
}

// The name in "    def name(…" of a printed source line, marked by ">" or not.
std::string_view defined_by(std::string_view line) {
    static const Pattern defined(R"(>?\s*(?:async )?def ([\w\x80-\xFF]*).*)");
    const auto found = line.find("def ") < line.size() ? defined.match(line) : std::nullopt;
    return found ? (*found)[1] : std::string_view();
}

bool is_capture_header(std::string_view line) {
    static const Pattern header("---+ Captured .*---");
    return line.starts_with("---") && header.match(line);
}

// "E       ValueError: bad", its margin apart: the text. Deeper indents of later lines are kept.
std::string_view marked_text(std::string_view line, size_t& margin, bool first) {
    const size_t text = std::min(line.find_first_not_of(' ', 1), line.size());
    if (first) margin = text;
    return line.substr(std::min(margin, text));
}

void name_exception(Failure& failure, std::string_view last_place) {
    static const Pattern exception("(" COMPAT_DOTTED ")(?:: (.*)|\n(.*))?");
    const std::string message = failure.message;
    const bool typed = !last_place.empty() && !last_place.starts_with("in ");
    const auto found = exception.match(message);
    if (found && (!typed || (*found)[1].substr((*found)[1].rfind('.') + 1) == last_place)) {
        failure.type = (*found)[1];
        failure.message = (*found)[2].empty() ? trimmed((*found)[3]) : (*found)[2];
    } else if (typed) {
        failure.type = valid_utf8(last_place);
    } else if (message.starts_with("assert ")) {
        // With --tb=short no line names the exception of an assertion that pytest has rewritten.
        failure.type = "AssertionError";
    }
}

}  // namespace

Failure parse_pytest_failure(std::string_view body, std::string_view root) {
    if (body.starts_with(kTracebackHeader)) return parse_traceback(body);
    Failure failure;
    failure.traceback = valid_utf8(trimmed(body).empty() ? std::string_view{} : body);
    std::string_view first_line;
    std::string_view function;
    std::string_view last_place;
    size_t margin = 0;
    bool in_message = false;
    for (Lines lines(body); lines.next();) {
        const std::string_view line = lines.line();
        if (is_capture_header(line)) break;
        if (first_line.empty()) first_line = trimmed(line);
        if (is_chain_link(line)) {
            failure.frames.clear();
            failure.message.clear();
            function = last_place = {};
        }
        if (line.starts_with("E  ") || line == "E") {
            const std::string_view text = marked_text(line, margin, !in_message);
            if (in_message)
                failure.message += '\n';
            else
                failure.message.clear();
            failure.message += valid_utf8(text);
            in_message = true;
            continue;
        }
        in_message = false;
        if (const std::string_view name = defined_by(line); !name.empty()) function = name;
        if (const auto place = place_in(line)) {
            const bool relative = !place->file.starts_with('/') && !root.empty();
            last_place = place->after;
            if (last_place.starts_with("in ")) function = last_place.substr(3);
            failure.frames.push_back({valid_utf8(relative ? fmt::format("{}/{}", root, place->file)
                                                          : std::string(place->file)),
                                      place->line, valid_utf8(function)});
            function = {};
        }
    }
    while (failure.message.ends_with('\n') || failure.message.ends_with(' '))
        failure.message.pop_back();
    if (failure.message.empty())
        failure.message = valid_utf8(first_line);
    else
        name_exception(failure, last_place);
    return failure;
}

void name_by_message(Failure& failure, std::string_view message) {
    const size_t first_end = std::min(message.find('\n'), message.size());
    const Failure named = parse_traceback(message.substr(0, first_end));
    failure.type = named.type;
    failure.message = named.message + valid_utf8(message.substr(first_end));
}

std::optional<PytestDeath> pytest_death(std::string_view message) {
    static const Pattern death(
        R"re((worker '.*' crashed while running (?:'(.*)'|"(.*)"))|)re"
        R"re([^\n]*:(?:-?\d+|None): (running the test (?:CRASHED with signal|EXITED with status) .*))re");
    const auto found = death.match(trimmed(message));
    if (!found) return std::nullopt;
    const auto& [all, worker, node, quoted, forked, _5, _6] = *found;
    return PytestDeath{worker.empty() ? forked : worker, node.empty() ? quoted : node};
}

void keep_failure(CaseRecord& c, Failure failure) {
    if (!c.failure) {
        c.failure = std::move(failure);
        return;
    }
    // ERRORS are printed before FAILURES: what failed in the call decides all the same.
    if (failure.phase == Phase::call && c.failure->phase != Phase::call)
        std::swap(*c.failure, failure);
    c.also.push_back(std::move(failure));
}

}  // namespace compat::parsers
