"""The scikit-learn face: parameters, labels, and the calls of everything else."""
