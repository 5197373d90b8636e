// Tables of names that no data structure holds: they are read from the text of the sources, in the
// order in which they stand there.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <stdexcept>

#include "runner/base/files.h"
#include "tests/docs/tables.h"
#include "tests/paths.h"

namespace compat::docs {

namespace {

std::string text_of(const std::string& path) {
    return read_file(std::filesystem::path(COMPAT_SOURCE_DIR) / path).value();
}

// The matches of the pattern's first group, each once.
std::vector<std::string> names_in(const std::vector<std::string>& files, const char* pattern) {
    std::vector<std::string> names;
    const std::regex regex(pattern);
    for (const std::string& file : files) {
        const std::string text = text_of(file);
        for (auto at = std::sregex_iterator(text.begin(), text.end(), regex);
             at != std::sregex_iterator(); ++at)
            if (std::ranges::find(names, (*at)[1].str()) == names.end()) names.push_back((*at)[1]);
    }
    if (names.empty()) throw std::runtime_error(fmt::format("nothing matches {}", pattern));
    return names;
}

Rows rows_of(const std::vector<std::string>& names, size_t prose) {
    Rows rows;
    for (const std::string& name : names) {
        rows.push_back({code(name)});
        rows.back().resize(1 + prose);
    }
    return rows;
}

struct Format {
    const char* what;
    const char* file;
    const char* pattern;
};
constexpr Format kFormats[] = {
    {"`suite.json`", "suites/load.h", R"(kFormat = (\d+);)"},
    {"`expectations.json`", "suites/expectations.h", R"(kExpectationsFormat = (\d+);)"},
    {"`hub.names.json`", "suites/hub_names.h", R"(kHubNamesFormat = (\d+);)"},
    {"`plan.json`", "runner/archive/run_folder.cc", R"(kPlanFormat = (\d+);)"},
    {"`record.jsonl`", "runner/archive/run_record.cc", R"(kRecordFormat = (\d+);)"},
    {"`gaps.jsonl`", "runner/archive/gap_record.cc", R"(kGapFormat = (\d+);)"},
    {"`<attempt>.events.jsonl`", "runner/harness/_compat_harness/session.py", R"(FORMAT = (\d+))"},
    {"`<attempt>.devices.jsonl`", "shim/python/compat_shim/record.py", R"(FORMAT = (\d+))"},
    {"`report.json`", "reports/json/json.h", R"(kReportFormat = (\d+);)"},
    {"`porting.json`", "reports/porting/pages.h", R"(kPortingFormat = (\d+);)"},
    {"`compare --format json`", "reports/compare/compare.h", R"(kCompareFormat = (\d+);)"},
    {"`scan --json`", "runner/display/scan/scan_json.h", R"(kScanJsonFormat = (\d+);)"},
    {"`gaps list --json`, `gaps export --json`", "reports/gaps.h", R"(kGapsFormat = (\d+);)"},
    {"`--progress json`", "runner/display/progress_json.cc", R"(kProgressFormat = (\d+);)"},
    {"`device-probe`", "runner/display/device_lines.cc", R"(kDevicesFormat = (\d+);)"},
    {"the device library's log", "shim/devices/log.cc", R"(kLogFormat = (\d+);)"},
    {"output of a scan of Python code", "runner/harness/scan/__main__.py", R"(FORMAT = (\d+))"},
    {"output of an API scan", "runner/analysis/scan/gap_scan.cc", R"(kScanFormat = (\d+);)"},
};

}  // namespace

Rows harness_events() {
    return rows_of(names_in({"runner/harness/_compat_harness/session.py",
                             "runner/harness/_compat_harness/recorder.py"},
                            R"(events\.write\(\s*"(\w+)\")"),
                   2);
}

Rows shim_events() {
    return rows_of(
        names_in({"shim/python/compat_shim/hook.py", "shim/python/compat_shim/record.py"},
                 R"x("event": "(\w+)")x"),
        2);
}

Rows record_events() {
    return rows_of(names_in({"runner/archive/run_record.cc"}, R"x(event == "(\w+)")x"), 1);
}

Rows gap_events() {
    return rows_of(names_in({"runner/archive/gap_record.cc"}, R"x("event", "(\w+)")x"), 1);
}

Rows device_events() {
    const std::string text = text_of("shim/record/recorder.h");
    const size_t begin = text.find("kEventKinds{");
    const std::string kinds = text.substr(begin, text.find('}', begin) - begin);
    Rows rows;
    const std::regex name(R"x("(\w+)")x");
    for (auto at = std::sregex_iterator(kinds.begin(), kinds.end(), name);
         at != std::sregex_iterator(); ++at)
        rows.push_back({code((*at)[1].str()), kProse});
    for (const auto& kind :
         names_in({"shim/python/compat_shim/record.py"}, R"x((?:PLATFORM|RACE) = "(\w+)")x"))
        rows.push_back({code(kind), kProse});
    return rows;
}

Rows marks() { return rows_of(names_in({"runner/analysis/marks.h"}, R"(bool (\w+) = false;)"), 1); }

Rows shim_variables() {
    return rows_of(
        names_in({"shim/python/compat_shim/settings.py", "shim/python/site/_compat_shim_site.py"},
                 R"x("((?:ACTIVATE|COMPAT|TORCHDEVICE|TORCH)_\w+)")x"),
        1);
}

Rows formats() {
    Rows rows;
    for (const Format& format : kFormats)
        rows.push_back({format.what, names_in({format.file}, format.pattern).front()});
    return rows;
}

}  // namespace compat::docs
