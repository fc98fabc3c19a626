"""A bar chart as SVG, by hand: statements per second of each client as a share of plain's, one
group of bars for each row. The line across a bar is from the least to the greatest round. Draws
what it is given and knows no files."""

from html import escape

CLIENTS = ("core", "mortar", "connector", "kernel")
NAMES = {
    "core": "Mortar, C core",
    "mortar": "Mortar, Python",
    "connector": "databricks-sql-connector",
    "kernel": "the connector's kernel",
}
COLOURS = {"core": "#1b6e5a", "mortar": "#2aa876", "connector": "#b0643c", "kernel": "#d9a441"}

WIDTH, LEFT, RIGHT = 860, 20, 60
BAR, GAP, HEAD, TOP = 14, 4, 22, 62
FULL = 1.2  # the share at the right edge; more is cut


def text(x, y, words, size=12, **more):
    styles = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}"{styles}>{escape(words)}</text>'


def rectangle(x, y, width, height, colour):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height}" fill="{colour}"/>'


def line(x1, y1, x2, y2, colour):
    ends = f'x1="{x1:.1f}" y1="{y1:g}" x2="{x2:.1f}" y2="{y2:g}"'
    return f'<line {ends} stroke="{colour}"/>'


def at(share):
    return LEFT + min(share, FULL) / FULL * (WIDTH - LEFT - RIGHT)


def bar(y, client, ends):
    middle = y + BAR / 2
    return [
        rectangle(LEFT, y, at(ends["median"]) - LEFT, BAR, COLOURS[client]),
        line(at(ends["min"]), middle, at(ends["max"]), middle, "#222"),
        text(max(at(ends["median"]), at(ends["max"])) + 5, y + BAR - 3,
             f"{ends['median']:.1%}", 11),
    ]


def legend():
    parts, x = [], LEFT
    for client in CLIENTS:
        parts += [rectangle(x, 32, 12, 12, COLOURS[client]), text(x + 17, 42, NAMES[client])]
        x += 40 + 7 * len(NAMES[client])
    return parts


def group(y, title, ends_of):
    """A title and the bars of the clients that were measured; the y below it."""
    parts = [text(LEFT, y + 14, title)]
    y += HEAD
    for client in CLIENTS:
        if client in ends_of:
            parts += bar(y, client, ends_of[client])
            y += BAR + GAP
    return parts, y + GAP


def draw(groups):
    """groups: (title, {client: {"median", "min", "max"} of its share})."""
    parts, y = [], TOP
    for title, ends_of in groups:
        more, y = group(y, title, ends_of)
        parts += more
    frame = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}"'
        f' height="{y}" font-family="sans-serif" fill="#222">',
        rectangle(0, 0, WIDTH, y, "#fff"),
        text(LEFT, 20, "Statements per second, as a share of what plain sockets do", 15,
             font_weight="bold"),
        *legend(),
        line(at(1), TOP - 8, at(1), y, "#999"),
    ]
    return "\n".join([*frame, *parts, "</svg>"]) + "\n"
