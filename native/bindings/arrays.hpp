// What the bindings share: arrays in and out, deadlines, and calls that Ctrl-C can end.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace omtree::bindings {

namespace nb = nanobind;

template <typename T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using MutableVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T> std::span<const T> view(const Vector<T> &array) {
    return {array.data(), array.size()};
}
template <typename T> std::span<T> view(const MutableVector<T> &array) {
    return {array.data(), array.size()};
}
template <typename T> std::span<const T> view(const Matrix<T> &array) {
    return {array.data(), array.size()};
}

/// Conditions that each of some rules has room for.
inline int width_of(const Matrix<std::int32_t> &rules) {
    return static_cast<int>(rules.shape(1));
}

/// A one-dimensional numpy array that owns the vector's elements.
template <typename T> auto to_numpy(std::vector<T> &&vector) {
    auto *kept = new std::vector<T>(std::move(vector));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

/// A two-dimensional numpy array that owns the vector's elements, row by row.
template <typename T> auto to_numpy(std::vector<T> &&vector, std::size_t n_rows, std::size_t n_columns) {
    auto *kept = new std::vector<T>(std::move(vector));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<2>>(kept->data(), {n_rows, n_columns}, owner);
}

/// How often Ctrl-C has ended a kernel call: what no caller can forget to hand on.
inline std::atomic<long> interrupts{0};

/// Runs a kernel call on a thread of its own, so that this one can look for Ctrl-C; true when it came. The call is then
/// asked to stop through `cancelled` and still returns what it has. Now and then, with the interpreter held, `report`
/// is called; what it raises ends the call as well, and is raised here.
template <typename Call>
bool interruptibly(std::atomic<bool> &cancelled, const Call &call, const std::function<void()> &report = nullptr) {
    std::mutex mutex;
    std::condition_variable finished;
    bool done = false;
    bool interrupted = false;
    std::exception_ptr error;
    std::exception_ptr raised;
    nb::gil_scoped_release release;
    std::thread worker([&] {
        try {
            call();
        } catch (...) {
            error = std::current_exception();
        }
        {
            const std::lock_guard lock(mutex);
            done = true;
        }
        // Told without the lock, or the other thread would wake only to wait for it.
        finished.notify_one();
    });
    {
        std::unique_lock lock(mutex);
        while (!finished.wait_for(lock, std::chrono::milliseconds(20), [&] { return done; })) {
            lock.unlock();
            {
                nb::gil_scoped_acquire acquire;
                if (PyErr_CheckSignals() != 0) {
                    PyErr_Clear();
                    interrupted = true;
                    ++interrupts;
                    cancelled = true;
                }
                if (report && !cancelled) {
                    try {
                        report();
                    } catch (...) {
                        raised = std::current_exception();
                        cancelled = true;
                    }
                }
            }
            lock.lock();
        }
    }
    worker.join();
    if (raised) {
        std::rethrow_exception(raised);
    }
    if (error) {
        std::rethrow_exception(error);
    }
    return interrupted;
}

inline void raise_if(bool interrupted) {
    if (interrupted) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
}

inline std::chrono::steady_clock::time_point moment(double seconds) {
    using Clock = std::chrono::steady_clock;
    return seconds < 1e9
               ? Clock::now() +
                     std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::max(seconds, 0.0)))
               : Clock::time_point::max();
}

/// One function a folder of the kernel.
void bind_data(nb::module_ &m);
void bind_loss(nb::module_ &m);
void bind_trees(nb::module_ &m);
void bind_cuts(nb::module_ &m);
void bind_neighbourhood(nb::module_ &m);
void bind_rules(nb::module_ &m);

} // namespace omtree::bindings
