// What every format is made by: modules come by one at a time, and at the end what is to be said of
// the run as a whole. Pure; bytes leave through a Sink, in order.
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
    virtual void finish(const ReportModel& model) = 0;
};

}  // namespace compat::reports
