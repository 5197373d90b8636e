// Every table of the documentation that restates data of the code, and every file that is generated
// from it: compared, and rewritten where COMPAT_UPDATE_GOLDEN is set.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <ranges>
#include <regex>
#include <set>

#include "runner/analysis/expectations/conditions.h"
#include "runner/base/files.h"
#include "suites/schema.h"
#include "tests/docs/tables.h"
#include "tests/paths.h"
#include "tests/support/redact.h"

namespace compat::docs {
namespace {

namespace fs = std::filesystem;

struct PageTable {
    const char* page;
    const char* name;  // in `<!-- generated: NAME -->`
    Rows (*rows)();
};
constexpr std::array kTables{
    PageTable{"README.md", "commands", commands},
    PageTable{"README.md", "shipped suites", shipped_suites},
    PageTable{"docs/guide/expectations.md", "conditions", conditions},
    PageTable{"docs/guide/import.md", "dialects", dialects},
    PageTable{"docs/guide/porting.md", "judgements", judgements},
    PageTable{"docs/guide/porting.md", "scan groups", scan_groups},
    PageTable{"docs/guide/porting.md", "replacements", cuda_replacements},
    PageTable{"docs/guide/porting.md", "cuda only", cuda_only},
    PageTable{"docs/guide/running.md", "limits", limits},
    PageTable{"docs/guide/slurm.md", "Slurm states", slurm_states},
    PageTable{"docs/reference/device-library.md", "device settings", device_settings},
    PageTable{"docs/reference/device-library.md", "recoveries", recoveries},
    PageTable{"docs/reference/device-library.md", "recovery actions", recovery_actions},
    PageTable{"docs/reference/attribution.md", "diagnostic steps", diagnostic_steps},
    PageTable{"docs/reference/attribution.md", "ladders", ladders},
    PageTable{"docs/reference/attribution.md", "attribution rules", attribution_rules},
    PageTable{"docs/reference/diagnosis.md", "causes", causes},
    PageTable{"docs/reference/diagnosis.md", "error classes", error_classes},
    PageTable{"docs/reference/exit-codes.md", "exit codes", exit_codes},
    PageTable{"docs/reference/collectives.md", "ring factors", ring_factors},
    PageTable{"docs/reference/file-formats.md", "formats", formats},
    PageTable{"docs/reference/file-formats.md", "harness events", harness_events},
    PageTable{"docs/reference/file-formats.md", "shim record", shim_events},
    PageTable{"docs/reference/file-formats.md", "record events", record_events},
    PageTable{"docs/reference/file-formats.md", "gap events", gap_events},
    PageTable{"docs/reference/file-formats.md", "progress events", progress_events},
    PageTable{"docs/reference/file-formats.md", "process ends", process_ends},
    PageTable{"docs/reference/file-formats.md", "porting columns", porting_columns},
    PageTable{"docs/reference/gaps.md", "gap kinds", gap_kinds},
    PageTable{"docs/guide/reading-a-report.md", "blind spots", blind_spots},
    PageTable{"docs/reference/gaps.md", "gap fields", gap_fields},
    PageTable{"docs/reference/settings.md", "settings", settings},
    PageTable{"docs/reference/settings.md", "child variables", child_variables},
    PageTable{"docs/reference/shim.md", "policy", policy},
    PageTable{"docs/reference/shim.md", "shim variables", shim_variables},
    PageTable{"docs/reference/mps-rules.md", "refusals", refusals},
    PageTable{"docs/reference/mps-rules.md", "promoted dtypes", promoted_dtypes},
    PageTable{"docs/reference/mps-rules.md", "metal kernels", metal_kernels},
    PageTable{"docs/reference/store-schema.md", "views", database_views},
    PageTable{"docs/reference/store-schema.md", "tables", database_tables},
    PageTable{"docs/reference/store-schema.md", "indices", database_indices},
    PageTable{"docs/reference/store-schema.md", "run fields", run_fields_of_docs},
    PageTable{"docs/reference/store-schema.md", "versions", database_versions},
    PageTable{"docs/reference/suite-format.md", "suite keys", suite_keys},
    PageTable{"docs/reference/suite-format.md", "module globs", module_globs},
    PageTable{"docs/reference/terms.md", "states", states},
    PageTable{"docs/reference/terms.md", "module outcomes", module_outcomes},
    PageTable{"docs/reference/terms.md", "attempt kinds", attempt_kinds},
    PageTable{"docs/reference/terms.md", "marks", marks},
    PageTable{"docs/reference/terms.md", "device events", device_events},
    PageTable{"docs/reference/terms.md", "porting changes", porting_changes},
    PageTable{"docs/reference/terms.md", "change classes", change_classes},
    PageTable{"docs/guide/site.md", "standings", standings},
};

struct GeneratedFile {
    const char* path;
    std::string (*text)();
};
constexpr std::array kFiles{
    GeneratedFile{"runner/config/config.schema.json", settings_schema},
    GeneratedFile{"reports/schemas/report.schema.json", report_schema},
};

// Text that no table is.
struct PagePart {
    const char* page;
    const char* name;
    std::string (*text)();
};
constexpr std::array kParts{
    PagePart{"docs/ARCHITECTURE.md", "arrows", arrows_drawn},
};

// A part of this name lists the files of the folder that follows.
constexpr std::string_view kFilesOf = "files of ";
// Parts that a Python program makes, which the mark names; its own tests compare them.
constexpr std::string_view kByProgram = ".py ";
constexpr const char* kFilesHeader = "| file | what it is |\n|---|---|\n";

struct Mark {
    std::string page, name;
    friend auto operator<=>(const Mark&, const Mark&) = default;
};

std::set<Mark> marks_of_pages() {
    std::set<Mark> marks;
    const fs::path root = COMPAT_SOURCE_DIR;
    std::vector<fs::path> pages{root / "README.md"};
    for (const auto& file : fs::recursive_directory_iterator(root / "docs"))
        if (file.path().extension() == ".md") pages.push_back(file.path());
    const std::regex mark("(^|\n)<!-- generated: ([^>]+) -->");
    for (const fs::path& page : pages) {
        const std::string text = read_file(page).value();
        for (auto at = std::sregex_iterator(text.begin(), text.end(), mark);
             at != std::sregex_iterator(); ++at)
            marks.insert({fs::relative(page, root).string(), (*at)[2]});
    }
    return marks;
}

// A row's cells; `\|` is text.
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells{""};
    for (size_t i = 1; i < line.size(); ++i) {
        if (line[i] == '|' && line[i - 1] != '\\')
            cells.emplace_back();
        else
            cells.back() += line[i];
    }
    cells.pop_back();
    for (std::string& cell : cells) {
        cell.erase(0, cell.find_first_not_of(' '));
        cell.erase(cell.find_last_not_of(' ') + 1);
    }
    return cells;
}

struct Part {
    std::string before, table, after;
};

Part split(const std::string& page, const std::string& name) {
    const std::string mark = "<!-- generated: " + name + " -->\n";
    const size_t at = page.find(mark);
    if (at == std::string::npos) return {};
    const size_t begin = at + mark.size();
    const size_t end = page.find("<!-- end generated -->", begin);
    return {page.substr(0, begin), page.substr(begin, end - begin), page.substr(end)};
}

// The header stays the page's, and so do the cells that are prose.
std::string merge(const std::string& table, const Rows& rows) {
    std::map<std::string, std::vector<std::string>> known;
    std::string text;
    for (const auto& piece : std::views::split(table, '\n')) {
        const std::string line(piece.begin(), piece.end());
        if (line.empty()) continue;
        if (std::ranges::count(text, '\n') < 2) text += line + '\n';
        const auto cells = cells_of(line);
        known[cells.front()] = cells;
    }
    for (const auto& row : rows) {
        const auto old = known.find(*row.front());
        text += '|';
        for (size_t i = 0; i < row.size(); ++i) {
            const std::string cell = row[i]                                         ? *row[i]
                                     : old != known.end() && i < old->second.size() ? old->second[i]
                                                                                    : "TODO";
            text += cell.empty() ? " |" : fmt::format(" {} |", cell);
        }
        text += '\n';
    }
    return text;
}

// Compares the part of a page with what `make` makes of it, and rewrites it where it may.
void expect_part(const std::string& page, const std::string& name,
                 const std::function<std::string(const std::string& now)>& make) {
    const auto text = read_file(fs::path(COMPAT_SOURCE_DIR) / page);
    ASSERT_TRUE(text) << to_line(text.error());
    const Part part = split(*text, name);
    ASSERT_FALSE(part.before.empty()) << page << " has no <!-- generated: " << name << " -->";
    const std::string made = make(part.table);
    EXPECT_EQ(made.find("| TODO |"), std::string::npos) << made;
    if (made == part.table) return;
    if (std::getenv("COMPAT_UPDATE_GOLDEN") == nullptr)
        FAIL() << page << ", " << name << ": COMPAT_UPDATE_GOLDEN=1 docs_test rewrites this:\n"
               << part.table << "to this:\n"
               << made;
    ASSERT_TRUE(write_file(fs::path(COMPAT_SOURCE_DIR) / page, part.before + made + part.after));
}

void PrintTo(const PageTable& table, std::ostream* out) { *out << table.page; }

class Tables : public testing::TestWithParam<PageTable> {};

TEST_P(Tables, IsGenerated) {
    const auto& [page, name, rows] = GetParam();
    ASSERT_FALSE(rows().empty());
    expect_part(page, name, [&](const std::string& now) { return merge(now, rows()); });
}

std::string name_of_test(const testing::TestParamInfo<PageTable>& info) {
    std::string name = info.param.name;
    std::ranges::replace(name, ' ', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Pages, Tables, testing::ValuesIn(kTables), name_of_test);

TEST(Files, AreGenerated) {
    for (const GeneratedFile& file : kFiles) test::expect_file(file.path, file.text());
}

// The schema decides what a file may have, the table what it means.
TEST(Tables, ConditionsAreThoseOfTheSchema) {
    std::set<std::string> ours, theirs;
    for (const auto& row : analysis::kConditions)
        ours.insert(fmt::format("{} {}", row.name, static_cast<int>(row.type)));
    constexpr std::array<std::string_view, 3> kTypes{"#/definitions/words", "#/definitions/version",
                                                     ""};
    const auto schema = nlohmann::json::parse(suites::schema_text(suites::SchemaOf::expectations));
    for (const auto& [name, value] : schema["definitions"]["when"]["properties"].items()) {
        const auto type = std::ranges::find(kTypes, value.value("$ref", ""));
        theirs.insert(fmt::format("{} {}", name, type - kTypes.begin()));
    }
    EXPECT_EQ(ours, theirs);
}

TEST(Parts, AreGenerated) {
    for (const auto& [page, name, text] : kParts)
        expect_part(page, name, [&](const std::string&) { return text(); });
}

TEST(Rooms, ListTheirFiles) {
    std::vector<std::string> folders;
    for (const auto& [page, name] : marks_of_pages())
        if (name.starts_with(kFilesOf)) folders.push_back(name.substr(kFilesOf.size()));
    ASSERT_FALSE(folders.empty());
    for (const auto& [page, name] : marks_of_pages()) {
        if (!name.starts_with(kFilesOf)) continue;
        const Rows files = files_of(name.substr(kFilesOf.size()), folders);
        EXPECT_FALSE(files.empty()) << name;
        for (const auto& row : files)
            EXPECT_FALSE(row.back()->empty())
                << name << ": " << *row.front() << " does not begin with a comment that is a "
                << "sentence: what it is for";
        expect_part(page, name, [&](const std::string&) { return merge(kFilesHeader, files); });
    }
}

TEST(Tables, HaveAGeneratorForEachMark) {
    std::set<Mark> known;
    for (const PageTable& table : kTables) known.insert({table.page, table.name});
    for (const PagePart& part : kParts) known.insert({part.page, part.name});
    std::set<Mark> marked = marks_of_pages();
    std::erase_if(marked, [](const Mark& mark) {
        return mark.name.starts_with(kFilesOf) || mark.name.find(kByProgram) != std::string::npos;
    });
    EXPECT_EQ(marked, known);
}

}  // namespace
}  // namespace compat::docs
