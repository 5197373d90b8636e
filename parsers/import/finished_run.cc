#include "parsers/import/finished_run.h"

#include <utility>

#include "parsers/import/doubt.h"

namespace compat::parsers {

ModuleRecord resolved(FinishedRun run, const ProcessEnd& end) {
    resolve_unfinished(run.record, run.progress, run.course, end);
    return std::move(run.record);
}

FinishedRun own_run(std::vector<FinishedRun> runs, std::string_view framework) {
    FinishedRun own;
    own.record.from_text = true;
    own.record.framework = framework;
    for (FinishedRun& run : runs)
        if (run.record.closing || !own.record.closing) own = std::move(run);
    if (runs.size() > 1)
        add_doubt(own.record, 0, "the log of one attempt shows several runs",
                  "run the module again");
    return own;
}

}  // namespace compat::parsers
