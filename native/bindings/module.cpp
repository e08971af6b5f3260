// The module `omtree._native`; only this folder knows Python.
#include "bindings/arrays.hpp"

NB_MODULE(_native, m) {
    omtree::bindings::bind_data(m);
    omtree::bindings::bind_loss(m);
    omtree::bindings::bind_trees(m);
    omtree::bindings::bind_cuts(m);
    omtree::bindings::bind_neighbourhood(m);
    omtree::bindings::bind_rules(m);
    m.def("interrupts", [] { return omtree::bindings::interrupts.load(); });
    m.def("count_interrupt", [] { ++omtree::bindings::interrupts; });
}
