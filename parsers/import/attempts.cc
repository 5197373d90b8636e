#include "parsers/import/attempts.h"

#include <utility>

namespace compat::parsers {

void see_attempts(ModuleRecord record, std::vector<std::vector<CaseRecord>> earlier,
                  const SeePart& see) {
    std::vector<CaseRecord> last = std::exchange(record.cases, {});
    ModuleRecord part = record;
    record.cases = std::move(last);
    part.outcome = ModuleOutcome::completed;
    part.reason.clear();
    part.diagnostics.clear();
    part.closing.reset();
    part.ready = part.finished = true;
    for (size_t attempt = 0; attempt == 0 || !part.cases.empty(); ++attempt) {
        part.cases.clear();
        for (size_t i = 0; i < earlier.size(); ++i) {
            if (attempt >= earlier[i].size()) continue;
            part.cases.push_back(std::move(earlier[i][attempt]));
            part.cases.back().id = record.cases[i].id;
        }
        part.collected = static_cast<std::int64_t>(part.cases.size());
        if (!part.cases.empty()) see(part);
    }
    see(std::move(record));
}

}  // namespace compat::parsers
