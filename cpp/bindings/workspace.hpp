// GemmWorkspace as Python sees it: one user at a time.
#pragma once

#include <unistd.h>

#include <atomic>

#include "../workspace.hpp"
#include "options.hpp"

namespace tropical {

class PyWorkspace {
  public:
    // Holds the workspace for one caller; throws RuntimeError while another thread has it. A forked
    // child takes over what a thread of its parent held: that thread does not exist in it.
    class Lease {
      public:
        explicit Lease(PyWorkspace& owner);
        ~Lease() { owner_.holder_.store(0, std::memory_order_release); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Workspace& memory() { return owner_.memory_; }

      private:
        PyWorkspace& owner_;
    };

    void reserve(const py::object& m, const py::object& n, const py::object& k,
                 const py::object& dtype, const py::object& semiring, const py::object& threads);
    ptrdiff_t bytes() const { return memory_.bytes(); }
    ptrdiff_t allocations() const { return memory_.allocations(); }
    void clear() { Lease(*this).memory().clear(); }

  private:
    Workspace memory_;
    std::atomic<pid_t> holder_ = 0;
};

void bind_workspace(py::module_& module);

}  // namespace tropical
