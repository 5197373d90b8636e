// How fast a large unittest log of others is read (import/importers.h), and in how much memory.
//
//     parsing PYTHON [MB]
//
// Writes a log of that many megabytes (1000) into a temporary folder: runs of several modules,
// mostly of passing tests, with prints, warnings, skips, and failures whose sections are those of
// the golden logs under other names. Reads it on one core, without diagnosis, and compares what was
// read with what was written. Then has PYTHON read the log's first 50 MB by regular expressions
// (parsing_seed.py), for the ratio.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "parsers/import/importers.h"
#include "parsers/unittest_header.h"
#include "tests/parsers/golden_archives.h"

namespace {

using namespace compat::parsers;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Totals {
    std::int64_t tests = 0;
    std::int64_t broken = 0;
    std::int64_t runs = 0;

    friend bool operator==(const Totals&, const Totals&) = default;
};

// One failure of a golden log, without the words that name its test.
struct Section {
    std::string kind;  // "FAIL"
    std::string body;
};

// The failures of all golden logs of unittest.
std::vector<Section> golden_sections() {
    std::vector<Section> sections;
    for (const auto& [path, log] : testing::golden_archives()) {
        if (!path.starts_with("unittest-") || !path.ends_with("/test_states.log")) continue;
        const std::string mark = std::string(kDoubleRule) + "\n";
        const std::string rule = std::string(kRule) + "\n";
        for (size_t at = log.find(mark); at != std::string::npos;) {
            const size_t begin = at + mark.size();
            at = log.find(mark, begin);
            const std::string section = log.substr(begin, at - begin);
            const size_t body = section.find(rule);
            // The last one of a log has its closing in it.
            if (at == std::string::npos || body == std::string::npos) break;
            sections.push_back(
                {section.substr(0, section.find(':')), section.substr(body + rule.size())});
        }
    }
    return sections;
}

// A traceback with so many more frames at its end: of helpers that call each other.
std::string deepened(std::string body, unsigned frames) {
    constexpr std::string_view kHeader = "Traceback (most recent call last):\n";
    const size_t at = body.rfind(kHeader);
    std::string more;
    for (unsigned i = 0; i < frames; ++i)
        more += fmt::format(
            "  File \"/suite/tests/helpers_{0}.py\", line {1}, in call_{0}\n"
            "    return inner(*args, check=True, **kwargs)\n",
            i, 100 + i);
    if (at != std::string::npos) body.insert(at + kHeader.size(), more);
    return body;
}

class Maker {
  public:
    Maker(std::ofstream& out, std::vector<Section> sections)
        : out_(out), sections_(std::move(sections)) {}

    Totals write(size_t bytes) {
        while (written_ < bytes) write_run();
        return totals_;
    }

  private:
    void put(const std::string& text) {
        out_ << text;
        written_ += text.size();
    }

    void write_run() {
        constexpr int kClasses = 40;
        constexpr int kTests = 250;
        std::string sections;
        int failures = 0, errors = 0, skipped = 0, expected = 0;
        for (int c = 0; c < kClasses; ++c) {
            const std::string owner = fmt::format("tests.models.test_modeling_{}.Model{}Test",
                                                  totals_.runs * 4 + c / 10, c);
            for (int t = 0; t < kTests; ++t) {
                const std::string method = fmt::format("test_{}_of_layers_{}", kWords[t % 6], t);
                const std::string name = fmt::format("{} ({}.{})", method, owner, method);
                const unsigned dice = random_() % 1000;
                std::string text = name + " ... ";
                if (dice < 25) {
                    for (unsigned i = 0; i <= random_() % 6; ++i)
                        text += fmt::format("loaded {} weights in {} shards\n", random_(), i);
                    text += "ok\n";
                } else if (dice < 80) {
                    text += fmt::format(
                        "/python/lib/python3.12/site-packages/torch/nn/modules/module.py:{}: "
                        "UserWarning: The given buffer is not writable, and the tensor made of it "
                        "may be, too.\n  return self._call_impl(*args, **kwargs)\nok\n",
                        random_() % 3000);
                } else if (dice < 110) {
                    text += "skipped 'test requires an accelerator with at least 16 GiB'\n";
                    ++skipped;
                } else if (dice < 115) {
                    text += "expected failure\n";
                    ++expected;
                } else if (dice < 135) {
                    const Section& section = sections_[random_() % sections_.size()];
                    text += section.kind + "\n";
                    ++(section.kind == "FAIL" ? failures : errors);
                    sections += fmt::format("{}\n{}: {}\n{}\n{}", kDoubleRule, section.kind, name,
                                            kRule, deepened(section.body, random_() % 12));
                } else {
                    text += "ok\n";
                }
                put(text);
            }
        }
        put("\n" + sections + std::string(kRule) + "\n");
        put(
            fmt::format("Ran {} tests in 12.345s\n\nFAILED (failures={}, errors={}, skipped={}, "
                        "expected failures={})\n",
                        kClasses * kTests, failures, errors, skipped, expected));
        totals_.tests += kClasses * kTests;
        totals_.broken += failures + errors;
        ++totals_.runs;
    }

    static constexpr std::string_view kWords[] = {"forward", "gradient", "loading",
                                                  "export",  "dtypes",   "attention"};
    std::ofstream& out_;
    std::vector<Section> sections_;
    std::mt19937 random_{1};
    Totals totals_;
    size_t written_ = 0;
};

// The process's own memory, mapped files apart.
std::int64_t rss_anon_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:")) return std::strtoll(line.c_str() + 8, nullptr, 10);
    return 0;
}

// The only thread's time, which does not grow on a busy machine.
double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Megabytes a second of the plain way, over the first 50 MB.
double seed_speed(const std::string& python, const fs::path& log, const fs::path& folder) {
    constexpr size_t kPiece = 50'000'000;
    std::string piece(std::min<size_t>(kPiece, fs::file_size(log)), '\0');
    std::ifstream(log).read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const std::string part = folder / "part.log";
    std::ofstream(part) << piece;
    const std::string out = folder / "seed.out";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
    std::vector<std::string> words{python, SEED_SCRIPT, part};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return 0;
    waitpid(pid, nullptr, 0);
    double seconds = 0;
    std::int64_t failures = 0;
    std::ifstream(out) >> failures >> seconds;
    std::cout << fmt::format("seed's way:  {:.1f} MB in {:.2f} s, {} failures\n",
                             static_cast<double>(piece.size()) / 1e6, seconds, failures);
    return seconds > 0 ? static_cast<double>(piece.size()) / 1e6 / seconds : 0;
}

int measure(const std::string& python, size_t megabytes, const fs::path& folder) {
    const fs::path log = folder / "unittest.log";
    Totals made;
    {
        std::ofstream out(log);
        made = Maker(out, golden_sections()).write(megabytes * 1'000'000);
    }
    const size_t size = fs::file_size(log);
    const int fd = open(log.c_str(), O_RDONLY | O_CLOEXEC);
    void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED) {
        std::cerr << "the log cannot be mapped\n";
        return 1;
    }
    Totals read;
    std::int64_t frames = 0;
    std::int64_t peak_kib = 0;
    const auto begin = Clock::now();
    const double cpu_begin = cpu_seconds();
    const std::string_view bytes(static_cast<const char*>(mapped), size);
    const auto dialect = recognise(signs_in(bytes));
    const auto said = read_result_file(
        dialect.value_or(Dialect::junit_xml), {"unittest.log", bytes}, [&](ModuleRecord part) {
            ++read.runs;
            for (const CaseRecord& c : part.cases) {
                ++read.tests;
                read.broken += c.failure.has_value();
                if (c.failure) frames += static_cast<std::int64_t>(c.failure->frames.size());
            }
            if (read.runs % 16 == 0) peak_kib = std::max(peak_kib, rss_anon_kib());
        });
    const double cpu = cpu_seconds() - cpu_begin;
    const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
    const double speed = static_cast<double>(size) / 1e6 / cpu;
    munmap(mapped, size);
    std::cout << fmt::format(
        "read:        {:.1f} MB in {:.2f} s of CPU time ({:.2f} s by the clock): {:.0f} MB/s\n"
        "found:       {} runs, {} tests, {} failures with {} frames, {} diagnostics\n"
        "own memory:  {:.1f} MiB at most, the mapped file apart\n",
        static_cast<double>(size) / 1e6, cpu, wall, speed, read.runs, read.tests, read.broken,
        frames, said.size(), static_cast<double>(peak_kib) / 1024);
    if (read != made) {
        std::cerr << fmt::format("written were {} runs, {} tests, {} failures\n", made.runs,
                                 made.tests, made.broken);
        return 1;
    }
    if (const double seed = seed_speed(python, log, folder); seed > 0)
        std::cout << fmt::format("             {:.1f} MB/s, so {:.0f} times as fast\n", seed,
                                 speed / seed);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "parsing PYTHON [MB]\n";
        return 2;
    }
    std::string folder = fs::temp_directory_path() / "compat-parsing-XXXXXX";
    if (!mkdtemp(folder.data())) return 1;
    const int status =
        measure(argv[1], argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000, folder);
    fs::remove_all(folder);
    return status;
}
