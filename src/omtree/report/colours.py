"""The colours of classes: calm, and of clearly different lightness, so that they survive greyscale print."""

from __future__ import annotations

import math

#: Neighbours in this list look different to everyone, and their lightness differs as well.
_HUES = (252.0, 68.0, 165.0, 350.0, 105.0, 28.0, 215.0, 305.0, 50.0, 140.0, 235.0, 0.0)
_DARKEST, _LIGHTEST = 0.44, 0.87
#: Between these are the colours of classes that have an order.
_FIRST_HUE, _LAST_HUE = 105.0, 252.0


def class_colours(n: int, ordered: bool = False) -> tuple[str, ...]:
    """One colour per class, from dark to light; of ordered classes from a light yellow to a dark blue, step by step.

    >>> class_colours(2)
    ('#235488', '#ffc88c')
    >>> class_colours(3, ordered=True)
    ('#ded88a', '#3ca591', '#235488')
    """
    if ordered:
        steps = [i / max(1, n - 1) for i in range(n)]
        return tuple(
            _hex(_LIGHTEST + (_DARKEST - _LIGHTEST) * step, 0.1, _FIRST_HUE + (_LAST_HUE - _FIRST_HUE) * step)
            for step in steps
        )
    lightness = [_DARKEST + (_LIGHTEST - _DARKEST) * i / max(1, n - 1) for i in range(n)]
    return tuple(_hex(light, 0.1, _HUES[i % len(_HUES)]) for i, light in enumerate(lightness))


def _hex(lightness: float, chroma: float, hue: float) -> str:
    """An OKLCH colour as sRGB; what lies outside is clipped."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(channel)):02x}" for channel in linear)


def _gamma(channel: float) -> float:
    channel = min(1.0, max(0.0, channel))
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055
