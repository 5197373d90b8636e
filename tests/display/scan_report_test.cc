#include "runner/display/scan/scan_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/display/scan/scan_json.h"

namespace compat::display {
namespace {

analysis::CudaScan sample(int sites) {
    analysis::CudaScan scan;
    scan.python = "3.11.7";
    scan.code = "CUDA001";
    scan.files = 2;
    scan.actions = {{"replace", "replace", "written", true},
                    {"keep", "nothing to do", "fine", false}};
    scan.categories = {"streams", "events"};
    for (int i = 0; i < sites; ++i) {
        analysis::CudaSite site;
        site.file = "a.py";
        site.line = site.first_line = site.last_line = i + 1;
        site.column = 1;
        site.symbol = "torch.cuda.Event";
        site.category = i == 0 ? "events" : "streams";
        site.action = "replace";
        site.source = "x";
        site.write = "y";
        site.torch = site.fix_torch = "2.6";
        site.fix = "y";
        scan.sites.push_back(site);
    }
    return scan;
}

TEST(ScanReport, ShowsTenRowsOfAGroupAndCountsTheRest) {
    const std::string text = scan_report(sample(12), false);
    EXPECT_EQ(text.rfind("replace: 12 sites (written)\n  streams: 11\n    a.py:2   x  -> y\n", 0),
              0)
        << text;
    EXPECT_NE(text.find("    a.py:11  x  -> y\n  events: 1\n    … and 2 more; --all prints them\n"),
              std::string::npos)
        << text;
    EXPECT_NE(scan_report(sample(12), true).find("  events: 1\n    a.py:1 "), std::string::npos);
    EXPECT_EQ(scan_report(sample(0), false), "2 Python files: 0 sites in 0 files, 0 to change\n");
}

TEST(ScanReport, CountsInOneLineWhatAProgramUsesCudaFor) {
    EXPECT_EQ(describe_scan(sample(0)), "");
    EXPECT_EQ(describe_scan(sample(1)), "1 place in 1 file names CUDA: 1 replace");
    auto scan = sample(4);
    scan.sites[1].action = "keep";
    scan.sites[2].suppressed = true;
    scan.has_record = true;
    scan.sites[0].ran = analysis::Ran::yes;
    scan.sites[1].ran = analysis::Ran::no;
    EXPECT_EQ(describe_scan(scan),
              "3 places in 1 file name CUDA: 2 replace, 1 nothing to do; 1 ran, 1 did not, 1 "
              "unknown");
    scan.sites[3].ran = analysis::Ran::refused;
    EXPECT_TRUE(describe_scan(scan).ends_with("; 1 ran, 1 refused, 1 did not, 0 unknown"));
}

TEST(ScanReport, TakesBackWhatAVersionLacks) {
    auto scan = sample(1);
    analysis::limit_to_torch(scan, "2.10.0+cpu");
    EXPECT_EQ(scan.sites[0].action, "replace");
    analysis::limit_to_torch(scan, "2.5.1");
    EXPECT_EQ(scan.sites[0].action, "review");
    EXPECT_EQ(scan.sites[0].write, "");
    EXPECT_TRUE(analysis::has_version("2.10", "2.9"));
    EXPECT_FALSE(analysis::has_version("1.13.1", "2.0"));
    EXPECT_TRUE(analysis::has_version("2.8.0a0+git123", "2.8"));
}

TEST(ScanReport, CountsSuppressedSitesAndChangesNothingForThem) {
    auto scan = sample(2);
    scan.sites[0].suppressed = true;
    scan.unread = {{"b.py", 3, "invalid syntax"}};
    EXPECT_EQ(scan_report(scan, false),
              "replace: 1 site (written)\n  streams: 1\n    a.py:2  x  -> y\n\n"
              "not scanned by Python 3.11.7: 1 file\n    b.py:3: invalid syntax\n\n"
              "2 Python files: 2 sites in 1 file, 1 to change, 1 suppressed by # noqa: CUDA001, "
              "1 not scanned\n");
    const auto json = nlohmann::json::parse(cuda_scan_json(scan));
    EXPECT_EQ(json["to_change"], 1);
    EXPECT_EQ(json["sites"][0]["to_change"], false);
}

TEST(CudaScan, RefusesWhatIsNoScan) {
    EXPECT_FALSE(analysis::parse_cuda_scan("").has_value());
    EXPECT_FALSE(analysis::parse_cuda_scan("{\"format\": 2}").has_value());
    EXPECT_FALSE(analysis::parse_cuda_scan("{\"format\": 1}").has_value());
}

}  // namespace
}  // namespace compat::display
