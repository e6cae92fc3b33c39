// GemmWorkspace as Python sees it: one caller at a time may use it.
#pragma once

#include <atomic>

#include "bindings/options.hpp"
#include "runtime/workspace.hpp"

namespace tropical {

class PyWorkspace {
  public:
    // Holds the workspace for one caller. Throws RuntimeError while another thread holds it. A
    // forked child takes over a workspace that another thread of its parent held, as the child has
    // no such thread.
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
    std::atomic<int> holder_ = 0;  // the process of the caller; 0: none
};

}  // namespace tropical
