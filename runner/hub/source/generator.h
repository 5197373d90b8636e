// Has content made that the store lacks, by a program (Program) that is asked in lines of JSON, and
// keeps the results, so that nothing is made twice. Not for how it is made: that program is
// runner/hub/generate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/hub/hub.h"
#include "runner/hub/source/line_client.h"
#include "runner/hub/source/source.h"
#include "runner/hub/store/blobs.h"

namespace compat::hub {

class Generator : public Source {
  public:
    Generator(Program program, Blobs& blobs, std::function<void()> on_tick);
    // A file of a known repository is added to it; its commit stays.
    void get(const Need& need, Done done) override;
    void stop() override { client_.stop(); }

  private:
    void get_cached_or_made(const Need& need, const std::string& generator, const Done& done);
    [[nodiscard]] std::optional<nlohmann::json> read_cached(const Need& need,
                                                            const std::string& cached) const;
    [[nodiscard]] Got keep(const Need& need, const nlohmann::json& answer,
                           const std::string& cached);
    [[nodiscard]] Expected<nlohmann::json> keep_files(const nlohmann::json& answer);

    Blobs& blobs_;
    const fs::path folder_;
    std::mutex mutex_;
    std::string key_;  // of the program, by its first line; empty: not known yet
    struct Waiting {
        Need need;
        Done done;
    };
    std::vector<Waiting> waiting_;  // for it
    std::uint64_t kept_ = 0;        // bytes, by the client's thread
    LineClient client_;             // last: its thread uses the others
};

}  // namespace compat::hub
