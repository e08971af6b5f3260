# %% [markdown]
# # A policy
# Which patients to treat, from what was done before. The data are generated, so that the truth is known.

# %%
import numpy as np
import pandas as pd

from omtree import OptimalPolicyTree
from omtree.constraints import AnswerShare

rng = np.random.default_rng(7)
n = 3000
X = pd.DataFrame(
    {
        "age": rng.integers(20, 85, n),
        "pressure": np.round(rng.normal(130, 18, n)),
        "smoker": rng.choice(["no", "yes"], n, p=[0.7, 0.3]),
    }
)
effect = np.where(X["pressure"] > 140, 1.0, -0.4) + np.where(X["smoker"] == "yes", 0.4, 0.0)
# Doctors treated the old more often, whether that helped or not.
chance = np.clip((X["age"] - 10) / 90, 0.1, 0.9)
treated = rng.random(n) < chance
outcome = -0.02 * X["age"] + np.where(treated, effect, 0.0) + rng.normal(0, 0.8, n)
treatment = np.where(treated, "treat", "wait")
train, test = slice(0, 2000), slice(2000, n)

# %%
model = OptimalPolicyTree(max_depth=2, max_leaves="auto").fit(X[train], treatment[train], outcome[train])
print(model.to_text())
print(model.certificate_)

# %%
print(model.evaluate(X[test], treatment[test], outcome[test]))
right = np.where(effect > 0, "treat", "wait")
print(f"right about {100 * (model.predict(X[test]) == right[test]).mean():.1f} % of the new rows")

# %% [markdown]
# Where treatment is scarce, who gets it?

# %%
scarce = OptimalPolicyTree(max_depth=2, constraints=[AnswerShare("treat", at_most=0.2)])
scarce.fit(X[train], treatment[train], outcome[train])
print(scarce.to_text())
print(f"{100 * scarce.certificate_.constraints[0].value:.1f} % are treated")

# %%
print("written:", model.report("policy.html", title="Whom to treat"))
