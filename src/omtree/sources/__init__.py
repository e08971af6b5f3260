"""Where rows come from: memory, files, a cluster. All answer the same question: the joint counts, please."""
