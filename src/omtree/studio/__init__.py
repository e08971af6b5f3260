"""The studio: a local page on which a tree is asked for, seen, changed and signed off; needs ``omtree[studio]``."""
