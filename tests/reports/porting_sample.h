// Results in columns for tests of reports/porting.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "parsers/attempt.h"
#include "reports/porting/porting.h"

namespace compat::reports::porting_samples {

using parsers::State;

inline constexpr const char* kEigh =
    "The operator 'aten::_linalg_eigh.eigenvalues' is not currently implemented for the MPS "
    "device.";
inline constexpr const char* kSvd =
    "The operator 'aten::_svd' is not currently implemented for the MPS device.";
inline constexpr const char* kDouble =
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
    "Please use float32 instead.";

// A failure with its diagnosis.
inline FailureView failure(const std::string& type, const std::string& message,
                           State state = State::errored, bool generated = false) {
    parsers::ModuleRecord record;
    parsers::CaseRecord& test = record.cases.emplace_back();
    test.id = "m.py::T::t";
    test.state = state;
    if (generated) test.generated = {{"models/org/m"}, 1};
    test.failure.emplace();
    test.failure->type = type;
    test.failure->message = message;
    test.failure->frames = {{"/suite/m.py", 7, "t"}};
    parsers::diagnose(record);
    FailureView view;
    view.type = type;
    view.message = message;
    view.key_line = test.failure->key_line();
    view.signature = test.failure->signature;
    view.cause = name_of(test.failure->diagnosis->cause);
    view.rule = test.failure->diagnosis->rule;
    view.frames = {{"m.py", 7, "t", true, "https://forge.example/m.py#L7"}};
    return view;
}

inline CaseView test(const std::string& name, State state, std::optional<FailureView> why = {}) {
    CaseView view;
    view.id = "m.py::T::" + name;
    view.url = "https://forge.example/m.py#L1";
    view.state = state;
    view.used_accelerator = true;
    view.failure = std::move(why);
    return view;
}

inline CaseView skipped(const std::string& name, const std::string& reason) {
    CaseView view = test(name, State::skipped);
    view.reason = reason;
    return view;
}

using Tests = std::vector<CaseView>;

inline RunView run_of(Column column) {
    RunView run;
    run.id = fmt::format("alpha-{}", row_of(column).name);
    run.suite = "alpha";
    run.complete = true;
    run.exit_code = 0;
    run.shim = row_of(column).shim;
    run.device = "cpu";
    if (!row_of(column).simulated.empty()) run.simulated = row_of(column).simulated;
    run.policy = row_of(column).policy;
    run.fallback = row_of(column).fallback;
    run.torch = "2.13.0";
    run.commit = "0123abcd";
    return run;
}

inline GapHit fell_back(const std::string& name, const std::string& symbol,
                        std::int64_t count = 1) {
    GapHit hit;
    hit.key = {symbol, GapKind::fallback, "mps", true};
    hit.test = "m.py::T::" + name;
    hit.count = count;
    return hit;
}

inline void put(PortingBuilder& builder, Column column, const Tests& tests,
                const std::vector<GapHit>& hits = {}, std::int64_t collected = -1) {
    ModuleView module;
    module.path = "m.py";
    module.cases = tests;
    ReportModel model;
    model.run = run_of(column);
    model.totals.collected = collected < 0 ? static_cast<std::int64_t>(tests.size()) : collected;
    for (const CaseView& t : tests) ++model.totals.states[static_cast<size_t>(t.state)];
    model.totals.rows = model.totals.states;
    builder.begin(column, model.run);
    builder.add(module);
    builder.end(model, hits, "../report.md");
}

inline PortingView compared(const Tests& cpu, const Tests& cuda, const Tests& mps,
                            const Tests& strict, const std::vector<GapHit>& hits = {},
                            const Tests& kept_going = {}) {
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, cpu);
    put(builder, Column::cuda, cuda);
    put(builder, Column::mps, mps, hits);
    put(builder, Column::mps_strict, strict);
    if (!kept_going.empty()) {
        RunView run = run_of(Column::mps_strict);
        run.id = "alpha-keep-going";
        run.keep_going = true;
        ModuleView module;
        module.cases = kept_going;
        builder.begin_further(run, "../report.md");
        builder.add_further(module);
    }
    return builder.finish();
}

inline PortingView on_cuda(const Tests& cpu, const Tests& cuda) {
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, cpu);
    put(builder, Column::cuda, cuda);
    return builder.finish();
}

inline const PortedTest& find(const PortingView& view, const std::string& name) {
    for (const PortedTest& t : view.tests)
        if (t.id == "m.py::T::" + name) return t;
    throw std::out_of_range(name);
}

// A run on plain CPU with other random numbers, one list of tests for each stream.
inline PortingView with_streams(const Tests& cpu, const Tests& cuda,
                                const std::vector<Tests>& streams) {
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, cpu);
    put(builder, Column::cuda, cuda);
    RunView run = run_of(Column::cpu);
    run.id = "alpha-seeds";
    run.seeds = static_cast<int>(streams.size());
    builder.begin_further(run, "../report.md");
    for (const Tests& stream : streams) {
        ModuleView attempt;
        attempt.cases = stream;
        builder.add_further(attempt);
    }
    return builder.finish();
}

}  // namespace compat::reports::porting_samples
