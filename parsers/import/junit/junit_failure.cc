#include "parsers/import/junit/junit_failure.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "parsers/diagnosis/traceback.h"
#include "parsers/import/pytest/failure.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

constexpr std::array<JunitPytestWords, 6> kPytestWords{{
    {"failed on setup with ", Phase::setup},
    {"failed on teardown with ", Phase::teardown},
    {"test setup failure", Phase::setup},
    {"test teardown failure", Phase::teardown},
    {"collection failure", Phase::load},
    {"collection skipped", Phase::load},
}};

// "ValueError: bad value", of as many lines as there are.
void name_by_message(Failure& failure, std::string_view message) {
    const size_t first_end = std::min(message.find('\n'), message.size());
    const Failure named = parse_traceback(message.substr(0, first_end));
    failure.type = named.type;
    failure.message = named.message + valid_utf8(message.substr(first_end));
}

}  // namespace

std::string_view junit_attribute(pugi::xml_node node, const char* name) {
    return node.attribute(name).as_string();
}

std::string junit_text(pugi::xml_node node) {
    std::string text;
    for (const pugi::xml_node child : node)
        if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata)
            text += child.value();
    return text;
}

const JunitPytestWords* junit_pytest_words(std::string_view message) {
    const auto* const it = std::find_if(
        kPytestWords.begin(), kPytestWords.end(),
        [&](const JunitPytestWords& known) { return message.starts_with(known.begin); });
    return it == kPytestWords.end() ? nullptr : it;
}

Failure junit_failure(pugi::xml_node element, bool by_pytest) {
    const pugi::xml_node trace = element.child("stackTrace");
    const std::string text = junit_text(trace ? trace : element);
    const std::string_view type = junit_attribute(element, "type");
    std::string_view message = junit_attribute(element, "message");
    Failure failure;
    if (by_pytest) {
        failure = parse_pytest_failure(text, "");
        if (!failure.type.empty()) return failure;
        // With --tb=no and the like only the attribute tells: 'failed on setup with "…"'.
        const size_t quote =
            message.starts_with("failed on ") ? message.find('"') : std::string_view::npos;
        if (quote != std::string_view::npos && message.ends_with('"') && quote + 1 < message.size())
            message = message.substr(quote + 1, message.size() - quote - 2);
        if (junit_pytest_words(message) == nullptr && !message.empty())
            name_by_message(failure, message);
        return failure;
    }
    static const RE2 kPython(
        R"((?m)^(?:  \+ Exception Group )?Traceback \(most recent call last\):$)");
    if (RE2::PartialMatch(text, kPython)) failure = parse_traceback(text);
    failure.traceback = valid_utf8(text);
    if (failure.type.empty()) {
        failure.type = valid_utf8(type);
        failure.message = valid_utf8(
            message.empty() ? trimmed(text).substr(0, trimmed(text).find('\n')) : message);
    }
    return failure;
}

}  // namespace compat::parsers
