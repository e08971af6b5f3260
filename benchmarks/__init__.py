"""The paper's experiments and today's rivals, side by side; see README.md in this folder."""
