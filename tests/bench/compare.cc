// `bench_compare FOLDER [TESTS]`: the time and memory of comparing two runs, together of TESTS
// results (1,000,000), of which 5 % are broken and 1 % differ. Makes the database in FOLDER where
// there is none. Then `runner compare --results FOLDER` shows the same.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "runner/base/files.h"
#include "runner/compare/baseline.h"
#include "tests/bench/good.h"

namespace {

using namespace compat;
using bench::good;

constexpr int kTestsOfModule = 1000;

store::StoredModule module_of(int number, bool is_second) {
    store::JobResult job;
    job.record.path = fmt::format("tests/unit/group_{}/test_{:04}.py", number % 10, number);
    job.record.ready = true;
    for (int i = 0; i < kTestsOfModule; ++i) {
        auto& test = job.record.cases.emplace_back();
        test.id = fmt::format("{}::TestSomething::test_case[float32-{}]", job.record.path, i);
        test.name = test.id;
        const bool differs = i % 100 == 7;
        const bool broken = i % 20 == 0 || (differs && is_second);
        test.state = broken ? parsers::State::failed : parsers::State::passed;
        if (!broken) continue;
        auto& failure = test.failure.emplace();
        failure.type = "AssertionError";
        failure.message = fmt::format("expected 1, got {}", i);
        failure.traceback = "Traceback (most recent call last): …";
        failure.signature = fmt::format("AssertionError: expected #, got # @ f{}", i % 50);
        failure.diagnosis = parsers::Diagnosis{
            parsers::Cause::suite_assertion, {}, {}, "rule", failure.first_line()};
    }
    store::StoredModule module{job.record.path, {}, {}, {}, {}};
    module.attempts.push_back(std::move(job));
    return module;
}

void fill(store::Store& store, int modules) {
    for (int run = 0; run < 2; ++run) {
        store::RunInfo info;
        info.id = fmt::format("run-{}", run);
        info.suite = info.series = "bench";
        info.framework = "pytest";
        info.device = "cpu";
        info.started = WallTime(Milliseconds(1000LL * (run + 1)));
        info.folder = "runs/" + info.id;
        const auto added = store.add_run(
            {info, store::RunEnd{}, 0}, [&](const store::ModuleVisitor& see) -> Expected<void> {
                for (int module = 0; module < modules; ++module)
                    if (auto seen = see(module_of(module, run == 1)); !seen) return seen;
                return {};
            });
        good(added);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        fmt::print(stderr, "usage: bench_compare FOLDER [TESTS]\n");
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    const int modules = (argc > 2 ? std::atoi(argv[2]) : 1'000'000) / (2 * kTestsOfModule);
    if (!make_directories(folder / "runs")) return 1;
    const bool is_new = !std::filesystem::exists(folder / "runner.db");
    auto store = good(store::Store::open(folder / "runner.db"));
    if (is_new) fill(store, modules);
    const auto since = std::chrono::steady_clock::now();
    const auto view = good(compare::compare({store, folder}, {store, folder}, {}));
    const std::string text = compare_text(view, 3);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    fmt::print("{}\n{:.2f} s, {} MiB at most{}\n", text.substr(0, text.find("\n    ")),
               took.count(), usage.ru_maxrss / 1024, is_new ? ", filling included" : "");
}
