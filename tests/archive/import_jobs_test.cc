// Which files of an import are jobs, shards and attempts: by what they say, by their folders, and
// never by the order in which they are named.
#include "runner/archive/imported/import_jobs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runner/archive/imported/place_names.h"
#include "runner/base/files.h"

namespace compat::archive {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

struct Test {
    std::string name;
    bool passes = true;
};
const std::vector<Test> kGood{{"test_a"}, {"test_b"}}, kBad{{"test_a", false}, {"test_b"}};

std::string xml(const std::vector<Test>& tests, std::string_view said = {},
                std::string_view properties = {}) {
    std::string text =
        fmt::format(R"(<testsuites><testsuite name="pytest" tests="{}" time="2.0" {}>{})",
                    tests.size(), said, properties);
    for (const Test& test : tests)
        text +=
            fmt::format(R"(<testcase classname="tests.test_m" name="{}" time="0.25">{}</testcase>)",
                        test.name, test.passes ? "" : R"(<failure message="bad">bad</failure>)");
    return text + "</testsuite></testsuites>";
}

std::string verbose_log(const std::vector<Test>& tests) {
    std::string text = "============ test session starts ============\ncollected 2 items\n\n";
    for (const Test& test : tests)
        text +=
            fmt::format("tests/test_m.py::{} {}\n", test.name, test.passes ? "PASSED" : "FAILED");
    return text + "\n======== 2 passed in 0.10s ========\n";
}

// `environment`: its members. It began `minute` minutes after some hour.
std::string ctrf(const std::vector<Test>& tests, std::string_view environment, int minute = 0) {
    const std::int64_t start = 1'795'170'000'000 + minute * 60'000;
    std::string text;
    for (const Test& test : tests)
        text += fmt::format(R"({}{{"name":"tests/test_m.py::{}","filePath":"tests/test_m.py",)"
                            R"("status":"{}","duration":250,"start":{},"stop":{}}})",
                            text.empty() ? "" : ",", test.name, test.passes ? "passed" : "failed",
                            start, start + 250);
    return fmt::format(
        R"({{"results":{{"tool":{{"name":"pytest"}},"summary":{{"tests":{},"start":{},)"
        R"("stop":{}}},"environment":{{{}}},"tests":[{}]}}}})",
        tests.size(), start, start + 2000, environment, text);
}

std::string report_log(const std::vector<Test>& tests, int minute) {
    std::string text = R"({"pytest_version": "9.2.0", "$report_type": "SessionStart"})"
                       "\n";
    for (const Test& test : tests)
        for (const std::string_view when : {"setup", "call", "teardown"})
            text +=
                fmt::format(R"({{"nodeid": "tests/test_m.py::{}", "when": "{}", "outcome": "{}", )"
                            R"("longrepr": null, "duration": 0.25, "start": {}.5, "$report_type": )"
                            R"("TestReport"}})"
                            "\n",
                            test.name, when, test.passes || when != "call" ? "passed" : "failed",
                            1'795'170'000 + minute * 60);
    return text + R"({"exitstatus": 0, "$report_type": "SessionFinish"})"
                  "\n";
}

std::string at(int minute) { return fmt::format(R"(timestamp="2026-11-20T10:{:02}:00")", minute); }

struct GivenFile {
    std::string path, bytes;
};

class ImportJobsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "compat-test-XXXXXX").string();
        folder = ::mkdtemp(name.data());
    }
    void TearDown() override { fs::remove_all(folder); }

    // "job: file, file (shard 1 of 2)", a line for each job, in whatever order the files are named.
    [[nodiscard]] std::vector<std::string> sorted(
        const std::vector<GivenFile>& files,
        const std::map<std::string, std::string>& job_of = {}) {
        std::vector<FileOfJob> names;
        for (const auto& [path, bytes] : files) {
            std::error_code error;
            fs::create_directories((folder / path).parent_path(), error);
            EXPECT_TRUE(write_file(folder / path, bytes));
            const auto job = job_of.find(path);
            names.push_back({(folder / path).string(), job == job_of.end() ? "" : job->second});
        }
        const auto forward = described(names);
        std::ranges::reverse(names);
        EXPECT_EQ(described(names), forward) << "the order of the names decides";
        return forward;
    }

    [[nodiscard]] std::vector<std::string> described(const std::vector<FileOfJob>& names) const {
        std::vector<std::string> notes, lines;
        auto files =
            find_import_files({names, "", "stdin", folder / "results"}, folder / "room", notes);
        if (!files) return {to_line(files.error())};
        const auto jobs = sort_into_jobs(std::move(*files));
        if (!jobs) return {to_line(jobs.error())};
        for (const ImportJob& job : *jobs) {
            std::string& line = lines.emplace_back(job.name + ":");
            for (const ImportedFile& file : job.files) {
                line += " " + file.place.lexically_relative(folder).string();
                if (!file.shard.empty()) line += fmt::format(" (shard {})", file.shard);
                if (!file.repeats.empty()) line += " (repeats)";
                if (!file.undecided.empty()) line += " (undecided)";
            }
        }
        return lines;
    }

    fs::path folder;
};

TEST_F(ImportJobsTest, FilesWithoutACommonTestAreOneJob) {
    EXPECT_THAT(sorted({{"a/x.xml", xml({{"test_a"}})}, {"b/y.xml", xml({{"test_b"}})}}),
                ElementsAre(": a/x.xml b/y.xml"));
}

TEST_F(ImportJobsTest, AFolderEachIsAJobEach) {
    EXPECT_THAT(sorted({{"py39/junit.xml", xml(kBad)}, {"py312/junit.xml", xml(kGood)}}),
                ElementsAre("py312: py312/junit.xml", "py39: py39/junit.xml"));
    EXPECT_THAT(sorted({{"linux/py39/r.xml", xml(kBad)},
                        {"linux/py312/r.xml", xml(kGood)},
                        {"mac/py39/r.xml", xml(kGood)},
                        {"mac/docs/d.xml", xml({{"test_other"}})}}),
                ElementsAre("linux/py312: linux/py312/r.xml", "mac/docs: mac/docs/d.xml",
                            "mac/py39: mac/py39/r.xml", "linux/py39: linux/py39/r.xml"))
        << "the worst comes last";
    EXPECT_THAT(
        sorted({{"linux/reports/a.xml", xml(kGood)},
                {"linux/reports/b.xml", xml({{"test_c"}})},
                {"mac/reports/a.xml", xml(kBad)}}),
        ElementsAre("linux: linux/reports/a.xml linux/reports/b.xml", "mac: mac/reports/a.xml"));
}

TEST_F(ImportJobsTest, ATestRunOnOneHostInTwoFoldersIsTwoJobsWheneverItRan) {
    const std::string host = R"(hostname="one" )";
    EXPECT_THAT(sorted({{".tox/py39/r.xml", xml(kBad, host + at(1))},
                        {".tox/py312/r.xml", xml(kGood, host + at(9))}}),
                ElementsAre("py312: .tox/py312/r.xml", "py39: .tox/py39/r.xml"));
}

TEST_F(ImportJobsTest, OtherHostsAreOtherJobs) {
    EXPECT_THAT(sorted({{"a.xml", xml(kBad, R"(hostname="mac")" + (" " + at(1)))},
                        {"b.xml", xml(kGood, R"(hostname="linux")" + (" " + at(9)))}}),
                ElementsAre("b.xml: b.xml", "a.xml: a.xml"));
    // Suites of one file, as programs that merge files write it.
    const std::string mac = xml(kBad, R"(hostname="mac")"),
                      linux = xml(kGood, R"(hostname="linux")");
    const std::string merged = "<testsuites>" + mac.substr(12, mac.size() - 25) +
                               linux.substr(12, linux.size() - 25) + "</testsuites>";
    EXPECT_THAT(sorted({{"merged.xml", merged}}),
                ElementsAre("linux: merged.xml", "mac: merged.xml"));
}

TEST_F(ImportJobsTest, PropertiesNameJobsShardsAndAttempts) {
    const auto saying = [](std::string_view name, std::string_view value) {
        return fmt::format(R"(<properties><property name="{}" value="{}"/></properties>)", name,
                           value);
    };
    EXPECT_THAT(sorted({{"a.xml", xml(kBad, "", saying("CI_JOB_NAME", "gpu"))},
                        {"b.xml", xml(kGood, "", saying("CI_JOB_NAME", "cpu"))}}),
                ElementsAre("cpu: b.xml", "gpu: a.xml"));
    EXPECT_THAT(sorted({{"a.xml", xml(kGood, "", saying("run-attempt", "2"))},
                        {"b.xml", xml(kBad, "", saying("run-attempt", "1"))}}),
                ElementsAre(": b.xml a.xml"));
    EXPECT_THAT(sorted({{"a.xml", xml(kGood, "", saying("shard.index", "1"))},
                        {"b.xml", xml(kBad, "", saying("shard.index", "0"))}}),
                ElementsAre(": a.xml (shard 1) b.xml (shard 0)"));
}

TEST_F(ImportJobsTest, TimesOrderAttempts) {
    EXPECT_THAT(sorted({{"a.xml", xml(kGood, at(9))}, {"b.xml", xml(kBad, at(1))}}),
                ElementsAre(": b.xml a.xml"));
    // Other times of one host are needed, not the same ones.
    EXPECT_THAT(sorted({{"a.xml", xml(kGood, at(1))}, {"b.xml", xml(kBad, at(1))}}),
                ElementsAre("a.xml: a.xml (undecided)", "b.xml: b.xml (undecided)"));
    // A time without a zone may be of any.
    EXPECT_THAT(sorted({{"a.xml", xml(kGood, R"(timestamp="2026-11-20T10:00:00")")},
                        {"b.xml", xml(kBad, R"(timestamp="2026-11-20T11:00:00+00:00")")}}),
                ElementsAre("a.xml: a.xml (undecided)", "b.xml: b.xml (undecided)"));
}

TEST_F(ImportJobsTest, TimesDoNotMakeAttemptsOfOtherNames) {
    const std::string host = R"(hostname="one" )";
    EXPECT_THAT(sorted({{"junit-py39.xml", xml(kBad, host + at(1))},
                        {"junit-py312.xml", xml(kGood, host + at(9))}}),
                ElementsAre("junit-py312.xml: junit-py312.xml (undecided)",
                            "junit-py39.xml: junit-py39.xml (undecided)"));
    EXPECT_THAT(sorted({{"linux-attempt-1.xml", xml(kBad)}, {"mac-attempt-2.xml", xml(kGood)}}),
                ElementsAre("mac-attempt-2.xml: mac-attempt-2.xml (undecided)",
                            "linux-attempt-1.xml: linux-attempt-1.xml (undecided)"));
    EXPECT_THAT(sorted({{"junit-attempt1.xml", xml(kGood, at(1))}, {"junit.xml", xml(kBad, at(9))}}),
                ElementsAre("junit-attempt1.xml: junit-attempt1.xml (undecided)",
                            "junit.xml: junit.xml (undecided)"))
        << "the number and the time contradict each other";
    EXPECT_THAT(sorted({{"junit.xml", xml(kBad)}, {"junit-retry.xml", xml(kGood)}}),
                ElementsAre(": junit.xml junit-retry.xml"));
}

TEST_F(ImportJobsTest, FilesOfSeveralModulesAreCompared) {
    const auto two_modules = [](bool passes) {
        const std::string first = xml({{"test_a", passes}});
        return first.substr(0, first.find("</testsuite>")) +
               R"(<testcase classname="tests.test_n" name="test_b"/></testsuite></testsuites>)";
    };
    EXPECT_THAT(sorted({{"linux.xml", two_modules(false)}, {"mac.xml", two_modules(true)}}),
                ElementsAre("mac.xml: mac.xml (undecided)", "linux.xml: linux.xml (undecided)"));
}

TEST_F(ImportJobsTest, RunsInOneFileAreOrderedByTheirTimes) {
    const auto merged = [](const std::string& a, const std::string& b) {
        return "<testsuites>" + a.substr(12, a.size() - 25) + b.substr(12, b.size() - 25) +
               "</testsuites>";
    };
    EXPECT_THAT(sorted({{"all.xml", merged(xml(kBad, at(9)), xml(kGood, at(1)))}}),
                ElementsAre(": all.xml all.xml"));
    EXPECT_THAT(sorted({{"all.xml", merged(xml(kBad, at(1)), xml(kGood, at(9)))}}),
                ElementsAre(": all.xml"));
    EXPECT_THAT(sorted({{"all.xml", merged(xml(kBad), xml(kGood))}}),
                ElementsAre("all.xml (2): all.xml (undecided)", "all.xml: all.xml (undecided)"));
}

TEST_F(ImportJobsTest, HostsDoNotTellAttemptsApart) {
    const auto on = [](std::string_view host) { return fmt::format(R"(hostname="{}")", host); };
    EXPECT_THAT(sorted({{"linux/attempt-1/r.xml", xml(kBad, on("h1"))},
                        {"linux/attempt-2/r.xml", xml(kGood, on("h2"))},
                        {"mac/r.xml", xml(kGood, on("h3"))},
                        {"mac/s.xml", xml(kBad, on("h4"))}}),
                ElementsAre("mac, r.xml: mac/r.xml",
                            "linux: linux/attempt-1/r.xml linux/attempt-2/r.xml",
                            "mac, s.xml: mac/s.xml"));
}

TEST_F(ImportJobsTest, AFileThatCannotBeReadIsSaidWithTheFirstJob) {
    EXPECT_THAT(sorted({{"a/r.xml", xml(kGood)}, {"c/r.xml", xml(kBad)}}),
                ElementsAre("a: a/r.xml", "c: c/r.xml"));
    std::filesystem::create_directories(folder / "b");
    ASSERT_TRUE(write_file(folder / "b/r.xml.gz", std::string("\x1f\x8b\x08", 3) + "broken"));
    EXPECT_THAT(described({{folder.string(), ""}}),
                ElementsAre("a: a/r.xml b/r.xml.gz", "c: c/r.xml"));
}

TEST_F(ImportJobsTest, ARunOfNothingButFailedTestsIsARetryOnOneHost) {
    const std::string host = R"(hostname="one" )";
    EXPECT_THAT(sorted({{"all.xml", xml(kBad, host + at(1))},
                        {"some.xml", xml({{"test_a"}}, host + at(9))}}),
                ElementsAre(": all.xml some.xml"));
    EXPECT_THAT(sorted({{"all.xml", xml(kBad, host + at(1))},
                        {"some.xml", xml({{"test_b"}}, host + at(9))}}),
                ElementsAre("some.xml: some.xml (undecided)", "all.xml: all.xml (undecided)"));
    EXPECT_THAT(sorted({{"linux/r.xml", xml(kBad, host + at(1))},
                        {"mac/r.xml", xml({{"test_a"}}, host + at(9))}}),
                ElementsAre("mac: mac/r.xml", "linux: linux/r.xml"));
}

TEST_F(ImportJobsTest, NamesOfFoldersAndFilesSayAttempts) {
    EXPECT_THAT(sorted({{"pkg/t/test.xml", xml(kGood)},
                        {"pkg/t/test_attempts/attempt_2.xml", xml(kBad)},
                        {"pkg/t/test_attempts/attempt_1.xml", xml(kBad)}}),
                ElementsAre(": pkg/t/test_attempts/attempt_1.xml pkg/t/test_attempts/attempt_2.xml "
                            "pkg/t/test.xml"));
    EXPECT_THAT(sorted({{"linux-attempt-2/r.xml", xml(kGood)},
                        {"linux-attempt-1/r.xml", xml(kBad)},
                        {"mac-attempt-1/r.xml", xml(kBad)}}),
                ElementsAre("linux: linux-attempt-1/r.xml linux-attempt-2/r.xml",
                            "mac: mac-attempt-1/r.xml"));
}

TEST_F(ImportJobsTest, ShardsWithTheSameTestsAreKeptApart) {
    EXPECT_THAT(
        sorted({{"t/shard_1_of_2/test.xml", xml(kGood)}, {"t/shard_2_of_2/test.xml", xml(kBad)}}),
        ElementsAre(
            ": t/shard_1_of_2/test.xml (shard 1 of 2) t/shard_2_of_2/test.xml (shard 2 of 2)"));
    EXPECT_THAT(sorted({{"t/shard_1_of_2/u.xml", xml({{"test_x"}})},
                        {"t/shard_2_of_2/u.xml", xml({{"test_y"}})}}),
                ElementsAre(": t/shard_1_of_2/u.xml t/shard_2_of_2/u.xml"));
}

TEST_F(ImportJobsTest, ALogAndAFileOfOneRunTellOfItTwice) {
    EXPECT_THAT(sorted({{"ci.log", verbose_log(kGood)}, {"junit.xml", xml(kGood, at(1))}}),
                ElementsAre(": junit.xml ci.log (repeats)"));
    EXPECT_THAT(sorted({{"ci.log", verbose_log(kGood)}, {"junit.xml", xml(kBad, at(1))}}),
                ElementsAre("ci.log: ci.log (undecided)", "junit.xml: junit.xml (undecided)"));
    EXPECT_THAT(sorted({{"a.xml", xml(kGood, at(1))}, {"copy.xml", xml(kGood, at(1))}}),
                ElementsAre(": a.xml copy.xml (repeats)"));
    EXPECT_THAT(sorted({{"linux/ci.log", verbose_log(kGood)}, {"mac/junit.xml", xml(kGood, at(1))}}),
                ElementsAre("linux: linux/ci.log", "mac: mac/junit.xml"));
}

TEST_F(ImportJobsTest, ACtrfFileSaysItsJobHostShardAttemptAndTimes) {
    const auto pair = [&](std::string_view a, std::string_view b, int minute_of_b = 0) {
        return sorted({{"a.json", ctrf(kBad, a)}, {"b.json", ctrf(kGood, b, minute_of_b)}});
    };
    EXPECT_THAT(pair(R"("testEnvironment":"gpu")", R"("testEnvironment":"cpu")"),
                ElementsAre("cpu: b.json", "gpu: a.json"));
    EXPECT_THAT(pair(R"("osPlatform":"darwin")", R"("osPlatform":"linux")"),
                ElementsAre("b.json: b.json", "a.json: a.json"));
    EXPECT_THAT(pair(R"("extra":{"CI_JOB_NAME":"gpu"})", R"("extra":{"CI_JOB_NAME":"cpu"})"),
                ElementsAre("cpu: b.json", "gpu: a.json"));
    EXPECT_THAT(pair(R"("extra":{"shard":0})", R"("extra":{"shard":1})"),
                ElementsAre(": a.json (shard 0) b.json (shard 1)"));
    EXPECT_THAT(pair(R"("extra":{"run_attempt":"2"})", R"("extra":{"run_attempt":"1"})"),
                ElementsAre(": b.json a.json"));
    EXPECT_THAT(pair("", "", 5), ElementsAre(": a.json b.json"));
    EXPECT_THAT(pair("", "", -5), ElementsAre(": b.json a.json"));
    EXPECT_THAT(pair("", ""),
                ElementsAre("b.json: b.json (undecided)", "a.json: a.json (undecided)"));
}

TEST_F(ImportJobsTest, TimesOfTestsOrderReportLogs) {
    EXPECT_THAT(sorted({{"a.jsonl", report_log(kGood, 9)}, {"b.jsonl", report_log(kBad, 1)}}),
                ElementsAre(": b.jsonl a.jsonl"));
    EXPECT_THAT(sorted({{"a.jsonl", report_log(kGood, 1)}, {"b.jsonl", report_log(kBad, 1)}}),
                ElementsAre("a.jsonl: a.jsonl (undecided)", "b.jsonl: b.jsonl (undecided)"));
    // Beside the XML of the same run.
    EXPECT_THAT(sorted({{"a.jsonl", report_log(kBad, 1)}, {"r.xml", xml(kBad)}}),
                ElementsAre(": a.jsonl r.xml (repeats)"));
}

TEST_F(ImportJobsTest, WhereNothingDecidesBothAreShown) {
    EXPECT_THAT(
        sorted({{"a.xml", xml(kBad)}, {"b.xml", xml(kGood)}, {"c.xml", xml({{"test_c"}})}}),
        ElementsAre("other: c.xml", "b.xml: b.xml (undecided)", "a.xml: a.xml (undecided)"));
}

TEST_F(ImportJobsTest, TheUsersWordComesFirst) {
    EXPECT_THAT(sorted({{"a.xml", xml(kBad, at(1))}, {"b.xml", xml(kGood, at(9))}},
                       {{"a.xml", "mac"}, {"b.xml", "linux"}}),
                ElementsAre("linux: b.xml", "mac: a.xml"));
    EXPECT_THAT(sorted({{"a/r.xml", xml(kBad)}}, {{"a/r.xml", "mac"}}),
                ElementsAre("mac: a/r.xml"));
}

TEST(PlaceName, SaysAShardAndAnAttemptBesideAJob) {
    struct Row {
        std::string_view name, job, shard;
        std::optional<std::int64_t> attempt;
    };
    for (const Row& row : std::vector<Row>{{"py39", "py39", "", {}},
                                           {"shard_1_of_2", "", "1 of 2", {}},
                                           {"linux-py3.12-shard-4", "linux-py3.12", "4", {}},
                                           {"attempt_3", "", "", 3},
                                           {"junit-retry", "junit", "", 1},
                                           {"results-mac-run_attempt-2", "results-mac", "", 2},
                                           {"mac-split-2-attempt-1", "mac", "2", 1},
                                           {"test (mac, split 1)", "test (mac,)", "1", {}},
                                           {"retryable", "retryable", "", {}},
                                           {"particle2", "particle2", "", {}}}) {
        const PlaceName read = read_place_name(row.name, NameOf::file);
        EXPECT_EQ(read.job, row.job) << row.name;
        EXPECT_EQ(read.shard, row.shard) << row.name;
        EXPECT_EQ(read.attempt, row.attempt) << row.name;
    }
}

}  // namespace
}  // namespace compat::archive
