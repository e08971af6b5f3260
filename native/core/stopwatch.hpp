// Tells a kernel when to stop: its time is up, or the caller wants it back.
#pragma once

#include <atomic>
#include <chrono>

namespace omtree {

class Stopwatch {
  public:
    Stopwatch(double seconds, const std::atomic<bool> &cancelled)
        : start_(std::chrono::steady_clock::now()), seconds_(seconds), cancelled_(cancelled) {}
    bool expired() const {
        if (cancelled_.load(std::memory_order_relaxed)) {
            return true;
        }
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
        return passed.count() > seconds_;
    }

  private:
    std::chrono::steady_clock::time_point start_;
    double seconds_;
    const std::atomic<bool> &cancelled_;
};

} // namespace omtree
