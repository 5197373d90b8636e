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

void add_doubt(ModuleRecord& record, size_t offset, std::string_view why, std::string_view advice) {
    const bool known =
        std::any_of(record.diagnostics.begin(), record.diagnostics.end(),
                    [](const Diagnostic& said) { return said.message.starts_with(kAmbiguous); });
    if (!known) record.diagnostics.push_back(doubt(offset, why, advice));
}

void check_totals(ModuleRecord& record, const OutcomeCounts& unnamed, size_t offset,
                  std::string_view advice) {
    OutcomeCounts counts = unnamed;
    const OutcomeCounts optional = optional_outcomes(record);
    for (const CaseRecord& c : record.cases)
        if (!c.id.ends_with("::<session>")) add_outcomes(counts, c, record.framework);
    for (const CountedWord& known : counted_words(record.framework)) {
        const std::int64_t ours = counts[known.state];
        const std::int64_t theirs = count_in(*record.closing, known.word);
        if (theirs >= ours && theirs <= ours + optional[known.state]) continue;
        add_doubt(record, offset,
                  fmt::format("the closing line counts {} {}, the tests before it {}", theirs,
                              known.word, ours),
                  advice);
        return;
    }
}

}  // namespace compat::parsers
