#include "parsers/import/pytest/failure.h"

#include <fmt/format.h>

#include <algorithm>

#include "parsers/diagnosis/traceback.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

bool is_dotted_word(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || c == '.'; });
}

struct Place {
    std::string_view file;
    int line = 0;
    std::string_view after;  // "ValueError", "in helper", ""
};

// "test_a.py:21: ValueError", "test_a.py:21: in f", "test_a.py:21: ".
std::optional<Place> place_in(std::string_view line) {
    if (line.empty() || line[0] == ' ' || line[0] == '>' || line.starts_with("E  "))
        return std::nullopt;
    for (size_t colon = line.find(':'); colon != std::string_view::npos;
         colon = line.find(':', colon + 1)) {
        const size_t end = line.find(':', colon + 1);
        if (end == std::string_view::npos) return std::nullopt;
        const auto number = number_of(line.substr(colon + 1, end - colon - 1));
        if (!number || *number > 1'000'000'000) continue;
        const std::string_view after = trimmed(line.substr(end + 1));
        const bool fits = after.empty() || after.starts_with("in ") || is_dotted_word(after);
        if (colon == 0 || !fits) return std::nullopt;
        return Place{line.substr(0, colon), static_cast<int>(*number), after};
    }
    return std::nullopt;
}

// The name in "    def name(…" of a printed source line, marked by ">" or not.
std::string_view defined_by(std::string_view line) {
    if (line.starts_with('>')) line.remove_prefix(1);
    line = trimmed(line);
    if (line.starts_with("async ")) line = trimmed(line.substr(6));
    if (!line.starts_with("def ")) return {};
    line.remove_prefix(4);
    const auto end = std::find_if_not(line.begin(), line.end(), is_word);
    return line.substr(0, static_cast<size_t>(end - line.begin()));
}

bool is_link(std::string_view line) {
    return line == "The above exception was the direct cause of the following exception:" ||
           line == "During handling of the above exception, another exception occurred:";
}

bool is_capture_header(std::string_view line) {
    const size_t text = line.find_first_not_of('-');
    return text != std::string_view::npos && text > 2 && line.ends_with("---") &&
           line.substr(text).starts_with(" Captured ");
}

// "E       ValueError: bad", its margin apart: the text. Deeper indents of later lines are kept.
std::string_view marked_text(std::string_view line, size_t& margin, bool first) {
    if (first) margin = std::min(line.find_first_not_of(' ', 1), line.size());
    const size_t text = std::min(line.find_first_not_of(' ', 1), line.size());
    return line.substr(std::min(margin, text));
}

void name_exception(Failure& failure, std::string_view last_place) {
    const bool typed = !last_place.empty() && !last_place.starts_with("in ");
    const std::string_view message = failure.message;
    const size_t colon = message.find(": ");
    const size_t first_end = std::min(message.find('\n'), message.size());
    const std::string_view before = message.substr(0, std::min(colon, first_end));
    const std::string_view base = before.substr(before.rfind('.') + 1);
    if (is_dotted_word(before) && (typed ? base == last_place : true)) {
        failure.type = std::string(before);
        failure.message = before.size() < first_end
                              ? std::string(message.substr(colon + 2))
                              : std::string(trimmed(message.substr(first_end)));
    } else if (typed) {
        failure.type = valid_utf8(last_place);
    } else if (message.starts_with("assert ")) {
        // With --tb=short no line names the exception of an assertion that pytest has rewritten.
        failure.type = "AssertionError";
    }
}

}  // namespace

Failure parse_pytest_failure(std::string_view body, std::string_view root) {
    if (body.starts_with("Traceback (most recent call last):")) return parse_traceback(body);
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
        if (is_link(line)) {
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
