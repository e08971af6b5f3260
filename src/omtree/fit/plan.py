"""The way from samples to a fitted model, whatever it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.utils import check_random_state

from omtree.constraints import Constraint, Setting, check_constraints, restrict_features
from omtree.constraints.compile import join_shapes
from omtree.data.binning import Binning, rounding_cuts
from omtree.data.table import MAX_CODES, Feature
from omtree.deadline import Deadline
from omtree.engines.answers import Outcome, OutOfTimeError
from omtree.engines.dispatch import TreeSolver
from omtree.engines.rules.options import Options
from omtree.engines.rules.preset import Paper
from omtree.engines.rules_solver import RulesSolver
from omtree.errors import InfeasibleError, warn
from omtree.estimators.parameters import least_support, most_leaves
from omtree.fit.certify import certify
from omtree.fit.chosen_size import looked_at
from omtree.fit.cut_search import BriefSearch, is_for_all_cuts
from omtree.fit.effort import USUAL, Effort
from omtree.fit.either_splits import EitherSplits
from omtree.fit.exact_cuts import FEW_CUTS_SHARE, ExactCuts, over_few_cuts
from omtree.fit.feature_order import feature_positions
from omtree.fit.fewest_leaves import with_fewest_leaves
from omtree.fit.infeasibility import saying_why, why_none
from omtree.fit.pose import Pose
from omtree.fit.quick_trees import QuickTree, QuickTrees
from omtree.fit.refusals import check_losses, check_size
from omtree.fit.threshold_rounds import Refined, Solve
from omtree.fit.thresholds import ThresholdSearch
from omtree.model.certificate import Certificate
from omtree.model.rule_facts import Reader
from omtree.objectives import Objective, Score
from omtree.objectives.error import Error
from omtree.problem.graph import Categories
from omtree.problem.problem import Path, Problem, leaves_of
from omtree.problem.rule_sums import TooManyRulesError, merged
from omtree.progress import reporter
from omtree.sources.distant import rows_of
from omtree.sources.samples import Training

#: The least price of a leaf that is tried where it is to be chosen; of trees of any depth, whose proofs take long then.
LEAST_PRICE, LEAST_PRICE_OF_ANY_DEPTH = 1e-5, 2e-3
#: More threads, and more memory, than there are anywhere.
MOST_THREADS, MOST_MB = 1024, 2.0**40
#: Most time for finding out why there is no model, and what it gets where the fit's own is over.
REASON_SECONDS = 20.0
LEAST_REASON_SECONDS = 0.5


@dataclass(frozen=True, eq=False)
class Plan:
    """The parameters of an estimator that a fit follows; they mean what they mean there."""

    max_depth: int | None
    max_leaves: int | None
    leaf_price: float
    min_samples_leaf: float
    structure: Literal["rules", "tree"]
    constraints: Sequence[Constraint]
    n_bins: int
    categories: Categories
    feature_order: Sequence[str] | str | None
    gap: float
    preset: Literal["paper"] | Paper | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int
    splits: Literal["multiway", "binary"]
    max_children: int | None
    binning: Binning | Literal["adaptive"]
    round_cuts: bool
    cache_mb: float

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Plan:
        """The plan in an estimator's parameters.

        A size that is to be chosen has no limit but the depth yet, and a price the least that is tried.
        """
        values = {name: parameters[name] for name in cls.__dataclass_fields__}
        if values["leaf_price"] == "auto":
            values["leaf_price"] = LEAST_PRICE if values["max_depth"] is not None else LEAST_PRICE_OF_ANY_DEPTH
        check_size(values)
        return cls(**{**values, "max_leaves": None if values["max_leaves"] == "auto" else values["max_leaves"]})

    def fit(
        self, training: Training, objective: Objective, deadline: Deadline, leaves: int | None = None
    ) -> tuple[Outcome, Certificate]:
        """The best model, and what is known about it after an independent check.

        With `leaves` it is the best one of at most so many leaves out of the family of trees up to `max_leaves`.
        """
        # What a look over all cuts finds and proves is for the largest tree, which need not be the one that is wanted.
        effort = Effort(every_size=leaves is not None, all_cuts=leaves in (None, self.most_leaves(training)))
        outcome, samples = self.solve(training, objective, deadline, reasons=True, effort=effort)
        if leaves is not None:
            outcome = outcome.at_size(leaves)
            if not effort.all_cuts and self.binning == "adaptive" and self.preset is None:
                outcome, samples = looked_at(self, outcome, samples, training, objective, deadline)
        return outcome, certify(self, outcome, samples, objective, deadline, training)

    def solve(
        self,
        training: Training,
        objective: Objective,
        deadline: Deadline,
        *,
        reasons: bool = False,
        effort: Effort = USUAL,
    ) -> tuple[Outcome, Training]:
        """The best model, and the samples it was read off; where there is none, with `reasons` why."""
        objective.check(training.target)
        if self.leaf_price > 0 and isinstance(objective, Score):
            raise ValueError(f"{objective.name} does not add up over leaves, so that none can cost; use leaf_price=0.")
        if self.leaf_price > 0 and training.target.charges is not None:
            raise ValueError("What answers cost row by row has no share that a leaf could cost; use leaf_price=0.")
        check_losses(objective, training.target, training.weight)
        setting = self.setting_of(training)
        constraints = check_constraints(self.constraints, setting)
        # All cuts are found in the raw values; until then features are coarse.
        coarse = self.binning == "adaptive" or self._over_all_cuts(training, objective, setting)
        binning: Binning = "quantile" if coarse else cast(Binning, self.binning)
        with rounding_cuts(self.round_cuts):
            every, dropped = training.features(self.n_bins, binning, self.categories == "groups", deadline)
        if dropped:
            named = "; ".join(f"{name!r}: {reason}" for name, reason in dropped)
            warn(f"Columns that cannot tell the rows apart are left out ({named}).")
        features = restrict_features(constraints, every, setting)
        why = partial(self._reason, training, every, objective, setting, deadline)
        try:
            with rounding_cuts(self.round_cuts), saying_why(why if constraints and reasons else None):
                outcome, samples = self._solve(training, features, objective, setting, deadline, effort)
        except OutOfTimeError:
            if deadline.interrupted:
                raise KeyboardInterrupt from None
            raise
        if deadline.interrupted and outcome.found.status in ("time_limit", "stopped"):
            outcome = replace(outcome, found=replace(outcome.found, status="interrupted"))
        if outcome.found.status == "interrupted":
            warn("The fit was interrupted; the model is the best one known by then.")
        return outcome, samples

    def fit_on(
        self, training: Training, features: tuple[Feature, ...], objective: Objective, deadline: Deadline
    ) -> tuple[Outcome, Certificate]:
        """The best model over features whose thresholds are not chosen any more."""
        outcome, samples = self.solve_on(training, features, objective, deadline, USUAL)
        return outcome, certify(self, outcome, samples, objective, deadline, training)

    def solve_on(
        self,
        training: Training,
        features: tuple[Feature, ...],
        objective: Objective,
        deadline: Deadline,
        effort: Effort,
    ) -> tuple[Outcome, Training]:
        """The same, and the samples it was read off."""
        setting = self.setting_of(training)
        restricted = restrict_features(check_constraints(self.constraints, setting), features, setting)
        plan = replace(self, binning="quantile")
        why = partial(plan._reason, training, features, objective, setting, deadline)
        with saying_why(why if self.constraints else None):
            return plan._solve(training, restricted, objective, setting, deadline, effort)

    def problem_on(self, training: Training, features: tuple[Feature, ...], objective: Objective) -> Problem:
        """What is asked over features whose thresholds are not chosen any more."""
        setting = self.setting_of(training)
        restricted = restrict_features(check_constraints(self.constraints, setting), features, setting)
        return self.pose_of(training, objective, setting, None)(training, restricted)

    def check_constraints(self, training: Training) -> None:
        """Complain about constraints that make no sense for these samples."""
        check_constraints(self.constraints, self.setting_of(training))

    @property
    def seed(self) -> int:
        """Of what is random in the search."""
        return 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))

    def setting_of(self, training: Training) -> Setting:
        """What constraints are checked against."""
        columns = training.columns
        return Setting(
            tuple(columns.names),
            tuple(column.kind for column in columns),
            {column.name: column.levels for column in columns if column.levels is not None},
            tuple(training.target.classes.tolist()),
            {name: column.levels for name, column in training.groups.items()},
            self.structure,
            self.most_conditions(training),
            self.most_leaves(training),
        )

    def most_conditions(self, training: Training) -> int:
        """The most conditions that a rule of these samples can have; the kernel's numbers end somewhere."""
        most = len(training.columns) if self.structure == "rules" else len(training)
        if self.structure == "tree" and self.max_depth is None and self.max_leaves is not None:
            # Each level has a leaf of its own.
            most = min(most, self.max_leaves - 1)
        return max(1, most) if self.max_depth is None else min(int(self.max_depth), max(1, most))

    def most_leaves(self, training: Training) -> int:
        """The most leaves that a model of these samples may have."""
        return most_leaves(self.max_leaves, self.max_depth, len(training))

    def _solve(
        self,
        training: Training,
        features: tuple[Feature, ...],
        objective: Objective,
        setting: Setting,
        deadline: Deadline,
        effort: Effort = USUAL,
    ) -> tuple[Outcome, Training]:
        """The best model over these features, or over finer thresholds, and the samples it was read off."""
        seed = self.seed
        n_jobs = min(effective_n_jobs(self.n_jobs), MOST_THREADS)
        progress = reporter(self.verbose)
        # An order of tests is the order of the graph, where no other is asked for.
        tests = join_shapes(constraint.shape(setting) for constraint in self.constraints).order
        wanted = self.feature_order if self.feature_order is not None else tests or None
        order = feature_positions(
            wanted, training.columns.names, features, lambda: training.coded(features).table_and_means(features), seed
        )
        pose = self.pose_of(training, objective, setting, order)
        search = TreeSolver(
            objective,
            self.splits,
            # A node has no more children than its feature codes.
            None if self.max_children is None else min(self.max_children, MAX_CODES),
            gap=self.gap,
            n_jobs=n_jobs,
            cache_mb=min(self.cache_mb, training.cache_mb, MOST_MB),
            table_mb=min(1024.0, training.cache_mb),
            every_size=effort.every_size,
            progress=progress,
        )
        # The paper's thresholds are fixed quantiles.
        n_bins = self.n_bins if self.binning == "adaptive" and self.preset is None else None
        quick = self._quick_trees(pose, objective, seed)
        looks = effort.all_cuts and self.leaf_price == 0
        brief = BriefSearch(objective, self.splits, self.max_children) if looks else None
        given = (seed, progress, quick)
        thresholds = ThresholdSearch(training, pose, n_bins, deadline, *given, brief, effort.rounds)
        if self.structure == "tree":
            either = self._either(training, objective, search)
            if self._over_all_cuts(training, objective, setting):

                def coarse(limit: Deadline, known: QuickTree) -> Refined:
                    def looked(_: Training, some: Sequence[Feature], of: Pose, part: Deadline) -> QuickTree | None:
                        if of.max_depth == pose.max_depth:
                            return known
                        return None if brief is None else brief(training, some, of, part)

                    few = ThresholdSearch(training, pose, self.n_bins, limit, *given, looked, effort.rounds)
                    return few.tree(features, either)

                exact = ExactCuts(training, pose, objective, search, deadline, quick)
                refined = exact.tree(features, coarse)
            else:
                known = None
                # Where few values are all there are, the search over few cuts is the same as that over all.
                fewer = any(feature.kind == "numeric" and feature.n_values > self.n_bins for feature in features)
                if self.binning == "exact" and fewer and quick is not None and not quick.cuts_only:
                    limit = deadline.share(FEW_CUTS_SHARE)
                    few = ThresholdSearch(training, pose, self.n_bins, limit, *given, brief, effort.rounds)
                    known = over_few_cuts(training, features, self.n_bins, self.categories, few, either)
                refined = thresholds.tree(features, either, known)
            refined = with_fewest_leaves(refined, search, deadline)
            answer = refined.answer.after(deadline.elapsed)
            assert answer.root is not None
            problem, training = rows_of(refined.problem, training, leaves_of(answer.root), objective)
            return Outcome.of_tree(self._reader(problem, objective, training), answer, refined.rounds), training
        before = deadline.elapsed
        prepared = thresholds.better_problem(features, replace(search, splits="multiway", max_children=None))
        interrupted = prepared.answer is not None and prepared.answer.solution.status == "interrupted"
        spent = {"data": before, "thresholds": deadline.elapsed - before}
        start: list[Path] = []
        if prepared.answer is not None and prepared.answer.root is not None and prepared.on_all:
            start = [merged(path) for path in leaves_of(prepared.answer.root)]
        options = Options()
        if self.preset is not None:
            options = Options.paper(self.preset if isinstance(self.preset, Paper) else Paper())
        options = replace(options, gap=self.gap, n_jobs=n_jobs, seed=seed)
        found = RulesSolver(objective, options, progress)(
            prepared.problem,
            Deadline(0.0) if interrupted else deadline,
            start=start,
        )
        found = replace(found, seconds={**spent, **found.seconds})
        if interrupted and found.status != "optimal":
            found = replace(found, status="interrupted")
        problem, training = rows_of(prepared.problem, training, found.paths, objective)
        return Outcome.of_rules(self._reader(problem, objective, training), found, prepared.rounds), training

    def _either(self, training: Training, objective: Objective, search: TreeSolver) -> Solve:
        """The search for trees, for binary ones as well where these are among the multiway ones that are asked for."""
        plain = not self.constraints and self.leaf_price == 0 and not isinstance(objective, Score)
        if self.splits == "binary" or self.max_children is not None or not plain:
            return search
        # One value against all others is no split of a tree that has a child for every value.
        nominal = any(column.kind == "nominal" for column in training.columns)
        return search if self.categories == "values" and nominal else EitherSplits(search)

    def _over_all_cuts(self, training: Training, objective: Objective, setting: Setting) -> bool:
        """Whether the tree is sought over all cuts of the raw values."""
        if self.binning != "exact" or self.structure != "tree" or self.preset is not None or self.leaf_price > 0:
            return False
        pose = self.pose_of(training, objective, setting, None)
        return is_for_all_cuts(objective, training, pose, self.splits, self.max_children)

    def _quick_trees(self, pose: Pose, objective: Objective, seed: int) -> QuickTrees | None:
        """The search for quick trees, where these minimise what is wanted and may be the answer."""
        if isinstance(objective, Score) or self.preset is not None or (self.constraints and self.structure == "tree"):
            return None
        if self.leaf_price > 0:
            # Their leaves have no price, so that they must not be many.
            small = replace(pose, leaf_price=0.0, max_depth=min(4, pose.max_depth), max_leaves=min(16, pose.max_leaves))
            return QuickTrees(small, self.splits, self.max_children, self.gap, seed, cuts_only=True)
        if self.structure == "rules":
            return QuickTrees(pose, "multiway", None, self.gap, seed)
        return QuickTrees(pose, self.splits, self.max_children, self.gap, seed)

    def pose_of(
        self,
        training: Training,
        objective: Objective,
        setting: Setting,
        order: Sequence[int] | None,
    ) -> Pose:
        return Pose(
            objective,
            max_depth=setting.max_depth,
            max_leaves=setting.max_leaves,
            min_support=least_support(self.min_samples_leaf, training.total),
            total=training.total,
            categories=self._conditions(),
            order=order,
            constraints=tuple(self.constraints),
            setting=setting,
            leaf_price=float(self.leaf_price),
            limited=self.max_depth is not None or self.max_leaves is not None,
        )

    def _conditions(self) -> Categories:
        """What conditions on nominal columns may name: a node of two children parts one value from the others."""
        in_two = self.structure == "tree" and (self.splits == "binary" or self.max_children == 2)
        return "single" if in_two and self.categories == "values" else self.categories

    @staticmethod
    def _reader(problem: Problem, objective: Objective, training: Training) -> Reader:
        return Reader(problem, objective, training.target, training.weight)

    def _reason(
        self,
        training: Training,
        features: tuple[Feature, ...],
        objective: Objective,
        setting: Setting,
        of_fit: Deadline,
    ) -> str:
        """Why there is no model, found with the thresholds as they are."""
        deadline = Deadline(min(REASON_SECONDS, max(LEAST_REASON_SECONDS, of_fit.remaining)), within=of_fit)
        plan = replace(self, binning="quantile" if self.binning == "adaptive" else self.binning)

        def feasible(constraints: Sequence[Constraint], limit: Deadline) -> bool | None:
            if limit.expired:
                return None
            allowed = restrict_features(constraints, features, setting)
            try:
                replace(plan, constraints=constraints)._solve(training, allowed, objective, setting, limit)
            except InfeasibleError:
                return False
            except (OutOfTimeError, TooManyRulesError):
                return None
            return True

        problem = self.pose_of(training, objective, setting, None)(training, features)
        solver = TreeSolver(objective if not isinstance(objective, Score) else Error(), self.splits, self.max_children)
        return why_none(self.constraints, feasible, problem, solver, setting, deadline)
