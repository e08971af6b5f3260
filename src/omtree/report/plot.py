"""Pictures on matplotlib axes."""

from __future__ import annotations

from typing import Any

from omtree.report.scene import STYLES, Band, Box, Disc, Line, Look, Mark, Scene, Words
from omtree.report.svg import band_points, model_scene
from omtree.report.tree_picture import Direction


def plot(model: Any, ax: Any = None, direction: Direction = "auto") -> Any:
    """Draw a fitted model with matplotlib.

    Parameters
    ----------
    model : fitted model, RuleSet or Tree
    ax : matplotlib axes, optional
        Where to draw; by default a new figure of a suitable size.
    direction : {"auto", "down", "right"}
        Where a tree grows.

    Returns
    -------
    matplotlib axes
    """
    return render_axes(model_scene(model, direction), ax)


def render_axes(scene: Scene, ax: Any = None) -> Any:
    """The scene on axes; texts keep their proportion to the rest."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib; install it (pip install matplotlib) or use to_svg().") from None
    if ax is None:
        _, ax = pyplot.subplots(figsize=(scene.width / 72, scene.height / 72), layout="constrained")
    ax.set(xlim=(0, scene.width), ylim=(scene.height, 0), aspect="equal")
    ax.set_axis_off()
    inches = ax.get_position().transformed(ax.figure.dpi_scale_trans.inverted() + ax.figure.transFigure)
    points = 72 * min(inches.width / scene.width, inches.height / scene.height)
    looks = {**STYLES, **{f"c{i}": Look(fill=colour, stroke="#3d4d5c") for i, colour in enumerate(scene.colours)}}
    order = 0
    for group in scene.groups:
        for mark in group.marks:
            order += 1
            _draw(ax, mark, looks[mark.style], points, order)
    return ax


def _draw(ax: Any, mark: Mark, look: Look, points: float, order: int) -> None:
    from matplotlib import patches, path, patheffects

    colours: dict[str, Any] = {"facecolor": look.fill or "none", "edgecolor": look.stroke or "none", "zorder": order}
    match mark:
        case Box():
            style = f"round,pad=0,rounding_size={mark.radius}" if mark.radius else "square,pad=0"
            dashes = "--" if look.dashed else "-"
            corner = (mark.x, mark.y)
            ax.add_patch(
                patches.FancyBboxPatch(
                    corner, mark.width, mark.height, style, linewidth=0.8 * points, linestyle=dashes, **colours
                )
            )
        case Words():
            where = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
            weight = "bold" if mark.bold else "normal"
            halo = [patheffects.withStroke(linewidth=3 * points, foreground="white")] if mark.halo else None
            # A dollar sign is a dollar sign, not mathematics.
            ax.text(
                mark.x,
                mark.y,
                mark.text,
                ha=where,
                va="baseline",
                color=look.fill,
                fontsize=0.92 * mark.size * points,
                fontweight=weight,
                fontfamily="sans-serif",
                parse_math=False,
                path_effects=halo,
                zorder=order,
            )
        case Line():
            ax.plot(
                [mark.x0, mark.x1],
                [mark.y0, mark.y1],
                color=look.stroke,
                linewidth=mark.width * points,
                solid_capstyle="butt",
                zorder=order,
            )
        case Band():
            codes = [path.Path.MOVETO, path.Path.CURVE4, path.Path.CURVE4, path.Path.CURVE4]
            curve = path.Path(band_points(mark), codes)
            ax.add_patch(
                patches.PathPatch(
                    curve, facecolor="none", edgecolor=look.stroke, linewidth=mark.width * points, zorder=order
                )
            )
        case Disc():
            ax.add_patch(patches.Circle((mark.x, mark.y), mark.radius, linewidth=0.8 * points, **colours))
