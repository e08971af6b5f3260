"""Provably optimal multiway-split decision trees and rule sets, with constraints and a certificate."""

__version__ = "0.1.0"
