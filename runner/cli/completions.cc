// `runner completions`: prints a shell's completion script. The script asks this runner for the
// candidates (options/candidates.h), so it knows the options of whatever runner is typed.
#include <fmt/format.h>

#include <array>

#include "runner/base/text.h"
#include "runner/cli/options/candidates.h"
#include "runner/cli/command_line.h"
#include "runner/cli/commands.h"
#include "runner/cli/results.h"
#include "runner/display/device_lines.h"
#include "runner/display/output.h"
#include "runner/prepare/share.h"

namespace compat::cli {

namespace {

// A line of the answer is "word<tab>help"; these two ask the shell for paths.
constexpr std::string_view kFilesLine = ":files";
constexpr std::string_view kFoldersLine = ":folders";

constexpr std::string_view kBash =
    R"sh(# Completion of runner for bash, by `runner completions bash`.
_runner() {
    local current=${COMP_WORDS[COMP_CWORD]} line
    [[ $current == = ]] && current=
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files)
                compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current") ;;
            :folders)
                compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current") ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]/#\~/$HOME}" completions bash --candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _runner runner
)sh";

constexpr std::string_view kZsh = R"sh(#compdef runner
# Completion of runner for zsh, by `runner completions zsh`.
_runner() {
    local line word help paths
    local -a candidates
    while IFS= read -r line; do
        case $line in
            :files | :folders) paths=$line ;;
            *)
                word=${line%%$'\t'*} help=${line#*$'\t'}
                candidates+=("${word//:/\\:}${help:+:$help}") ;;
        esac
    done < <("${words[1]/#\~/$HOME}" completions zsh --candidates -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    local found=1
    (( $#candidates )) && _describe runner candidates && found=0
    [[ $paths == :files ]] && _files && found=0
    [[ $paths == :folders ]] && _files -/ && found=0
    return found
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
    _runner "$@"
else
    compdef _runner runner
fi
)sh";

constexpr std::string_view kFish =
    R"sh(# Completion of runner for fish, by `runner completions fish`.
function __runner_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -q current[1]; or set current ''
    set -l program (string replace -r '^~' $HOME -- $words[1])
    for line in ($program completions fish --candidates -- $words[2..-1] $current 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $current
            case :folders
                __fish_complete_directories $current
            case '*'
                echo $line
        end
    end
end
complete -c runner -f -a '(__runner_candidates)'
)sh";

struct ShellRow {
    std::string_view name, script;
};
constexpr std::array kShells{ShellRow{"bash", kBash}, ShellRow{"zsh", kZsh},
                             ShellRow{"fish", kFish}};

std::vector<Candidate> suites() {
    std::vector<Candidate> words;
    if (const auto share = prepare::find_share())
        for (const std::string& name : prepare::shipped_suites(*share))
            words.push_back({name, "shipped suite"});
    return words;
}

// None where nothing is stored: a completion does not explain errors.
std::vector<Candidate> runs(const config::Invocation& invocation) {
    std::vector<Candidate> words{{"latest", "the newest run"}};
    const auto results = open_existing(invocation);
    if (!results) return {};
    const auto stored = results->store.runs();
    if (!stored) return {};
    for (const auto& run : *stored) words.push_back({run.id, display::describe_way(run)});
    return words;
}

void print_candidates(const config::Invocation& invocation) {
    CLI::App app;
    config::Invocation described;
    describe_commands(app, described);
    const Candidates found =
        candidates_for(app, invocation.passed_on, {suites, [&] { return runs(invocation); }});
    for (const Candidate& one : found.words)
        print("{}\t{}\n", printable(one.word), printable(one.help));
    if (found.paths == Paths::files) print("{}\n", kFilesLine);
    if (found.paths == Paths::folders) print("{}\n", kFoldersLine);
}

struct CompletionsRequest {
    std::string shell;
    bool candidates = false;
};

Expected<ExitCode> completions(const CompletionsRequest& request,
                               const config::Invocation& invocation) {
    if (request.candidates) {
        print_candidates(invocation);
        return ExitCode::ok;
    }
    for (const ShellRow& row : kShells)
        if (row.name == request.shell) {
            display::put(display::people(), row.script);
            return ExitCode::ok;
        }
    return fail(ErrorKind::usage, fmt::format("no completion for \"{}\"", request.shell),
                "name bash, zsh or fish");
}

Action add_completions(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<CompletionsRequest>();
    app.add_option("SHELL", request->shell, "bash, zsh or fish")->required();
    // For the scripts: the words after "--" are the command line so far.
    app.add_flag("--candidates", request->candidates)->group("");
    return exits_with_code([request, &invocation] { return completions(*request, invocation); });
}

}  // namespace

Command completions_command() {
    return {"print a completion script for bash, zsh or fish",
            {},
            "Examples:\n  source <(runner completions bash)     # in ~/.bashrc\n"
            "  source <(runner completions zsh)      # in ~/.zshrc, after compinit\n"
            "  runner completions fish > ~/.config/fish/completions/runner.fish",
            add_completions,
            true};
}

}  // namespace compat::cli
