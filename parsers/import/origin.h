// The job, shard and attempt of a result file by its properties. Not for
// files that are told apart by their folders (runner/archive/imported/import_jobs.h).
#pragma once

#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// A property by its name as CI services, test runners and people write it: "CI_JOB_NAME",
// "job.name", "GTEST_SHARD_INDEX", "run-attempt". Others are passed over.
void take_property(Origin& origin, std::string_view name, std::string_view value);

// A run of `seconds` that began at `timestamp` (parse_iso8601), one of several of the part.
void take_times(Origin& origin, std::string_view timestamp, double seconds);

}  // namespace compat::parsers
