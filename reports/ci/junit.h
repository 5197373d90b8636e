// The report for CI systems that read JUnit XML, in the dialect of Jenkins and Surefire
// (docs/reference/file-formats.md). Not for reading such files (parsers/import/junit/junit_xml.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "reports/renderer.h"

namespace compat::reports {

// Writes each module when it is added, one test at a time.
[[nodiscard]] std::unique_ptr<Renderer> junit_report(const ReportModel& model, Sink sink);

// Text that XML 1.0 can hold: without terminal escapes, and with characters that it forbids as
// pytest writes them ("#x00").
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace compat::reports
