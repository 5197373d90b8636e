// The interface of every report format. A renderer is made with the model of the whole run, gets
// the modules one at a time, and writes bytes to a Sink in order. Pure.
#pragma once

#include <functional>
#include <string_view>

#include "reports/model.h"

namespace compat::reports {

using Sink = std::function<void(std::string_view bytes)>;

class Renderer {
  public:
    Renderer() = default;
    Renderer(const Renderer&) = delete;
    Renderer& operator=(const Renderer&) = delete;
    virtual ~Renderer() = default;

    virtual void add(const ModuleView& module) = 0;
    // Once, after the last module.
    virtual void finish() = 0;
};

}  // namespace compat::reports
