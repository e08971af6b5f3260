"""What is proven about a model, in plain sentences and figures."""

from __future__ import annotations

from omtree.data.wording import amount, counts_rows, number
from omtree.model.certificate import Certificate


def gap_words(certificate: Certificate) -> str:
    """The gap in per cent."""
    return f"{100 * certificate.gap:.1f} %"


def proof_sentences(certificate: Certificate) -> list[str]:
    """What is proven, in plain sentences."""
    value, bound = number(certificate.loss), number(certificate.bound)
    weight = amount(certificate.weight, counts_rows([certificate.weight]))
    limit = f"go below {bound}"
    if certificate.counted:
        share = f" ({100 * certificate.loss / certificate.weight:.1f} %)" if certificate.weight > 0 else ""
        sentences = [
            f"On the training data the model makes {value} {certificate.unit_of(certificate.loss)} in {weight}{share}."
        ]
        less = "makes fewer"
        if certificate.is_perfect:
            sentences = [f"On the training data ({weight}) the model makes no {certificate.unit} at all."]
    elif certificate.score:
        sentences = [f"On the training data the {certificate.score} is {number(1.0 - certificate.value)}."]
        less, limit = "has a higher one", f"have one above {number(1.0 - certificate.bound)}"
    elif certificate.is_squared:
        root, least = (number(certificate.root_mean(loss)) for loss in (certificate.loss, certificate.bound))
        limit = f"have one below {least}"
        sentences = [f"On the training data the root mean squared error of the model is {root} ({weight})."]
        less = "has a lower one"
    else:
        sentences = [f"On the training data the {certificate.unit} of the model is {value}."]
        less = "has a lower one"
    if certificate.leaf_price:
        price, sum_of_both = number(certificate.leaf_price), number(certificate.value)
        sentences.append(f"With a price of {price} for each of its leaves it costs {sum_of_both}.")
        less, limit = "costs less", f"cost less than {bound}"
    among = f" Compared were {certificate.search_space}." if certificate.search_space else ""
    if certificate.status == "optimal":
        if certificate.is_perfect:
            sentences.append(f"No model can do better on these rows.{among}")
        elif certificate.cuts == "some":
            sentences.append(
                f"It is proven that no other model of its kind with the same {certificate.n_cuts:,} cut points of "
                f"numbers {less}; {certificate.beyond_its_cuts}.{among}"
            )
        else:
            over = ", wherever it cuts numbers," if certificate.cuts == "all" else ""
            sentences.append(f"It is proven that no other model of its kind{over} {less}.{among}")
        sentences.append("The proof is about the training data; new data can only be judged by a test on new data.")
        return sentences
    if certificate.status == "alternative":
        sentences.append(f"It is one of the alternatives to the best model: no model of its kind can {limit}.{among}")
        return sentences
    why = {
        "gap_reached": "the gap that was asked for was reached",
        "time_limit": "the time limit was reached",
        "stopped": "a limit on the work was reached",
        "interrupted": "it was interrupted",
    }.get(certificate.status, certificate.status)
    known = (
        f"What is proven is that no model of its kind can {limit}: at most {gap_words(certificate)} of the loss could "
        "be saved by a better one."
    )
    if certificate.has_no_bound:
        known = "Nothing is proven of how much better another one could be."
    sentences.append(f"It is not proven to be the best: the search ended because {why}. {known}{among}")
    return sentences


def proof_facts(certificate: Certificate) -> list[tuple[str, str]]:
    """The figures behind it."""
    if certificate.score:
        ends = [(certificate.score, 1.0 - certificate.value), ("upper bound", 1.0 - certificate.bound)]
    else:
        ends = [(certificate.unit, certificate.loss), ("lower bound", certificate.bound)]
        if certificate.leaf_price:
            ends.insert(1, ("with the price of the leaves", certificate.value))
    facts = [
        *((name, number(end)) for name, end in ends),
        ("gap", gap_words(certificate)),
        ("status", certificate.status.replace("_", " ")),
        ("rows" if counts_rows([certificate.weight]) else "weight of all rows", number(certificate.weight)),
    ]
    if certificate.all_cuts_bound is not None and certificate.all_cuts_gap is not None:
        gap = f"{100 * certificate.all_cuts_gap:.1f} %"
        facts.insert(len(ends), ("lower bound over all cuts", f"{number(certificate.all_cuts_bound)} (gap {gap})"))
    if certificate.lp_value is not None and certificate.lp_gap is not None:
        facts.append(("linear relaxation", f"{number(certificate.lp_value)} (gap {100 * certificate.lp_gap:.1f} %)"))
    if certificate.columns:
        pricing = {True: ", priced out exactly", False: ", not priced out", None: ""}[certificate.exact_pricing]
        facts.append(("rules generated", f"{number(certificate.columns)}{pricing}"))
    if certificate.ended:
        facts.append(("ended", certificate.ended))
    facts.append(("seconds", f"{certificate.total_seconds:.2f}"))
    return facts


def badge_words(certificate: Certificate) -> str:
    """The verdict in a few words."""
    if certificate.status == "optimal":
        some = certificate.cuts == "some" and not certificate.is_perfect
        return "Proven best for its cut points" if some else "Proven optimal"
    return f"Not proven optimal, gap {gap_words(certificate)}"
