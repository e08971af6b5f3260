# %% [markdown]
# # A fair tree
# Loans for people of two regions. The tree may not see the region, and its approvals may not depend on it by much.
# The people are generated.

# %%
import numpy as np
import pandas as pd

from omtree import OptimalTreeClassifier
from omtree.constraints import EqualOpportunity, StatisticalParity


def applicants(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """People with their columns, what became of their loan, and their region."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south"], size=n)
    X = pd.DataFrame(
        {
            "income": np.round(rng.normal(30 + 8 * (region == "north"), 9), 1),
            "debt": np.round(rng.gamma(2.0, 4.0, n), 1),
            "years_employed": rng.integers(0, 25, n),
            "owns_home": rng.random(n) < 0.4,
        }
    )
    score = 0.12 * (X["income"] - 33) - 0.15 * (X["debt"] - 8) + 0.06 * (X["years_employed"] - 12)
    y = np.where(score + 0.7 * rng.logistic(size=n) > 0, "repaid", "defaulted")
    return X, y, pd.DataFrame({"region": region})


X, y, groups = applicants(2000, seed=0)
X_new, y_new, groups_new = applicants(2000, seed=1)

# %% [markdown]
# Without a constraint, the best tree approves far more people in the north.

# %%
free = OptimalTreeClassifier(max_depth=2, time_limit=10).fit(X, y)
print(free.to_text())
print(pd.Series(free.predict(X) == "repaid").groupby(groups["region"]).mean())

# %% [markdown]
# The rates of approval may differ by at most 0.1.

# %%
parity = StatisticalParity("region", 0.1, class_="repaid")
fair = OptimalTreeClassifier(max_depth=2, time_limit=10, constraints=[parity]).fit(X, y, groups=groups)
print(fair.to_text())
print(fair.certificate_)

# %%
fair  # a notebook draws the tree

# %% [markdown]
# Another definition: among those who would repay, the rates of approval differ by at most 0.1.

# %%
chance = EqualOpportunity("region", 0.1, class_="repaid")
other = OptimalTreeClassifier(max_depth=2, time_limit=10, constraints=[chance]).fit(X, y, groups=groups)
print(other.certificate_)

# %% [markdown]
# What holds for people that the trees have not seen:

# %%
for name, model in (("parity", fair), ("opportunity", other)):
    for check in model.audit(X_new, y_new, groups=groups_new):
        print(f"{name}: {check.value:.3f}, {check.sense} {check.limit}: {'met' if check.met else 'broken'}")
    print(f"{name}: right on {100 * model.score(X_new, y_new):.1f} %")

# %%
print("written:", fair.report("fair-tree.html", X, y, X_new, y_new, title="Who repays?"))
