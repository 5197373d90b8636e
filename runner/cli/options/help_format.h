// Help of all commands: at most 80 columns, descriptions in one column.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "runner/config/settings_table.h"

namespace compat::cli {

inline constexpr std::size_t kHelpColumns = 80;

// `text` beside `name`, or below a long name.
[[nodiscard]] std::string help_entry(std::string_view name, std::string_view text);

// A command with many options lists this one under `heading`.
inline void list_under(config::Heading heading, std::initializer_list<CLI::Option*> options) {
    for (CLI::Option* option : options) option->group(std::string(name_of(heading)));
}

// "redirection" of "Redirection and devices": its name for `runner help`.
[[nodiscard]] std::string topic_of(std::string_view heading);
// The topics of all headings that options stand under.
[[nodiscard]] std::vector<std::string> help_topics();
// A command's options under a heading; empty: none.
[[nodiscard]] std::string options_under(const CLI::App& app, std::string_view heading);

class HelpFormat : public CLI::Formatter {
  public:
    HelpFormat();
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override;
    std::string make_description(const CLI::App* app) const override;
    std::string make_option(const CLI::Option* option, bool is_positional) const override;
    std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace compat::cli
