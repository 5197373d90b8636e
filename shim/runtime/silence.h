// No warning of torch's while an instance lives: it warns of each kernel that replaces another, and
// two hundred such lines would help nobody.
#pragma once

#include <c10/util/Exception.h>

namespace compat::shim {

class Silence {
  public:
    Silence() : guard_(&handler_) {}

  private:
    struct Handler final : c10::WarningHandler {
        void process(const c10::Warning&) override {}
    };
    Handler handler_;
    c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace compat::shim
