"""The certificate: what is known about a fitted model, and how it became known."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from omtree.data.wording import number
from omtree.model.assurance import Assurance
from omtree.model.notebook_html import html_table

if TYPE_CHECKING:
    from omtree.constraints.audit import ConstraintCheck

#: `stopped` means that a limit on iterations or columns, not on time, ended the work before a proof; an `alternative`
#: is known not to be the best model.
Status = Literal["optimal", "gap_reached", "time_limit", "stopped", "interrupted", "infeasible", "alternative"]


@dataclass(frozen=True)
class Certificate:
    """What is proven about a fitted model.

    Losses are in units of sample weight: with unit weights and ``objective="error"`` they count errors.

    Attributes
    ----------
    status : {"optimal", "gap_reached", "time_limit", "stopped", "interrupted", "infeasible", "alternative"}
        `optimal` is said only after a proof.
    value : float
        Loss of the model on the training rows, with the price of its leaves.
    bound : float
        No model of the search space has a smaller value than this.
    weight : float
        Sample weight of all training rows.
    unit : str
        What the loss is.
    counted : bool
        Whether the loss counts something, such as errors.
    score : str
        The score of which the loss is one minus, such as F1; empty where it is none.
    leaf_price : float
        What every leaf adds to the value.
    structure : {"rules", "tree"}
    leaves, depth : int
        Rules (leaves) of the model, and most conditions in one.
    search_space : str
        The models among which the bound holds.
    cuts : {"all", "some", ""}
        Whether these models cut numbers anywhere or at some points only; empty where no numbers are cut, or where it is
        not known.
    n_cuts : int
        At how many points, where it is some; where it is all, how many points smaller trees of the same fit are chosen
        from, if these are not all.
    all_cuts_bound : float or None
        Where it is some: no model of the same limits has a smaller value than this, wherever it cuts numbers; None
        where nothing is known of that.
    lp_value : float or None
        Optimum of the linear relaxation, where it was solved: over all rules if `exact_pricing`, otherwise over those
        that were generated.
    exact_pricing : bool or None
        Whether a last exact round showed that no rule was missing; None where no rules were priced.
    columns, rows, iterations : int
        Rules generated, coverage rows in the linear program, pricing rounds.
    ended : str
        Where only some rules were generated: why no more, and whether the best model over them is known.
    seconds : mapping of str to float
        Time per phase.
    total_seconds : float
        Time of the whole fit.
    constraints : tuple of ConstraintCheck
        Every constraint with its value, limit and slack, recomputed on the returned rules.
    assured : tuple of Assurance
        What holds for new rows with the confidence that constraints asked for.

    Examples
    --------
    >>> certificate = Certificate("time_limit", 20.0, 15.0, 150.0, leaves=4, depth=2)
    >>> certificate.gap
    0.25
    >>> print(certificate)
    time limit reached: the model makes 20 errors, and no model can make fewer than 15
      errors        20 of 150 (13.3 %)
      lower bound   15 (gap 25.0 %)
      model         4 rules, at most 2 conditions each
    """

    status: Status
    value: float
    bound: float
    weight: float
    unit: str = "errors"
    counted: bool = True
    score: str = ""
    leaf_price: float = 0.0
    structure: Literal["rules", "tree"] = "rules"
    leaves: int = 0
    depth: int = 0
    search_space: str = ""
    cuts: Literal["all", "some", ""] = ""
    n_cuts: int = 0
    all_cuts_bound: float | None = None
    lp_value: float | None = None
    exact_pricing: bool | None = None
    columns: int = 0
    rows: int = 0
    iterations: int = 0
    ended: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    total_seconds: float = 0.0
    constraints: tuple[ConstraintCheck, ...] = ()
    assured: tuple[Assurance, ...] = ()

    @property
    def gap(self) -> float:
        """``(value - bound) / value``; 0 when the two are equal."""
        return _relative(self.value, self.bound)

    @property
    def all_cuts_gap(self) -> float | None:
        """The share of the value that other cut points could save at most; None where that is not known."""
        if self.cuts == "all":
            return self.gap
        return None if self.all_cuts_bound is None else _relative(self.value, self.all_cuts_bound)

    @property
    def loss(self) -> float:
        """Loss of the model on the training rows."""
        if not self.leaf_price or self.value <= 0:
            return self.value
        # Beyond the digits of the value the difference is rounding.
        return round(self.value - self.leaf_price * self.leaves, 12 - math.ceil(math.log10(self.value)))

    @property
    def lp_gap(self) -> float | None:
        """``(value - lp_value) / value``, the gap between the integer and the linear optimum."""
        return None if self.lp_value is None else _relative(self.value, self.lp_value)

    @property
    def is_perfect(self) -> bool:
        """Whether there is nothing that another model could do better."""
        return self.counted and self.value == 0 and not self.leaf_price

    @property
    def has_no_bound(self) -> bool:
        """Whether nothing is proven but what needs no proof: that no number of errors, and no square, is below zero."""
        return self.bound <= 0.0 < self.value and (self.counted or self.is_squared)

    @property
    def is_squared(self) -> bool:
        """Whether the loss is a sum of squares, whose root mean is in the unit of the target."""
        return self.unit == "squared error" and self.weight > 0

    def root_mean(self, value: float) -> float:
        """The root of the mean square behind a sum of squares."""
        return math.sqrt(max(0.0, value) / self.weight)

    def unit_of(self, value: float) -> str:
        """What so much of the loss is called: one error, two errors."""
        return self.unit.removesuffix("s") if self.counted and value == 1 else self.unit

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, the two gaps included."""
        return {**asdict(self), "seconds": dict(self.seconds), "gap": self.gap, "lp_gap": self.lp_gap}

    def _repr_html_(self) -> str:
        verdict, *lines = str(self).splitlines()
        pairs = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines]
        return html_table((), [pair if len(pair) == 2 else ["", *pair] for pair in pairs], verdict)

    def __str__(self) -> str:
        value = number(self.loss)
        if self.counted:
            value += f" of {number(self.weight)}"
            value += f" ({100 * self.loss / self.weight:.1f} %)" if self.weight > 0 else ""
        if self.structure == "tree":
            size = f"{_count(self.leaves, 'leaf', 'leaves')}, depth {self.depth}"
        else:
            size = _count(self.leaves, "rule", "rules")
            size += f", at most {_count(self.depth, 'condition', 'conditions')} each" if self.depth else " for all rows"
        if self.score:
            lines = [(self.score, number(1.0 - self.value)), ("upper bound", number(1.0 - self.bound))]
        else:
            if self.is_squared:
                value += f" (root mean square {number(self.root_mean(self.loss))})"
            lines = [(self.unit, value), ("lower bound", f"{number(self.bound)} (gap {100 * self.gap:.1f} %)")]
            if self.all_cuts_bound is not None and self.all_cuts_gap is not None:
                lines.append(("over all cuts", f"{number(self.all_cuts_bound)} (gap {100 * self.all_cuts_gap:.1f} %)"))
            if self.leaf_price:
                lines.insert(1, ("with prices", f"{number(self.value)}, {number(self.leaf_price)} for a leaf"))
        if self.lp_value is not None and self.lp_gap is not None:
            lines.append(("LP value", f"{number(self.lp_value)} (gap to it {100 * self.lp_gap:.1f} %)"))
        lines.append(("model", size))
        if self.search_space:
            lines.append(("among", self.search_space))
        lines += [("constraint" if place == 0 else "", _check(check)) for place, check in enumerate(self.constraints)]
        lines += [("assured" if place == 0 else "", str(each)) for place, each in enumerate(self.assured)]
        if self.columns:
            pricing = {True: ", priced out exactly", False: ", not priced out", None: ""}[self.exact_pricing]
            rounds = _count(self.iterations, "round", "rounds")
            lines.append(("work", f"{number(self.columns)} columns, {number(self.rows)} rows, {rounds}{pricing}"))
        if self.ended:
            lines.append(("ended", self.ended))
        if self.total_seconds:
            phases = ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.seconds.items())
            lines.append(("seconds", f"{self.total_seconds:.2f}" + (f" ({phases})" if phases else "")))
        width = max(14, 2 + max(len(name) for name, _ in lines))
        return "\n".join([self._verdict(), *(f"  {name:<{width}}{text}" for name, text in lines)])

    def _verdict(self) -> str:
        """What is proven, in a sentence."""
        value, bound = number(self.value), number(self.bound)
        model = self._compared
        if self.leaf_price:
            size = _count(self.leaves, "leaf", "leaves")
            parts = (number(self.loss), self.unit_of(self.loss))
            loss = " ".join(parts if self.counted else parts[::-1])
            verb = f"the model costs {value}, {loss} and {number(self.leaf_price)} for each of its {size}"
            none, rest = f"no {model} costs less", f"no {model} costs less than {bound}"
        elif self.counted:
            verb = f"the model makes {value} {self.unit_of(self.value)}"
            none, rest = f"no {model} can make fewer", f"no {model} can make fewer than {bound}"
        elif self.score:
            verb, none = f"the {self.score} of the model is {number(1.0 - self.value)}", f"no {model} has a higher one"
            rest = f"no {model} has one above {number(1.0 - self.bound)}"
        else:
            name = self.unit
            if self.is_squared:
                name, value, bound = "RMSE", number(self.root_mean(self.value)), number(self.root_mean(self.bound))
            verb, rest = f"the {name} of the model is {value}", f"no {model} has one below {bound}"
            none = f"no {model} has a lower one"
        if self.has_no_bound:
            least = f"how few a {model} can make" if self.counted else f"how low a {model} can go"
            rest = f"{least} is not known"
        if self.constraints and self.status in ("time_limit", "stopped", "interrupted"):
            rest += f"; among those that meet the {self._limits} the search did not end"
        ended = {
            "optimal": "optimal",
            "gap_reached": "gap reached",
            "time_limit": "time limit reached",
            "stopped": "stopped at a limit on the work",
            "interrupted": "interrupted",
            "alternative": "another model",
        }
        if self.status == "infeasible":
            return "infeasible: no model meets the limits and constraints"
        if self.is_perfect:
            return f"{ended[self.status]}: the model makes no {self.unit} at all on these rows"
        if self.status != "optimal":
            return f"{ended[self.status]}: {verb}, and {rest}"
        if self.cuts == "some":
            return f"best found: {verb}; it is proven that {none}, and {self.beyond_its_cuts}"
        return f"optimal: {verb}, and it is proven that {none}"

    @property
    def beyond_its_cuts(self) -> str:
        """What is known of other cut points than those that were chosen from, as the end of a sentence."""
        if self.all_cuts_gap is None:
            return "other cut points are not excluded"
        # A share that was rounded down would not hold.
        share = math.ceil(1000.0 * self.all_cuts_gap - 1e-6) / 10.0
        return f"other cut points can save at most {share:.1f} % of {'them' if self.counted else 'the loss'}"

    @property
    def _limits(self) -> str:
        return "constraint" if len(self.constraints) == 1 else "constraints"

    @property
    def _compared(self) -> str:
        """What the model is compared with: all others, or those with its cut points or tests."""
        kind = "tree" if self.structure == "tree" else "set of rules"
        match self.cuts:
            case "all":
                return f"{kind} over any cut points"
            case "some":
                return f"{kind} with these {_count(self.n_cuts, 'cut point', 'cut points')}"
            case "":
                return "model"


def _relative(value: float, bound: float) -> float:
    if value <= bound:
        return 0.0
    return (value - bound) / abs(value) if value else math.inf


def _check(check: ConstraintCheck) -> str:
    if math.isnan(check.value):
        return f"{check.name}: nothing to measure"
    value = f"{check.name}: {number(check.value)}"
    if math.isinf(check.limit):
        return value
    return f"{value}, {check.sense} {number(check.limit)} (slack {number(check.slack)})"


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"
