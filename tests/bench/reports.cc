// `bench_reports FOLDER [TESTS]`: the time and memory of writing a run of TESTS results (100,000)
// in each format and in all, and the files' sizes. 5 % of the tests fail with tracebacks of 3 KB, 8
// % are skipped, 60 % were redirected. Makes the database and the suite's source in FOLDER where
// there are none. The reports stay there, for a browser.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "parsers/attempt.h"
#include "runner/base/files.h"
#include "runner/run/reporting/reporting.h"
#include "tests/bench/good.h"

namespace {

using namespace compat;
using bench::good;
namespace fs = std::filesystem;
using reports::Format;

constexpr int kModules = 40;
constexpr const char* kOps[] = {"add",         "matmul", "conv2d",   "layer_norm",  "index_put",
                                "scatter_add", "cumsum", "nll_loss", "interpolate", "svd"};
constexpr const char* kDtypes[] = {"float32", "float16", "bfloat16", "int64", "complex64"};

std::string path_of(int module) {
    return fmt::format("tests/{}/test_{:02}.py", module % 2 ? "nn" : "ops", module);
}

// A number like a hash of `number`, so that the bench is equal each time.
unsigned mixed(unsigned number) {
    number = (number ^ (number >> 16U)) * 0x45d9f3bU;
    number = (number ^ (number >> 16U)) * 0x45d9f3bU;
    return number ^ (number >> 16U);
}

parsers::Failure failure_of(const std::string& file, int line, unsigned seed) {
    const char* op = kOps[seed % 10];
    const char* dtype = kDtypes[seed / 10 % 5];
    parsers::Failure failure;
    const bool refused = seed % 3 == 0;
    failure.type = refused ? "NotImplementedError" : "AssertionError";
    failure.message =
        refused ? fmt::format("Could not run 'aten::{}' with arguments from the 'MPS' backend", op)
                : fmt::format(
                      "Tensor-likes are not close!\n\nMismatched elements: {} / {} "
                      "({:.1f}%)\nGreatest absolute difference: {} at index ({}, {})",
                      seed % 97, 9216, (seed % 97) / 92.16, seed % 1000, seed % 7, seed % 9);
    failure.traceback = "Traceback (most recent call last):\n";
    for (int frame = 0; frame < 14; ++frame) {
        const bool own = frame >= 10;
        const std::string at =
            own ? file
                : fmt::format("/venv/lib/python3.11/site-packages/torch/testing/m{}.py", frame);
        const int row = own ? line + frame - 10 : 100 * frame + static_cast<int>(seed % 50);
        failure.frames.push_back({at, row, fmt::format("check_{}_{}", op, frame)});
        failure.traceback += fmt::format(
            "  File \"{}\", line {}, in check_{}_{}\n    self.assertEqual(expected, "
            "torch.{}(input_{}, other.to(torch.{})), atol=1e-{}, rtol=0, exact_device=True)\n",
            at, row, op, frame, op, seed % 100, dtype, seed % 6 + 1);
    }
    failure.traceback += fmt::format("{}: {}\n", failure.type, failure.message);
    return failure;
}

store::StoredModule module_of(const fs::path& root, int number, int tests) {
    store::JobResult job;
    job.record.path = path_of(number);
    job.record.framework = "pytest";
    job.record.ready = true;
    job.record.shim = parsers::ShimSession{"0.1.0", "2.13.0", "cpu", "missing", "", false};
    job.record.outcome = parsers::ModuleOutcome::completed;
    job.record.collected = tests;
    job.log = fmt::format("modules/{}/1.log", job.record.path);
    job.duration_s = tests / 100.0;
    const std::string file = root / job.record.path;
    for (int i = 0; i < tests; ++i) {
        const unsigned seed = mixed(static_cast<unsigned>(number * 1'000'003 + i));
        auto& test = job.record.cases.emplace_back();
        test.id = fmt::format("{}::Test{}::test_{}_{}[cuda-{}-shape{}]", job.record.path, i / 250,
                              kOps[i % 10], i % 50, kDtypes[i % 5], i);
        test.name = test.id;
        test.started = true;
        test.duration_s = (seed % 5000) / 1000.0;
        test.location = {file, i % 2000 + 1};
        if (seed % 100 < 5) {
            test.state = parsers::State::failed;
            test.failure = failure_of(file, test.location.line, seed);
        } else if (seed % 100 < 13) {
            test.state = parsers::State::skipped;
            test.reason =
                fmt::format("{} is not supported for {}", kOps[seed % 10], kDtypes[i % 5]);
        } else {
            test.state = parsers::State::passed;
        }
        if (seed % 10 < 6)
            job.record.device_events.push_back({test.id,
                                                "redirect",
                                                fmt::format("aten::{}", kOps[i % 10]),
                                                "cuda:0",
                                                "cpu",
                                                {file, i % 2000 + 1},
                                                1 + seed % 9});
    }
    parsers::diagnose(job.record);
    store::StoredModule module{job.record.path, {}, {}, {}, {}};
    module.attempts.push_back(std::move(job));
    return module;
}

void fill(store::Store& store, const fs::path& root, int tests) {
    std::string source;
    for (int line = 0; line < 2100; ++line) source += fmt::format("line = {}\n", line);
    for (int module = 0; module < kModules; ++module) {
        const fs::path file = root / path_of(module);
        if (!make_directories(file.parent_path()) || !write_file(file, source)) std::exit(1);
    }
    store::RunInfo info;
    info.id = "run-0";
    info.suite = info.series = "bench";
    info.framework = "pytest";
    info.device = "cpu";
    info.torch = "2.13.0";
    info.root = root;
    info.links_base = "https://forge.example/bench/blob/0123abcd/{path}#L{line}";
    info.rerun_argv = info.argv = {"runner", root};
    info.python = "/venv/bin/python";
    info.fingerprint = R"({"os": "Debian 12"})";
    info.folder = "runs/" + info.id;
    store::RunEnd end;
    end.complete = true;
    end.exit_code = 1;
    const auto added =
        store.add_run({info, end, 0}, [&](const store::ModuleVisitor& see) -> Expected<void> {
            for (int module = 0; module < kModules; ++module)
                if (auto seen = see(module_of(root, module, tests / kModules)); !seen) return seen;
            return {};
        });
    good(added);
}

// This process's time since its start.
double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        fmt::print(stderr, "usage: bench_reports FOLDER [TESTS]\n");
        return 2;
    }
    const fs::path folder = fs::absolute(argv[1]);
    const int tests = argc > 2 ? std::atoi(argv[2]) : 100'000;
    if (!make_directories(folder / "runs/run-0")) return 1;
    const bool is_new = !fs::exists(folder / "runner.db");
    auto store = good(store::Store::open(folder / "runner.db"));
    if (is_new) fill(store, folder / "suite", tests);
    const std::vector<std::pair<const char*, std::vector<Format>>> kAsked{
        {"none", {}},
        {"html", {Format::html}},
        {"md", {Format::markdown}},
        {"json", {Format::json}},
        {"junit", {Format::junit}},
        {"ctrf", {Format::ctrf}},
        {"all",
         {Format::markdown, Format::json, Format::html, Format::junit, Format::ctrf,
          Format::github_summary, Format::github_annotations}}};
    for (const auto& [name, formats] : kAsked) {
        run::ReportOptions asked;
        asked.formats = formats;
        const double cpu_before = cpu_seconds();
        const auto since = std::chrono::steady_clock::now();
        const auto written = good(run::write_reports(store, folder, "run-0", asked));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        fmt::print("{:<6} {:5.2f} s, {:.2f} s of CPU, {} MiB at most so far{}", name, took.count(),
                   cpu_seconds() - cpu_before, usage.ru_maxrss / 1024,
                   is_new ? ", filling included" : "");
        if (written.files.size() == 1)
            fmt::print("; {}: {:.1f} MB", written.files[0].path.string(),
                       static_cast<double>(fs::file_size(written.files[0].path)) / 1e6);
        fmt::print("\n");
    }
}
