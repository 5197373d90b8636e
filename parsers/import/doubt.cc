#include "parsers/import/doubt.h"

#include <fmt/format.h>

#include <algorithm>

#include "parsers/framework_summary.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"

namespace compat::parsers {

Diagnostic doubt(size_t offset, std::string_view why, std::string_view advice) {
    return {"log", static_cast<std::int64_t>(offset),
            fmt::format("{}{}; {}", kAmbiguous, why, advice)};
}

bool is_cut_off(std::string_view log, std::int64_t most_in_line, size_t after) {
    constexpr std::int64_t kEllipsisDots = 3;
    return most_in_line > kEllipsisDots || (after == log.size() && !log.ends_with('\n'));
}

Diagnostic uncounted_characters(size_t offset) {
    return {"log", static_cast<std::int64_t>(offset),
            "dots or letters like those of tests, outside of any test run: not counted"};
}

void add_doubt(ModuleRecord& record, size_t offset, std::string_view why, std::string_view advice) {
    const bool known =
        std::any_of(record.diagnostics.begin(), record.diagnostics.end(),
                    [](const Diagnostic& said) { return said.message.starts_with(kAmbiguous); });
    if (!known) record.diagnostics.push_back(doubt(offset, why, advice));
}

void check_totals(ModuleRecord& record, size_t offset, std::string_view advice) {
    OutcomeCounts counts{};
    for (const CaseRecord& c : record.cases)
        if (!c.id.ends_with("::<session>")) add_outcomes(counts, c, record.framework);
    // pytest does not count apart which sub-tests it skipped.
    const bool subtests = count_in(*record.closing, "subtests passed") > 0;
    for (const CountedWord& known : counted_words(record.framework)) {
        const std::int64_t ours = counts[known.state];
        const std::int64_t theirs = count_in(*record.closing, known.word);
        if (ours == theirs || (subtests && known.state == State::skipped && theirs > ours))
            continue;
        add_doubt(record, offset,
                  fmt::format("the closing line counts {} {}, the tests before it {}", theirs,
                              known.word, ours),
                  advice);
        return;
    }
}

}  // namespace compat::parsers
