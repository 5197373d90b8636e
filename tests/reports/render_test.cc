#include "reports/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/json.h"
#include "reports/markdown.h"
#include "runner/base/files.h"
#include "tests/support/temp_tree.h"

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
    const test::TempTree folder;
    const ReportModel model = empty_model();
    const auto files =
        write_reports(model, folder.root() / "new/folder", {Format::markdown, Format::json}, {});
    ASSERT_TRUE(files) << to_line(files.error());
    ASSERT_EQ(files->size(), 2u);
    EXPECT_EQ(files->at(0).path, folder.root() / "new/folder/report.md");
    EXPECT_EQ(*read_file(files->at(0).path), to_markdown(model));
    EXPECT_EQ(*read_file(files->at(1).path), to_json(model));
}

TEST(WriteReports, AFolderThatCannotBeMadeIsAnIoError) {
    const test::TempTree folder;
    ASSERT_TRUE(write_file(folder.root() / "file", "x"));
    const auto refused =
        write_reports(empty_model(), folder.root() / "file/under", {Format::json}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::io);
}

}  // namespace
}  // namespace compat::reports
