# %% [markdown]
# # Survival
# Who leaves soon? Customers of a generated subscription; most are still there when one looks.

# %%
import numpy as np
import pandas as pd

from omtree import OptimalSurvivalTree
from omtree.constraints import MinEvents

rng = np.random.default_rng(3)
n = 2000
X = pd.DataFrame(
    {
        "price": np.round(rng.uniform(5, 50, n), 1),
        "plan": rng.choice(["monthly", "yearly"], n, p=[0.6, 0.4]),
        "calls": rng.poisson(1.5, n),
    }
)
rate = 0.03 * np.where(X["plan"] == "monthly", 3.0, 1.0) * np.where(X["calls"] >= 3, 2.5, 1.0)
left, looked = rng.exponential(1 / rate), rng.uniform(1, 24, n)
y = np.zeros(n, dtype=[("left", bool), ("months", float)])
y["left"], y["months"] = left <= looked, np.minimum(left, looked)
train, test = slice(0, 1400), slice(1400, n)

# %%
model = OptimalSurvivalTree(max_depth=2, max_leaves="auto", constraints=[MinEvents(10)]).fit(X[train], y[train])
print(model.to_text())
print(model.certificate_)

# %%
print(model.expect(X[test], y[test]))
print(f"concordance {model.score(X[test], y[test]):.3f}, Brier score {model.brier_score(X[test], y[test]):.3f}")

# %%
curve = model.predict_survival_function(X[test][:1])[0]
print("still there after 3, 6 and 12 months:", np.round(curve([3.0, 6.0, 12.0]), 2))

# %%
print("written:", model.report("survival.html", X[train], y[train], X[test], y[test], title="Who leaves soon"))
