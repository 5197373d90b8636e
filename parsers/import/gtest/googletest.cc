#include "parsers/import/gtest/googletest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "parsers/text.h"

namespace compat::parsers {

namespace {

struct Heading {
    std::string_view file;
    int line = 0;
    bool skipped = false;
    std::string_view rest;  // on the same line, as the compiler of Windows has it
};

// Of "…/a.cc" that a test's own output stands before, what comes after the last blank.
std::string_view last_word(std::string_view text) {
    return text.substr(text.find_last_of(" \t") + 1);
}

std::optional<int> line_number(std::string_view text) {
    const auto value = number_of(text);
    if (!value || *value > 1'000'000'000) return std::nullopt;
    return static_cast<int>(*value);
}

// "a.cc:12: Failure", "unknown file: Failure", "a.cc(12): error: …".
std::optional<Heading> heading_of(std::string_view line) {
    constexpr std::array<std::string_view, 2> kKinds{": Failure", ": Skipped"};
    for (const std::string_view kind : kKinds) {
        if (!line.ends_with(kind)) continue;
        std::string_view place = line.substr(0, line.size() - kind.size());
        const bool skipped = kind == kKinds[1];
        if (place.ends_with("unknown file")) return Heading{{}, 0, skipped, {}};
        const size_t colon = place.rfind(':');
        if (colon == std::string_view::npos) return std::nullopt;
        const auto number = line_number(place.substr(colon + 1));
        place = last_word(place.substr(0, colon));
        if (!number || place.empty()) return std::nullopt;
        return Heading{place, *number, skipped, {}};
    }
    constexpr std::string_view kError = "): error: ";
    const size_t error = line.find(kError);
    if (error == std::string_view::npos) return std::nullopt;
    const size_t bracket = line.rfind('(', error);
    if (bracket == std::string_view::npos) return std::nullopt;
    const auto number = line_number(line.substr(bracket + 1, error - bracket - 1));
    const std::string_view place = last_word(line.substr(0, bracket));
    if (!number || place.empty()) return std::nullopt;
    return Heading{place, *number, false, line.substr(error + kError.size())};
}

void add_words(std::string& to, std::string_view line) {
    line = trimmed(line);
    if (line.empty()) return;
    if (!to.empty()) to += ' ';
    to += line;
}

}  // namespace

std::vector<GoogletestPart> googletest_parts(std::string_view text) {
    std::vector<GoogletestPart> parts;
    for (Lines lines(text); lines.next();) {
        if (const auto heading = heading_of(lines.line())) {
            GoogletestPart& part = parts.emplace_back();
            part.skipped = heading->skipped;
            part.place = {std::string(heading->file), heading->line, {}};
            add_words(part.words, heading->rest);
        } else if (!parts.empty()) {
            add_words(parts.back().words, lines.line());
        }
        if (parts.empty()) continue;
        if (!parts.back().text.empty()) parts.back().text += '\n';
        parts.back().text += lines.line();
    }
    for (GoogletestPart& part : parts) {
        part.place.file = valid_utf8(part.place.file);
        part.words = valid_utf8(part.words);
        part.text = valid_utf8(part.text.substr(0, part.text.find_last_not_of(" \n") + 1));
    }
    return parts;
}

Failure googletest_failure(GoogletestPart part, Phase phase) {
    Failure failure;
    failure.type = "Failure";
    failure.message = std::move(part.words);
    failure.traceback = std::move(part.text);
    if (!part.place.file.empty()) failure.frames.push_back(std::move(part.place));
    failure.phase = phase;
    return failure;
}

std::string googletest_id(std::string_view path, std::string_view name) {
    const size_t dot = std::min(name.find('.'), name.size());
    const std::string_view test = name.substr(std::min(dot + 1, name.size()));
    return valid_utf8(fmt::format("{}::{}::{}", path, name.substr(0, dot), test));
}

void set_googletest_result(CaseRecord& test, State state, std::vector<GoogletestPart> parts) {
    test.state = state;
    test.failure.reset();
    test.also.clear();
    test.reason.clear();
    for (GoogletestPart& part : parts) {
        if (state == State::skipped && part.skipped && !part.words.empty())
            test.reason += (test.reason.empty() ? "" : "; ") + part.words;
        if (state != State::failed || part.skipped) continue;
        Failure failure = googletest_failure(std::move(part), test.phase);
        if (!test.failure)
            test.failure = std::move(failure);
        else
            test.also.push_back(std::move(failure));
    }
    if (state == State::failed && !test.failure) test.failure = googletest_failure({}, test.phase);
}

void set_googletest_disabled(CaseRecord& test) {
    test.state = State::skipped;
    test.reason = "DISABLED_";
    test.phase = Phase::setup;
}

CaseRecord googletest_fixture(std::string_view path, std::string_view suite, Phase phase,
                              std::vector<GoogletestPart> parts) {
    CaseRecord row;
    row.name = suite.empty() ? "<Environment>" : valid_utf8(suite) + "::<TestSuite>";
    row.id = fmt::format("{}::{}", path, row.name);
    row.pseudo = true;
    row.phase = phase;
    set_googletest_result(row, State::failed, std::move(parts));
    row.state = State::errored;
    return row;
}

std::string_view stem_of(std::string_view file_name) {
    file_name = file_name.substr(file_name.find_last_of("/\\") + 1);
    const size_t dot = file_name.rfind('.');
    return dot == 0 ? file_name : file_name.substr(0, dot);
}

}  // namespace compat::parsers
