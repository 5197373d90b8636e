// The rows of the documentation's tables, made from the data that they restate. Not here: where a
// table stands and how it gets there (docs_test.cc).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::docs {

// Without a value: prose, which stands in the page alone and is kept.
using Cell = std::optional<std::string>;
// The first cell has a value; the page's prose belongs to the row with the same first cell.
using Rows = std::vector<std::vector<Cell>>;

inline constexpr std::nullopt_t kProse = std::nullopt;

[[nodiscard]] std::string code(std::string_view text);  // in backticks

// Tables of enums and constants (value_tables.cc).
[[nodiscard]] Rows commands();
[[nodiscard]] Rows shipped_suites();
[[nodiscard]] Rows exit_codes();
[[nodiscard]] Rows causes();
[[nodiscard]] Rows error_classes();
[[nodiscard]] Rows diagnostic_steps();
[[nodiscard]] Rows ladders();
[[nodiscard]] Rows attribution_rules();
[[nodiscard]] Rows states();
[[nodiscard]] Rows slurm_states();
[[nodiscard]] Rows module_outcomes();
[[nodiscard]] Rows attempt_kinds();
[[nodiscard]] Rows porting_changes();
[[nodiscard]] Rows change_classes();
[[nodiscard]] Rows standings();
[[nodiscard]] Rows blind_spots();
[[nodiscard]] Rows conditions();
[[nodiscard]] Rows judgements();
[[nodiscard]] Rows porting_columns();
[[nodiscard]] Rows gap_kinds();
[[nodiscard]] Rows dialects();
[[nodiscard]] Rows module_globs();
[[nodiscard]] Rows policy();
[[nodiscard]] Rows child_variables();
[[nodiscard]] Rows device_settings();
[[nodiscard]] Rows recoveries();
[[nodiscard]] Rows recovery_actions();

// Tables of the settings (settings_tables.cc).
[[nodiscard]] Rows settings();
[[nodiscard]] Rows limits();

// Tables of JSON and SQL schemas (schema_tables.cc).
[[nodiscard]] Rows suite_keys();
[[nodiscard]] Rows gap_fields();
[[nodiscard]] Rows progress_events();
[[nodiscard]] Rows process_ends();
[[nodiscard]] Rows database_tables();
[[nodiscard]] Rows database_views();
[[nodiscard]] Rows database_indices();
[[nodiscard]] Rows database_versions();
[[nodiscard]] Rows refusals();
[[nodiscard]] Rows promoted_dtypes();
[[nodiscard]] Rows metal_kernels();
[[nodiscard]] Rows ring_factors();
[[nodiscard]] Rows scan_groups();
[[nodiscard]] Rows cuda_replacements();
[[nodiscard]] Rows cuda_only();

// Tables of names that stand in source text alone (source_tables.cc).
[[nodiscard]] Rows harness_events();
[[nodiscard]] Rows shim_events();
[[nodiscard]] Rows record_events();
[[nodiscard]] Rows gap_events();
[[nodiscard]] Rows device_events();
[[nodiscard]] Rows marks();
[[nodiscard]] Rows shim_variables();
[[nodiscard]] Rows formats();

// The house (house_tables.cc): the sources of a folder but those of `other_rooms` below it, each
// with the first sentence of its first comment, empty where it has none; and the arrows between the
// libraries, without those that others imply, the highest library first.
[[nodiscard]] Rows files_of(const std::string& folder, const std::vector<std::string>& other_rooms);
[[nodiscard]] std::string arrows_drawn();

// A run's fields (run_fields.cc).
[[nodiscard]] Rows run_fields_of_docs();

// Whole files; of the schema of report.json, only a run's members.
[[nodiscard]] std::string settings_schema();
[[nodiscard]] std::string report_schema();

}  // namespace compat::docs
