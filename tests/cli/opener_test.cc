// Which program opens a report, on each system.
#include "runner/cli/results/opener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace compat::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Opener opener(const std::string& os, const std::map<std::string, std::string>& variables,
              const std::set<std::string>& programs) {
    const Desktop desktop{os,
                          [&](const char* name) {
                              const auto at = variables.find(name);
                              return at == variables.end() ? "" : at->second;
                          },
                          [&](const std::string& name) { return programs.contains(name); },
                          [](const std::string&) { return std::string("C:\\r.html"); }};
    return opener_of(desktop, "/r.html", "file:///r.html");
}

TEST(Opener, IsTheSystemsOwn) {
    EXPECT_THAT(opener("macOS 14.5", {}, {}).argv, ElementsAre("open", "/r.html"));
    EXPECT_THAT(opener("Debian", {{"WAYLAND_DISPLAY", "w"}}, {"xdg-open", "open"}).argv,
                ElementsAre("xdg-open", "/r.html"));
    const Opener explorer =
        opener("Ubuntu", {{"WSL_DISTRO_NAME", "Ubuntu"}}, {"explorer.exe", "xdg-open"});
    EXPECT_THAT(explorer.argv, ElementsAre("explorer.exe", "C:\\r.html"));
    EXPECT_FALSE(explorer.reports_failure);
}

TEST(Opener, IsTheUsersBrowserFirst) {
    for (const char* os : {"macOS 14.5", "Debian"})
        EXPECT_THAT(opener(os, {{"BROWSER", "a:b -x"}, {"SSH_TTY", "t"}}, {"b"}).argv,
                    ElementsAre("b", "-x", "file:///r.html"));
    EXPECT_THAT(opener("Debian", {{"BROWSER", "b --url=%s -y"}}, {"b"}).argv,
                ElementsAre("b", "--url=file:///r.html", "-y"));
}

TEST(Opener, IsNoneWhereNobodyWouldSeeIt) {
    const Opener remote = opener("macOS 14.5", {{"SSH_CONNECTION", "a b"}}, {});
    EXPECT_THAT(remote.argv, IsEmpty());
    EXPECT_THAT(remote.why_not, HasSubstr("SSH"));
    EXPECT_THAT(opener("Debian", {}, {"xdg-open"}).why_not, HasSubstr("no display"));
}

}  // namespace
}  // namespace compat::cli
