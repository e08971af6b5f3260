# %% [markdown]
# # A cheap diagnosis
# Tests have prices. How many errors does a limit on the price of a diagnosis cost, and who needs the dear test?
# The patients are generated.

# %%
import numpy as np
import pandas as pd

from omtree import OptimalTreeClassifier
from omtree.constraints import Budget, Recall

rng = np.random.default_rng(1)
n = 1500
ill = rng.random(n) < 0.35
X = pd.DataFrame(
    {
        "age": rng.integers(25, 80, n) + 6 * ill,
        "pulse": np.round(rng.normal(74 + 6 * ill, 10)),
        "blood_sugar": np.round(rng.normal(5.4 + 0.9 * ill, 0.9), 1),
        "cholesterol": np.round(rng.normal(5.0 + 0.8 * ill, 0.9), 1),
        "scan": np.round(rng.normal(1.0 * ill, 0.45), 2),
    }
)
y = np.where(ill, "ill", "healthy")
prices = {"blood_sugar": 5, "cholesterol": 7, "scan": 100}
shared = {"blood_sugar": ("blood", 3), "cholesterol": ("blood", 5)}  # once blood is drawn, the other is cheaper

# %% [markdown]
# A limit for every patient: the best tree within each.

# %%
for limit in (0, 10, 100, 110):
    budget = Budget(prices, limit, shared)
    model = OptimalTreeClassifier(max_depth=3, max_leaves=6, time_limit=10, constraints=[budget]).fit(X, y)
    dearest, average = model.certificate_.constraints
    print(f"limit {limit}: {model.certificate_.value:g} errors, {average.value:.2f} a patient on average")

# %% [markdown]
# A price in the loss: an error is worth 500 units of money.

# %%
frugal = OptimalTreeClassifier(
    max_depth=3, max_leaves=6, time_limit=10, constraints=[Budget(prices, weight=0.002, groups=shared)]
).fit(X, y)
print(frugal.to_text())
print((frugal.predict(X) != y).sum(), "errors")

# %%
frugal  # a notebook draws the tree

# %% [markdown]
# Cheap tests only, but nine of ten ill people have to be found: then more healthy people are called ill.

# %%
careful = OptimalTreeClassifier(
    max_depth=2, time_limit=20, constraints=[Budget(prices, 10, shared), Recall("ill", at_least=0.9)]
).fit(X, y)
print(careful.to_text())
print(careful.certificate_)

# %%
print("written:", frugal.report("cheap-diagnosis.html", X, y, title="Who needs a scan?"))
