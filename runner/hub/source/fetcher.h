// Fetches from a hub elsewhere, over TLS, by a Python program (upstream.py), which checks content
// before it is kept. Not for what is recorded of it (store/lock.h).
#pragma once

#include "runner/hub/hub.h"
#include "runner/hub/source/line_client.h"
#include "runner/hub/source/source.h"
#include "runner/hub/store/blobs.h"

namespace compat::hub {

class Fetcher : public Source {
  public:
    Fetcher(const Settings& settings, std::function<void()> on_tick);
    void get(const Need& need, Done done) override;
    void stop() override { client_.stop(); }

  private:
    LineClient client_;
};

}  // namespace compat::hub
