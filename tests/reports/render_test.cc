#include "reports/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/json.h"
#include "reports/markdown.h"
#include "runner/base/files.h"
#include "tests/support/temp_dir.h"

namespace compat::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Formats, AreNamedInALine) {
    EXPECT_THAT(*formats_of("md"), ElementsAre(Format::markdown));
    EXPECT_THAT(*formats_of("json,md,json"), ElementsAre(Format::json, Format::markdown));
    for (const auto* wrong : {"", "pdf", "md,", "md json", "MD"}) {
        const auto refused = formats_of(wrong);
        ASSERT_FALSE(refused) << wrong;
        EXPECT_EQ(refused.error().kind, ErrorKind::usage);
        EXPECT_THAT(refused.error().advice, HasSubstr("md, json"));
    }
}

ReportModel empty_model() {
    ReportModel model;
    model.run.suite = "alpha";
    model.run.fingerprint = "{}";
    return model;
}

TEST(WriteReports, WritesEachFormatIntoAFolderItMakes) {
    const test::TempDir folder;
    const ReportModel model = empty_model();
    const auto files =
        write_reports(model, folder / "new/folder", {Format::markdown, Format::json}, {});
    ASSERT_TRUE(files) << to_line(files.error());
    ASSERT_EQ(files->size(), 2u);
    EXPECT_EQ(files->at(0).path, folder / "new/folder/report.md");
    EXPECT_EQ(*read_file(files->at(0).path), to_markdown(model));
    EXPECT_EQ(*read_file(files->at(1).path), to_json(model));
}

TEST(WriteReports, AFolderThatCannotBeMadeIsAnIoError) {
    const test::TempDir folder;
    ASSERT_TRUE(write_file(folder / "file", "x"));
    const auto refused = write_reports(empty_model(), folder / "file/under", {Format::json}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::io);
}

TEST(Renderers, KnowTheModelAndNothingOfTheStore) {
    const std::filesystem::path folder = std::filesystem::path(COMPAT_SOURCE_DIR) / "reports";
    int seen = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const auto name = entry.path().filename().string();
        if (!name.ends_with(".h") && !name.ends_with(".cc")) continue;
        const bool includes_store =
            read_file(entry.path())->find("#include \"runner/store") != std::string::npos;
        EXPECT_EQ(includes_store, name == "model.cc") << name;
        ++seen;
    }
    EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace compat::reports
