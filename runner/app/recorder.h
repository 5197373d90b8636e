// From a finished job to rows in the store: reads the attempt's files, parses, accounts, saves. The
// one place where what the executor says meets what the parsers say. Not here: display, reports.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "parsers/record.h"
#include "runner/app/verdict.h"
#include "runner/exec/event.h"
#include "runner/store/store.h"
#include "suites/suite.h"

namespace compat::app {

// One module of the run and where its attempt's files lie, relative to the run's folder.
struct RecordedJob {
    std::string module;
    std::vector<std::string> only;  // ids asked for; empty: all
    std::string log, events, devices;
};

class Recorder {
  public:
    Recorder(store::Store& store, std::string run, std::filesystem::path run_folder,
             suites::Framework framework, std::vector<RecordedJob> jobs);

    // The module's record, stored. After a first failure of the store, `trouble` holds it.
    parsers::ModuleRecord job_finished(const exec::JobFinished& finished);

    // Once more, what the store did not take: a lock may be gone by the end of the run.
    void save_what_failed();

    // Ids that were asked for and that no test has.
    [[nodiscard]] const std::vector<std::string>& unmatched() const { return unmatched_; }
    [[nodiscard]] const RunFacts& facts() const { return facts_; }
    [[nodiscard]] const std::vector<store::StoredMismatch>& mismatches() const {
        return mismatches_;
    }
    [[nodiscard]] const std::optional<Error>& trouble() const { return trouble_; }

  private:
    store::Store& store_;
    std::string run_;
    std::filesystem::path folder_;
    suites::Framework framework_;
    std::vector<RecordedJob> jobs_;
    RunFacts facts_;
    std::vector<store::StoredMismatch> mismatches_;
    std::vector<std::string> unmatched_;
    std::vector<store::JobResult> unsaved_;
    std::optional<Error> trouble_;
};

// How a process ended, from the executor's words to the parsers'.
[[nodiscard]] parsers::ProcessEnd process_end(const exec::Outcome& outcome);

}  // namespace compat::app
