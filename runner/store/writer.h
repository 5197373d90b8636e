// Writes values into rows within the caller's transaction. Throws SqlError.
#pragma once

#include <cstdint>
#include <string_view>

#include "runner/store/database.h"
#include "runner/store/store.h"

namespace compat::store {

void write_run(Database& database, const RunInfo& info);
void write_plan(Database& database, std::int64_t run, const std::vector<std::string>& paths);
// Unless it is the run's own reason.
void write_not_run_reason(Database& database, std::int64_t run, std::string_view module,
                          std::string_view reason);
void write_framework(Database& database, std::int64_t run, std::string_view framework);
void write_end(Database& database, std::int64_t run, const RunEnd& end);
void erase_end(Database& database, std::int64_t run);
void erase_run(Database& database, std::int64_t run);      // and its rows in other tables
void erase_modules(Database& database, std::int64_t run);  // and their rows in other tables
void write_job(Database& database, std::int64_t run, const JobResult& job);

}  // namespace compat::store
