#include "parsers/import/gtest/googletest.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <pugixml.hpp>

#include "parsers/import/fields.h"
#include "parsers/import/json_document.h"
#include "parsers/import/junit/junit_xml.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

void add_line(Failure& failure, std::string_view line) {
    failure.traceback.append(failure.traceback.empty() ? "" : "\n").append(line);
}

void add_words(Failure& failure, std::string_view line) {
    add_line(failure, line);
    line = trimmed(line);
    if (line.empty()) return;
    failure.message.append(failure.message.empty() ? "" : " ").append(line);
}

// "a.cc:12: Failure", "unknown file: Failure", Microsoft's "a.cc(12): error: Value of: x". The
// test's own output may stand before it.
std::optional<Failure> heading_of(std::string_view line) {
    static const RE2 kHeading(
        R"((?:.*unknown file|(?:.*[ \t])?([^ \t]+):(\d{1,9})): (Failure|Skipped))", RE2::Latin1);
    static const RE2 kMicrosoft(R"((?:.*[ \t])?([^ \t]+)\((\d{1,9})\): error: (.*))", RE2::Latin1);
    if (line.find(": ") == std::string_view::npos) return std::nullopt;
    Failure failure;
    Frame place;
    std::string number;
    if (!RE2::FullMatch(line, kHeading, &place.file, &number, &failure.type)) {
        if (!RE2::FullMatch(line, kMicrosoft, &place.file, &number, &failure.message))
            return std::nullopt;
        failure.type = "Failure";
    }
    place.line = static_cast<int>(number_of(number).value_or(0));
    place.file = valid_utf8(place.file);
    if (!place.file.empty()) failure.frames.push_back(std::move(place));
    add_line(failure, line);
    return failure;
}

void make_valid(Failure& failure) {
    std::string& text = failure.traceback;
    text = valid_utf8(std::string_view(text).substr(0, text.find_last_not_of(" \n") + 1));
    failure.message = valid_utf8(failure.message);
}

}  // namespace

std::vector<Failure> googletest_failures(std::string_view text) {
    std::vector<Failure> failures;
    for (Lines lines(text); lines.next();) {
        if (auto heading = heading_of(lines.line()))
            failures.push_back(std::move(*heading));
        else if (!failures.empty())
            add_words(failures.back(), lines.line());
    }
    for (Failure& failure : failures) make_valid(failure);
    return failures;
}

Failure googletest_failure(std::string_view text, bool skipped) {
    const auto headed = [&](std::string_view place) {
        return heading_of(fmt::format("{}: {}", place, skipped ? "Skipped" : "Failure"));
    };
    Lines lines(text);
    auto failure = lines.next() ? headed(lines.line()) : std::nullopt;
    if (!failure) {
        failure = headed("unknown file");
        lines = Lines(text);
    }
    while (lines.next()) add_words(*failure, lines.line());
    make_valid(*failure);
    return *failure;
}

void set_googletest_result(CaseRecord& test, State state, std::vector<Failure> failures) {
    test.state = state;
    test.failure.reset();
    test.also.clear();
    test.reason.clear();
    for (Failure& failure : failures) {
        const bool skipped = failure.type == "Skipped";
        if (state == State::skipped && skipped && !failure.message.empty())
            test.reason += (test.reason.empty() ? "" : "; ") + failure.message;
        if (state != State::failed || skipped) continue;
        failure.phase = test.phase;
        if (!test.failure)
            test.failure = std::move(failure);
        else
            test.also.push_back(std::move(failure));
    }
    if (state == State::failed && !test.failure)
        test.failure = Failure{.type = "Failure", .phase = test.phase};
}

void set_googletest_disabled(CaseRecord& test) {
    test.state = State::skipped;
    test.started = false;
    test.reason = "DISABLED_";
    test.phase = Phase::setup;
}

CaseRecord googletest_fixture(std::string_view suite, std::vector<Failure> failures,
                              Phase of_environment) {
    const bool of_all = suite.empty() || suite == "NonTestSuiteFailure";
    CaseRecord row;
    row.name = of_all ? "<Environment>" : valid_utf8(suite) + "::<TestSuite>";
    row.pseudo = true;
    row.phase = of_all ? of_environment : Phase::class_setup;
    set_googletest_result(row, State::failed, std::move(failures));
    row.state = State::errored;
    return row;
}

// The JSON.

namespace {

using nlohmann::json;

// The lists of the JSON, by the elements of which the XML has several in their place.
struct JsonList {
    std::string_view key;
    const char* element;
};
constexpr std::array<JsonList, 4> kJsonLists{{{"testsuites", "testsuite"},
                                              {"testsuite", "testcase"},
                                              {"failures", "failure"},
                                              {"skipped", "skipped"}}};

std::string attribute_of(const std::string& key, const json& value) {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    std::replace(text.begin(), text.end(), '\0', ' ');
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (key == "status" || key == "result")
        std::transform(text.begin(), text.end(), text.begin(), lower);
    return text;
}

void add_as_xml(pugi::xml_node to, const json& object) {
    for (const auto& [key, value] : object.items()) {
        if (value.is_string() || value.is_number())
            to.append_attribute(key == "failure" ? "message" : key.c_str())
                .set_value(attribute_of(key, value).c_str());
        for (const JsonList& list : kJsonLists)
            if (list.key == key && value.is_array())
                for (const json& entry : value)
                    if (entry.is_object()) add_as_xml(to.append_child(list.element), entry);
    }
}

}  // namespace

std::vector<Diagnostic> read_googletest_json(const ResultFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    const json document = read_json(file.bytes, diagnose);
    if (!document.is_object()) return diagnostics;
    pugi::xml_document xml;
    pugi::xml_node root = xml.append_child("testsuites");
    add_as_xml(root, document);
    // By this the XML's reader knows GoogleTest's.
    root.remove_attribute("name");
    root.append_attribute("name").set_value("AllTests");
    return read_junit_document(xml, file, see);
}

int googletest_json_likeness(std::string_view beginning, std::string_view /*end*/) {
    constexpr std::array<std::string_view, 2> kKeys{"\"testsuites\"", "\"disabled\""};
    return begins_as_json(beginning) && count_words(kKeys, beginning) == 2 ? kCertain : 0;
}

}  // namespace compat::parsers
