#include "parsers/import/gtest/googletest_line.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <memory>

#include "parsers/text.h"
#include "parsers/unnamed.h"

namespace compat::parsers::googletest {

namespace {

// How GoogleTest writes an event: a mark that all of its kind begin with, and what follows, in
// which the groups are a name and a number. The first of a mark that matches counts.
struct Form {
    Kind kind;
    std::string_view mark;
    const char* rest;
};
#define COMPAT_TEST R"(([^. ][^ .]*\.[^ ]+))"
#define COMPAT_TIME R"((?: \((\d+) ms\))?)"
constexpr std::array kForms{
    Form{Kind::header, "[==========] ", R"(()Running (\d+) tests? from .*)"},
    Form{Kind::closing, "[==========] ", R"(()(\d+) tests? from .* ran\..*)"},
    Form{Kind::leaving, "[----------] ", R"(()()Global test environment tear-down)"},
    Form{Kind::suite_end, "[----------] ", R"(\d+ tests? from (.*) \((\d+) ms total\))"},
    Form{Kind::suite, "[----------] ", R"(\d+ tests? from (.*?)()(?:, where .*)?)"},
    Form{Kind::run, "[ RUN      ] ", COMPAT_TEST "()"},
    Form{Kind::ok, "[       OK ] ", COMPAT_TEST COMPAT_TIME},
    Form{Kind::broken_suite, "[  FAILED  ] ", R"((.*)(): SetUpTestSuite or TearDownTestSuite)"},
    Form{Kind::failed, "[  FAILED  ] ", COMPAT_TEST "(?:, where .*?)?" COMPAT_TIME},
    Form{Kind::skipped, "[  SKIPPED ] ", COMPAT_TEST COMPAT_TIME},
    Form{Kind::disabled, "[ DISABLED ] ", COMPAT_TEST "()"},
    Form{Kind::main, "Running main() from ", "()().*"},
    Form{Kind::repeating, "Repeating all tests ", R"(()\(iteration (\d+)\).*)"},
    Form{Kind::hidden, "  YOU HAVE ", R"(()(\d+) DISABLED TEST.*)"},
};
#undef COMPAT_TEST
#undef COMPAT_TIME

Event event_at(std::string_view text, size_t begin) {
    static const auto* const kPatterns = [] {
        RE2::Options options(RE2::Latin1);
        options.set_log_errors(false);
        auto* patterns = new std::array<std::unique_ptr<RE2>, kForms.size()>;
        for (size_t i = 0; i < kForms.size(); ++i)
            (*patterns)[i] = std::make_unique<RE2>(kForms[i].rest, options);
        return patterns;
    }();
    text.remove_prefix(begin);
    for (size_t i = 0; i < kForms.size(); ++i) {
        if (!text.starts_with(kForms[i].mark)) continue;
        const std::string_view rest = trimmed(text.substr(kForms[i].mark.size()));
        re2::StringPiece name, number;
        if (!RE2::FullMatch(re2::StringPiece(rest.data(), rest.size()), *(*kPatterns)[i], &name,
                            &number))
            continue;
        Event event{kForms[i].kind, begin, {name.data(), name.size()}};
        event.number = std::min(
            number_of({number.data(), number.size()}).value_or(number.empty() ? 0 : kGreatestCount),
            kGreatestCount);
        return event;
    }
    return {};
}

}  // namespace

bool begins_with_mark(std::string_view line) {
    return std::any_of(kForms.begin(), kForms.end(), [&](const Form& form) {
        return form.mark[0] == '[' && line.starts_with(form.mark);
    });
}

Event event_of(std::string_view line) {
    for (size_t at = line.rfind('['); at != std::string_view::npos;
         at = at == 0 ? std::string_view::npos : line.rfind('[', at - 1))
        if (const Event event = event_at(line, at); event.kind != Kind::output) return event;
    return event_at(line, 0);
}

}  // namespace compat::parsers::googletest
