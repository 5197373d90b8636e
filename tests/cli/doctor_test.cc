#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <set>

#include "runner/cli/doctor_checks.h"
#include "tests/support/temp_tree.h"

namespace compat::cli {
namespace {

using config::Setting;
using testing::StartsWith;
using Kind = Finding::Kind;

// Programs are looked for in a folder of the test alone.
class DoctorTest : public testing::Test {
  protected:
    void SetUp() override { ::setenv("PATH", (tree.root() / "bin").c_str(), 1); }
    void TearDown() override { ::setenv("PATH", path.c_str(), 1); }

    void add_program(std::string_view name, std::string_view script) const {
        const auto file = tree.write(std::filesystem::path("bin") / name, script);
        ::chmod(file.c_str(), 0755);
    }
    static DoctorInput input(const std::string& python, const std::string& folder) {
        config::Invocation invocation;
        invocation.flags = {{Setting::base_python, python},
                            {Setting::cache, folder},
                            {Setting::results, folder},
                            {Setting::isolation, "sandbox"}};
        return {*config::Settings::resolve(invocation, nullptr), std::nullopt, {}};
    }

    test::TempTree tree;
    const std::string path = std::getenv("PATH");
};

TEST_F(DoctorTest, EachCheckFindsWhatIsMissingAndSaysWhatToDo) {
    add_program("dpkg-query", "#!/bin/sh\nexit 1\n");
    // Nobody, not even root, makes a folder in a file.
    DoctorInput machine = input("/no/python3", tree.write("file").string() + "/folder");
    machine.suite.emplace();
    machine.suite->system_packages = {"ffmpeg"};
    machine.python = "/no/python";
    machine.environment = fail(ErrorKind::environment, "no Python at this path");
    std::set<std::string_view> names;
    for (const Requirement& requirement : requirements()) {
        SCOPED_TRACE(requirement.name);
        EXPECT_TRUE(names.insert(requirement.name).second);
        if (requirement.name == "gil") {  // of a Python that starts
            add_program("python3", "#!/bin/sh\necho cpython-314t-x86_64-linux-gnu\n");
            machine = input("python3", tree.root().string());
        }
        const auto findings = requirement.find(requirement, machine);
        ASSERT_EQ(findings.size(), 1u);
        EXPECT_EQ(findings[0].kind, Kind::missing);
        const std::string line = format_finding(requirement, findings[0]);
        const auto advice = line.find(": ");
        EXPECT_THAT(line, StartsWith("MISSING "));
        ASSERT_NE(advice, std::string::npos);
        EXPECT_GT(line.size(), advice + 2) << "no advice";
        EXPECT_EQ(line.find('{'), std::string::npos) << line;
    }
}

TEST_F(DoctorTest, EachCheckFindsWhatIsThere) {
    for (const auto* program : {"git", "cmake", "ninja", "g++"})
        add_program(program, "#!/bin/sh\n");
    add_program("python3", "#!/bin/sh\necho 3.99.1\n");
    DoctorInput machine = input("python3", (tree.root() / "new" / "folder").string());
    machine.python = "env";
    prepare::Environment environment;
    environment.torch_version = "2.13.0";
    machine.environment = environment;
    for (const Requirement& requirement : requirements()) {
        SCOPED_TRACE(requirement.name);
        if (requirement.name == "bwrap") continue;  // it starts a real sandbox
        for (const Finding& finding : requirement.find(requirement, machine)) {
            EXPECT_EQ(finding.kind, Kind::good);
            EXPECT_THAT(format_finding(requirement, finding), StartsWith("ok      "));
        }
    }
    const Requirement& python = requirements()[0];
    EXPECT_EQ(format_finding(python, python.find(python, machine)[0]),
              "ok      Python with venv (python3 3.99.1)");
}

TEST_F(DoctorTest, ASandboxThatNobodyAskedForIsNotMissing) {
    DoctorInput machine = input("python3", tree.root().string());
    config::Invocation invocation;
    machine.settings = *config::Settings::resolve(invocation, nullptr);
    for (const Requirement& requirement : requirements())
        if (requirement.name == "bwrap") {
            const auto findings = requirement.find(requirement, machine);
            ASSERT_EQ(findings.size(), 1u);
            EXPECT_EQ(findings[0].kind, Kind::unneeded);
            EXPECT_THAT(format_finding(requirement, findings[0]), StartsWith("without bwrap"));
        }
}

}  // namespace
}  // namespace compat::cli
