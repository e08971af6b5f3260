"""Items of reporting guidelines and rules, and where a model card has something to say on them.

TRIPOD+AI is the reporting guideline for prediction models (Collins et al., BMJ 2024;385:e078378); Annex IV of
Regulation (EU) 2024/1689 lists the technical documentation of high-risk AI systems. The topics are named in our own,
shorter words. What the card says on an item need not be enough for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Item, topic, the sections that say something on it, and whether the rest has to be written by a person.
Item = tuple[str, str, tuple[str, ...], bool]

TRIPOD: Sequence[Item] = (
    ("1", "Title", ("purpose",), True),
    ("2", "Abstract", (), True),
    ("3a-c", "Background: setting, population, known inequalities", ("purpose",), True),
    ("4", "Objectives", ("purpose",), True),
    ("5a", "Sources of data", ("data",), True),
    ("5b", "Dates of data", ("data",), True),
    ("6a-c", "Participants: setting, eligibility, treatments", (), True),
    ("7", "Data preparation and quality checks, alike for all groups or not", ("data",), True),
    ("8a-c", "Outcome: definition and horizon, assessors, blinding", ("data",), True),
    ("9a-c", "Predictors: choice, definition, assessors", ("data",), True),
    ("10", "Sample size", ("data", "figures"), True),
    ("11", "Missing data, and why any were left out", ("data",), True),
    ("12a", "How the data were used and divided", ("figures", "reproduce"), True),
    ("12b", "How predictors were handled", ("data", "model"), False),
    ("12c", "Type of model and why, its building, tuning and validation", ("model", "proof", "reproduce"), True),
    ("12d", "Differences between clusters", ("groups",), True),
    ("12e", "Measures of performance, and why these", ("figures", "calibration"), True),
    ("12f", "Updating of the model after evaluation", (), True),
    ("12g", "How predictions are calculated", ("model", "reproduce"), False),
    ("13", "Methods against class imbalance, and recalibration", ("figures", "reproduce"), True),
    ("14", "Fairness", ("groups", "constraints"), True),
    ("15", "Output of the model, its thresholds and why", ("model", "calibration"), True),
    ("16", "Differences between development and evaluation", ("figures",), True),
    ("17", "Ethical approval", (), True),
    ("18a-f", "Funding, conflicts, protocol, registration, data and code sharing", ("reproduce",), True),
    ("19", "Patient and public involvement", (), True),
    ("20a-c", "Participants: flow, characteristics, comparison with development", ("data",), True),
    ("21", "Participants and events of each analysis", ("data", "figures"), False),
    ("22", "The full model, and who may use it", ("model", "reproduce"), True),
    ("23a", "Performance, with intervals and by subgroup", ("figures", "groups"), False),
    ("23b", "Heterogeneity between clusters", ("groups",), True),
    ("24", "Results of updating", (), True),
    ("25", "Interpretation, fairness included", (), True),
    ("26", "Limitations", ("limits",), True),
    ("27a-c", "Use in care: poor or missing inputs, users' expertise, next steps", ("purpose", "data"), True),
)

ANNEX_IV: Sequence[Item] = (
    ("1(a)", "Intended purpose, provider, version", ("purpose", "reproduce"), True),
    ("1(b)-(h)", "Interaction with other systems, forms of supply, hardware, interface, instructions", (), True),
    ("2(a)", "Methods and steps of development", ("model", "reproduce"), True),
    ("2(b)", "Design: general logic, key choices, what is optimised", ("model", "proof", "constraints"), True),
    ("2(c)", "System architecture and computing resources", ("reproduce",), True),
    ("2(d)", "Data: provenance, selection, labelling, cleaning", ("data",), True),
    ("2(e)", "Assessment of the human oversight measures needed", (), True),
    ("2(f)", "Changes determined in advance", (), True),
    (
        "2(g)",
        "Validation and testing: data, metrics, discriminatory impacts, signed reports",
        ("figures", "groups", "signoff"),
        True,
    ),
    ("2(h)", "Cybersecurity measures", (), True),
    (
        "3",
        "Capabilities and limits, accuracy by group, foreseeable risks, oversight, input data",
        ("figures", "groups", "limits"),
        True,
    ),
    ("4", "Why the measures of performance are appropriate", ("figures",), True),
    ("5", "Risk management system", (), True),
    ("6", "Changes through the lifecycle", (), True),
    ("7", "Harmonised standards applied, or other solutions", (), True),
    ("8", "EU declaration of conformity", (), True),
    ("9", "Post-market monitoring", ("monitoring",), True),
)


def where_answered(items: Sequence[Item], numbers: Mapping[str, int], unanswered: Sequence[str]) -> list[list[str]]:
    """A line for every item: its number, its topic, and where it is answered, in part, or open.

    Parameters
    ----------
    items : sequence of Item
    numbers : mapping
        The number of every section of the card.
    unanswered : sequence of str
        Sections that say nothing, for want of evidence.
    """
    lines = []
    for item, topic, sections, more in items:
        known = sorted(numbers[key] for key in sections if key in numbers and key not in unanswered)
        places = " and ".join(filter(None, [", ".join(map(str, known[:-1])), *map(str, known[-1:])]))
        named = f"section{'s' if len(known) > 1 else ''} {places}"
        partly = more or len(known) < len(sections)
        lines.append([item, topic, "open" if not known else f"in part: {named}" if partly else named])
    return lines
