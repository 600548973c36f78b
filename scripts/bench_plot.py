"""Panels of lines and of bars on logarithmic axes as SVG, by hand: nothing to install. Readable on white and on dark."""

import html
import math

COLORS = ("#0f7bd1", "#d9660a", "#1c9155", "#b04fc4", "#d13a50", "#8a7a00", "#4a63e0", "#7d6a5b")
MARKS = ("circle", "square", "up", "diamond", "down")
PANEL_WIDTH, PANEL_HEIGHT, LEFT, TOP, GAP, UNDER = 400, 320, 74, 62, 74, 50
STYLE = """<style>
text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 13px; fill: #4d545c; }
.title { font-size: 16px; font-weight: 600; } .panel { font-size: 14px; font-weight: 600; }
.axis { stroke: #7d858e; stroke-width: 1; fill: none; } .rule { stroke: #8a929b; stroke-width: 1; stroke-opacity: 0.25; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.roof { fill: none; stroke-width: 1.3; stroke-dasharray: 5 4; stroke-opacity: 0.65; }
@media (prefers-color-scheme: dark) { text { fill: #c3cad2; } }
</style>"""


def panels(title, x_label, y_label, parts, note=""):
    """parts: [(name, [(label, points, roof)])]; points and roof are [(x, y)], both positive. A label has one color and
    one mark in all panels. The SVG as text."""
    labels = list(dict.fromkeys(label for _, lines in parts for label, _, _ in lines))
    every = [point for _, lines in parts for _, points, roof in lines for point in (*points, *roof)]
    xs, ys = [x for x, _ in every] or [1, 10], [y for _, y in every] or [1, 10]
    y_low, y_high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    y_range = (y_low, max(y_high, y_low + 1))
    x_range = (math.log10(min(xs)) - 0.1, math.log10(max(xs)) + 0.1)
    per_row = 3
    legend_rows = -(-(len(labels) + 1) // per_row)
    count = max(len(parts), 1)
    width = LEFT + count * PANEL_WIDTH + (count - 1) * GAP + 24
    height = TOP + PANEL_HEIGHT + UNDER + 22 * legend_rows + 10 + (20 if note else 0)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           f'role="img" aria-label="{html.escape(title)}">', STYLE,
           f'<text class="title" x="{LEFT}" y="24">{html.escape(title)}</text>']
    x_ticks = sorted({x for _, lines in parts for _, points, _ in lines for x, _ in points})
    for k, (name, lines) in enumerate(parts):
        out += panel(LEFT + k * (PANEL_WIDTH + GAP), name, lines, labels, x_range, y_range, x_ticks, x_label,
                     y_label if k == 0 else "")
    out += legend(labels, TOP + PANEL_HEIGHT + UNDER + 14, (width - LEFT - 24) / per_row, per_row)
    if note:
        out.append(f'<text x="{LEFT}" y="{height - 10}">{html.escape(note)}</text>')
    return "\n".join([*out, "</svg>", ""])


def panel(left, name, lines, labels, x_range, y_range, x_ticks, x_label, y_label):
    def place(point):
        across = (math.log10(point[0]) - x_range[0]) / (x_range[1] - x_range[0])
        up = (math.log10(point[1]) - y_range[0]) / (y_range[1] - y_range[0])
        return left + across * PANEL_WIDTH, TOP + (1 - up) * PANEL_HEIGHT

    bottom = TOP + PANEL_HEIGHT
    out = [f'<text class="panel" x="{left}" y="{TOP - 12}">{html.escape(name)}</text>']
    for power in range(y_range[0], y_range[1] + 1):
        y = place((10 ** x_range[0], 10.0 ** power))[1]
        out.append(f'<line class="rule" x1="{left}" x2="{left + PANEL_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text x="{left - 8}" y="{y + 4.5:.1f}" text-anchor="end">{decade(power)}</text>')
    for x_value in x_ticks:
        x = place((x_value, 1))[0]
        out.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{x_value:g}</text>')
    out.append(f'<path class="axis" d="M{left} {TOP}V{bottom}H{left + PANEL_WIDTH}"/>')
    out.append(f'<text x="{left + PANEL_WIDTH / 2}" y="{bottom + 41}" text-anchor="middle">{html.escape(x_label)}</text>')
    if y_label:
        y = TOP + PANEL_HEIGHT / 2
        out.append(f'<text transform="translate({left - 52} {y}) rotate(-90)" text-anchor="middle">'
                   f'{html.escape(y_label)}</text>')
    for label, _, roof in lines:
        if roof:
            out.append(f'<path class="roof" stroke="{color(labels, label)}" d="{path(map(place, roof))}"/>')
    for label, points, _ in lines:
        out.append(f'<path class="line" stroke="{color(labels, label)}" d="{path(map(place, points))}"/>')
        out += [mark(labels, label, *place(point)) for point in points]
    if not any(points for _, points, _ in lines):
        out.append(f'<text x="{left + PANEL_WIDTH / 2}" y="{TOP + PANEL_HEIGHT / 2}" text-anchor="middle">not measured</text>')
    return out


def legend(labels, top, column, per_row):
    out = []
    for k, label in enumerate([*labels, None]):
        x, y = LEFT + k % per_row * column, top + 22 * (k // per_row)
        if label is None:
            out.append(f'<path class="roof" stroke="#7d858e" d="M{x:.1f} {y}h28"/>')
        else:
            out.append(f'<path class="line" stroke="{color(labels, label)}" d="M{x:.1f} {y}h28"/>')
            out.append(mark(labels, label, x + 14, y))
        out.append(f'<text x="{x + 36:.1f}" y="{y + 4.5}">{html.escape(label or "roof of that color")}</text>')
    return out


def color(labels, label):
    return COLORS[labels.index(label) % len(COLORS)]


def mark(labels, label, x, y):
    k = labels.index(label)
    shape, fill = MARKS[k % len(MARKS)], f'fill="{COLORS[k % len(COLORS)]}"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.8" {fill}/>'
    corners = {"square": "m-3.5 -3.5h7v7h-7z", "up": "m0 -4.6l4.4 7.6h-8.8z", "down": "m0 4.6l4.4 -7.6h-8.8z",
               "diamond": "m0 -4.9l4.9 4.9l-4.9 4.9l-4.9 -4.9z"}[shape]
    return f'<path d="M{x:.1f} {y:.1f}{corners}" {fill}/>'


def path(points):
    return "".join(f"{'ML'[k > 0]}{x:.1f} {y:.1f}" for k, (x, y) in enumerate(points))


def decade(power):
    """10^power as k, M, G."""
    if not 0 <= power < 12:
        return f"1e{power}"
    return f"{10 ** (power % 3)}{('', 'k', 'M', 'G')[power // 3]}"


def bars(title, parts, marks, least, most, note=""):
    """parts: [(name, [(group, [(label, value, full, text)])])]: a panel a part, bars to the right on a logarithmic axis from
    `least` to `most`, pale unless full, `text` beside them. marks: [(value, text)] on the axis. The SVG as text."""
    labels = list(dict.fromkeys(label for _, groups in parts for _, lines in groups for label, *_ in lines))
    thick, space, panel_width, beside, names = 13, 16, 300, 108, 124
    tallest = max((sum(len(lines) * thick + space for _, lines in groups) for _, groups in parts), default=0)
    width = names + len(parts) * (panel_width + beside) + 10
    bottom = TOP + tallest
    height = bottom + 62 + (22 if note else 0)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           f'role="img" aria-label="{html.escape(title)}">', STYLE,
           f'<text class="title" x="12" y="24">{html.escape(title)}</text>']

    def across(value):
        return panel_width * math.log(min(max(value, least), most) / least) / math.log(most / least)

    for k, (name, groups) in enumerate(parts):
        left = names + k * (panel_width + beside)
        out.append(f'<text class="panel" x="{left}" y="{TOP - 12}">{html.escape(name)}</text>')
        for value, text in marks:
            x = left + across(value)
            out.append(f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>')
            out.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{html.escape(text)}</text>')
        y = TOP + space / 2
        for group, lines in groups:
            if k == 0:
                out.append(f'<text x="{left - 10}" y="{y + len(lines) * thick / 2 + 4.5:.1f}" text-anchor="end">'
                           f'{html.escape(group)}</text>')
            for label, value, full, text in lines:
                out.append(f'<rect x="{left}" y="{y + 1:.1f}" width="{max(1, across(value)):.1f}" height="{thick - 2}" '
                           f'fill="{color(labels, label)}" fill-opacity="{1 if full else 0.38}"/>')
                out.append(f'<text x="{left + across(value) + 5:.1f}" y="{y + thick - 3:.1f}" style="font-size: 11px">'
                           f'{html.escape(text)}</text>')
                y += thick
            y += space
        out.append(f'<path class="axis" d="M{left} {TOP}V{bottom}"/>')
    for k, label in enumerate(labels):
        x = names + k * 130
        out.append(f'<rect x="{x}" y="{bottom + 34}" width="22" height="11" fill="{color(labels, label)}"/>')
        out.append(f'<text x="{x + 28}" y="{bottom + 44}">{html.escape(label)}</text>')
    if note:
        out.append(f'<text x="{names}" y="{height - 10}">{html.escape(note)}</text>')
    return "\n".join([*out, "</svg>", ""])
