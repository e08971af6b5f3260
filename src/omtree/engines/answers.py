"""What solving a problem came to: a tree as its engine knows it, and a model with all that is known about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from omtree.errors import InfeasibleError
from omtree.model.rule_facts import Reader
from omtree.model.rules import RuleSet
from omtree.model.sizes import SizedTrees, TreeFamily
from omtree.model.tree import Tree, summary_of
from omtree.problem.forced_parts import with_given_parts
from omtree.problem.problem import Node, Problem, Solution


@dataclass(frozen=True)
class TreeAnswer:
    """What a search for trees found.

    Attributes
    ----------
    solution : Solution
        In the common terms.
    root : Node or None
        The best tree; None when the problem is infeasible.
    n_sizes : int
    sizes : callable or None
        Finds the best trees of all sizes; None where they are not to be had.
    fewest : bool
        Whether the search that found it prefers fewer leaves among trees of one loss.
    """

    solution: Solution
    root: Node | None
    n_sizes: int = 1
    sizes: Callable[[], SizedTrees] | None = None
    fewest: bool = True

    def after(self, elapsed: float) -> TreeAnswer:
        """The answer with its times completed: what is not in it of the time so far went into the data."""
        seconds = self.solution.seconds
        data = max(0.0, elapsed - sum(seconds.values()))
        return replace(self, solution=replace(self.solution, seconds={"data": data, **seconds}))

    def as_given(self, problem: Problem) -> TreeAnswer:
        """The same with the conditions that a problem gives, where it does."""
        if not problem.limits.forced or self.root is None:
            return self
        sizes = self.sizes
        given = None if sizes is None else lambda: sizes().changed(lambda root: with_given_parts(root, problem))
        return replace(self, root=with_given_parts(self.root, problem), sizes=given)

    def times(self, unit: float) -> TreeAnswer:
        """The same with losses in other units, of which one is so many of those."""
        sizes = self.sizes
        scaled = None if sizes is None else lambda: sizes().times(unit)
        return replace(self, solution=self.solution.times(unit), sizes=scaled)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A model, the problem it solves and what its engine knows about it.

    Attributes
    ----------
    problem : Problem
    found : Solution
    rules : RuleSet
    tree : Tree or None
    rounds : int
        How often the thresholds were chosen; 1 when they were fixed.
    family : TreeFamily or None
        The best tree of every size; None where these are not to be had.
    """

    problem: Problem
    found: Solution
    rules: RuleSet
    tree: Tree | None
    rounds: int = 1
    family: TreeFamily | None = None

    @classmethod
    def of_tree(cls, reader: Reader, answer: TreeAnswer, rounds: int) -> Outcome:
        """The best tree of an answer."""
        assert answer.root is not None
        if answer.sizes is None:
            tree = Tree.from_node(answer.root, reader)
            return cls(reader.problem, answer.solution, tree.rules, tree, rounds)
        family = TreeFamily(answer.root, answer.n_sizes, answer.sizes, reader)
        return cls(reader.problem, answer.solution, family.fitted.rules, family.fitted, rounds, family)

    def at_size(self, leaves: int) -> Outcome:
        """The best model with at most this many leaves of the same family, and what is known about it."""
        assert self.family is not None
        value = float(self.family.losses[leaves - 1])
        # A bound for larger trees holds for smaller ones as well.
        bound = self.family.bound(leaves, self.found.bound)
        status = self.found.status
        if value <= bound:
            status = "optimal"
        elif status in ("optimal", "gap_reached"):
            status = "time_limit"
        tree = self.family.tree(leaves)
        return replace(
            self,
            problem=replace(self.problem, max_leaves=leaves),
            found=replace(self.found, value=value, bound=bound, status=status),
            rules=tree.rules,
            tree=tree,
        )

    @classmethod
    def of_rules(cls, reader: Reader, found: Solution, rounds: int) -> Outcome:
        """The rules of a solution."""
        problem = reader.problem
        weight = [float(problem.table.weight[p.covers(problem.table.codes)].sum()) for p in found.paths]
        heaviest_first = [found.paths[i] for i in sorted(range(len(weight)), key=lambda i: -weight[i])]
        level = {level.position: level.index for level in problem.graph}
        paths = [
            replace(path, conditions=tuple(sorted(path.conditions, key=lambda condition: level[condition.feature])))
            for path in heaviest_first
        ]
        rules = RuleSet.from_paths(paths, reader)
        return cls(reader.problem, found, rules, Tree.from_rules(rules, summary_of(paths, reader)), rounds)


class OutOfTimeError(ValueError):
    """The time was over before any model was known."""


def no_model(solution: Solution) -> BaseException:
    """What is raised for an answer without a model."""
    if solution.status == "infeasible":
        return InfeasibleError(solution.reason or "No model meets the limits and constraints; relax some of them.")
    if solution.status == "interrupted":
        return KeyboardInterrupt()
    return OutOfTimeError("time_limit ended before any model met the constraints; raise it, or relax the constraints.")
