"""Lists of matrices from the words of `heddle bench --sizes`, such as 1024x100x100 or 255x17..401x17..401+3001x2003."""

MASK = (1 << 64) - 1


def pick(extent, position):
    """The extent at a position of an uneven list: a number of the range that the position determines."""
    least, _, most = extent.partition("..")
    least, most = int(least), int(most or least)
    x = (position + 1) * 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return least + (x ^ x >> 31) % (most - least + 1)


def shapes_of(word):
    """The [rows, columns] of every member."""
    shapes = []
    for part in word.split("+"):
        *members, rows, columns = part.split("x")
        for _ in range(int(members[0]) if members else 1):
            position = 2 * len(shapes)
            shapes.append([pick(rows, position), pick(columns, position + 1)])
    return shapes
