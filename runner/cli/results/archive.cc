// `runner archive`: packs a run as one file.
#include "runner/archive/packed/run_archive.h"
#include "runner/archive/results.h"
#include "runner/archive/run_folder.h"
#include "runner/archive/shards.h"
#include "runner/base/files/run_folder_name.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/results.h"
#include "runner/display/output.h"

namespace compat::cli {

namespace {

struct ArchiveRequest {
    std::string run = "latest";
    std::string out;  // empty: `<run>.tar.zst`
};

// The id of a run in the database, or of a shard.
Expected<std::string> id_of(const fs::path& results, const std::string& name) {
    const auto stored = open_existing(results).and_then(
        [&](const Results& opened) { return opened.store.find_run(name); });
    if (stored) return stored;
    const auto shard = archive::find_shard(results, name);
    return shard ? Expected<std::string>(shard->info.id) : stored;
}

Expected<ExitCode> archive_run(const ArchiveRequest& request,
                               const config::Invocation& invocation) {
    const auto results = TRY(config::results_folder(invocation));
    const auto id = TRY(id_of(results, request.run));
    const fs::path out =
        fs::absolute(request.out.empty() ? id + std::string(archive::kArchiveSuffix) : request.out);
    if (!out.filename().string().ends_with(archive::kArchiveSuffix))
        return fail(ErrorKind::usage, "an archive's name ends in .tar.zst",
                    "commands know it by that", out.string());
    return archive::archive_run(results, id, out).map([&](const auto& packed) {
        std::error_code error;
        const std::uint64_t files = archive::folder_bytes(results / run_folder_name(id));
        print("{}\n{} of files in {}\n", printable(out.string()), format_size(files),
              format_size(fs::file_size(out, error)));
        if (packed.is_too_large)
            print("note: commands refuse an archive that unpacks to so much; `tar` unpacks it\n");
        for (const std::string& name : packed.left_out) print("left out: {}\n", printable(name));
        return ExitCode::ok;
    });
}

Action add_archive(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<ArchiveRequest>();
    app.add_option("RUN", request->run, kRunHelp)->capture_default_str();
    app.add_option("--out", request->out, "file to write [<run>.tar.zst]")->type_name("FILE");
    return exits_with_code([request, &invocation] { return archive_run(*request, invocation); });
}

}  // namespace

Command archive_command() {
    return {"pack a run into one file (readable without unpacking)",
            {Setting::results},
            "report, show, open, compare and merge take it as RUN or FOLDER; serve and\n"
            "all of them as --results.\n"
            "Examples:\n"
            "  runner archive einops@latest --out before.tar.zst\n"
            "  runner compare before.tar.zst latest",
            add_archive};
}

}  // namespace compat::cli
