#include "parsers/import/gtest/googletest.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "parsers/text.h"

namespace compat::parsers {

namespace {

// "a.cc:12: Failure", "unknown file: Failure", Microsoft's "a.cc(12): error: Value of: x". The
// test's own output may stand before it.
std::optional<GoogletestPart> heading_of(std::string_view line) {
    static const RE2 kHeading(
        R"((?:.*unknown file|(?:.*[ \t])?([^ \t]+):(\d{1,9})): (Failure|Skipped))", RE2::Latin1);
    static const RE2 kMicrosoft(R"((?:.*[ \t])?([^ \t]+)\((\d{1,9})\): error: (.*))", RE2::Latin1);
    if (line.find(": ") == std::string_view::npos) return std::nullopt;
    GoogletestPart part;
    std::string number, kind;
    if (RE2::FullMatch(line, kHeading, &part.place.file, &number, &kind))
        part.skipped = kind == "Skipped";
    else if (!RE2::FullMatch(line, kMicrosoft, &part.place.file, &number, &part.words))
        return std::nullopt;
    part.place.line = static_cast<int>(number_of(number).value_or(0));
    return part;
}

void add_words(std::string& to, std::string_view line) {
    line = trimmed(line);
    if (line.empty()) return;
    if (!to.empty()) to += ' ';
    to += line;
}

void make_valid(GoogletestPart& part) {
    part.place.file = valid_utf8(part.place.file);
    part.words = valid_utf8(part.words);
    part.text = valid_utf8(part.text.substr(0, part.text.find_last_not_of(" \n") + 1));
}

}  // namespace

std::vector<GoogletestPart> googletest_parts(std::string_view text) {
    std::vector<GoogletestPart> parts;
    for (Lines lines(text); lines.next();) {
        if (auto heading = heading_of(lines.line()))
            parts.push_back(std::move(*heading));
        else if (!parts.empty())
            add_words(parts.back().words, lines.line());
        else
            continue;
        if (!parts.back().text.empty()) parts.back().text += '\n';
        parts.back().text += lines.line();
    }
    for (GoogletestPart& part : parts) make_valid(part);
    return parts;
}

GoogletestPart googletest_part(std::string_view text, bool skipped) {
    const std::string_view place = text.substr(0, text.find('\n'));
    GoogletestPart part;
    const auto heading = heading_of(fmt::format("{}: Failure", place));
    if (heading) part = *heading;
    part.skipped = skipped;
    part.text =
        fmt::format("{}: {}", heading ? place : "unknown file", skipped ? "Skipped" : "Failure");
    for (Lines lines(heading ? text.substr(place.size()) : text); lines.next();) {
        add_words(part.words, lines.line());
        if (lines.offset() > 0 || !heading) part.text.append("\n").append(lines.line());
    }
    make_valid(part);
    return part;
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
    test.started = false;
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
