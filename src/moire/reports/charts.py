"""Small charts as SVG, drawn by nobody else: lines over bins, and boxes with whiskers."""

from __future__ import annotations

import html
import statistics
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 640, 260
# Room for numbers and names: left, top, right, bottom.
_LEFT, _TOP, _RIGHT, _BOTTOM = 56, 28, 56, 34
# Told apart by people who see no red or green, too.
_COLOURS = ("#2563a8", "#c8641e", "#3c8c5a")
_TICKS = 4
Points = Sequence[float | None]


def lines(title: str, left: Mapping[str, Points], right: Mapping[str, Points], across: Sequence[str]) -> str:
    """Lines over the same bins, those on the left against one scale and those on the right against another. A bin that
    has nothing to say is a gap."""
    parts = [_frame(title, across)]
    names = [*left, *right]
    for side, group in ((0, left), (1, right)):
        most = max((value for points in group.values() for value in points if value is not None), default=0.0) or 1.0
        if group:
            parts.append(_scale(most, side))
        for name, points in group.items():
            parts.append(_line(points, most, _COLOURS[names.index(name) % len(_COLOURS)]))
    return _svg(title, [*parts, _legend(names)])


def boxes(title: str, groups: Mapping[str, Sequence[float]]) -> str:
    """Quartiles, with the least, the most and the mean of each group."""
    groups = {name: sorted(values) for name, values in groups.items() if values}
    most = max((values[-1] for values in groups.values()), default=0.0) or 1.0
    parts = [_frame(title, list(groups)), _scale(most, 0)]
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(groups))
    for n, values in enumerate(groups.values()):
        x, colour = _LEFT + step * (n + 0.5), _COLOURS[n % len(_COLOURS)]
        low, middle, high = quartiles(values)
        y = [_y(value, most) for value in (values[0], low, middle, high, values[-1], statistics.fmean(values))]
        parts.append(
            f"<g stroke='{colour}' fill='none'><path d='M{x:.1f} {y[0]:.1f}V{y[1]:.1f}M{x:.1f} {y[3]:.1f}V{y[4]:.1f}"
            f"M{x - 14:.1f} {y[0]:.1f}h28M{x - 14:.1f} {y[4]:.1f}h28M{x - 30:.1f} {y[2]:.1f}h60'/>"
            f"<rect x='{x - 30:.1f}' y='{y[3]:.1f}' width='60' height='{max(0.5, y[1] - y[3]):.1f}'/>"
            f"<circle cx='{x:.1f}' cy='{y[5]:.1f}' r='3' fill='{colour}'/></g>"
        )
    return _svg(title, parts)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def _y(value: float, most: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / most


def _line(points: Points, most: float, colour: str) -> str:
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(points))
    drawn, pen = "", "M"
    dots = ""
    for n, value in enumerate(points):
        if value is None:
            pen = "M"
            continue
        x, y = _LEFT + step * (n + 0.5), _y(value, most)
        drawn += f"{pen}{x:.1f} {y:.1f}"
        dots += f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5'><title>{value:g}</title></circle>"
        pen = "L"
    return f"<path d='{drawn}' stroke='{colour}' stroke-width='1.5' fill='none'/><g fill='{colour}'>{dots}</g>"


def _scale(most: float, side: int) -> str:
    x, anchor = (_LEFT - 6, "end") if side == 0 else (WIDTH - _RIGHT + 6, "start")
    marks = [most * n / _TICKS for n in range(_TICKS + 1)]
    return "".join(f"<text x='{x}' y='{_y(m, most) + 4:.1f}' text-anchor='{anchor}'>{_number(m)}</text>" for m in marks)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def _frame(title: str, across: Sequence[str]) -> str:
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    step = (right - _LEFT) / max(1, len(across))
    # Names that would run into each other are left out.
    every = max(1, round(60 / step))
    names = "".join(
        f"<text x='{_LEFT + step * (n + 0.5):.1f}' y='{bottom + 16}' text-anchor='middle'>{html.escape(name)}</text>"
        for n, name in enumerate(across)
        if n % every == 0
    )
    axes = f"<path d='M{_LEFT} {_TOP}V{bottom}H{right}V{_TOP}' fill='none' stroke='currentColor' opacity='.4'/>"
    return f"<text x='{_LEFT}' y='16' font-weight='bold'>{html.escape(title)}</text>{axes}{names}"


def _legend(names: Sequence[str]) -> str:
    """From the right, so that a long title keeps its room."""
    x, parts = WIDTH - _RIGHT, ""
    for n, name in reversed(list(enumerate(names))):
        parts += (
            f"<text x='{x}' y='16' text-anchor='end' fill='{_COLOURS[n % len(_COLOURS)]}'>{html.escape(name)}</text>"
        )
        x -= 7 * len(name) + 12
    return parts


def _svg(title: str, parts: Sequence[str]) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' role='img' "
        f"aria-label='{html.escape(title, quote=True)}' font-family='system-ui,sans-serif' font-size='12' "
        f"fill='currentColor'>{''.join(parts)}</svg>"
    )
