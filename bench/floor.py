"""What no remap can beat: the floor of a measured point."""

LEAST_ROWS = 512


def floor_of(point):
    """The floor of a point: the larger of copying the same bytes and of reading the table rows. The latter only where a table row
    has no more sectors of 32 bytes than positions look into it, for else nobody has to read all of it; and only for many rows, for
    with few its time is that of two loads one behind the other, not of the reading."""
    shape, times = point["shape"], point["times"]
    reads_all = "gather" in times and shape["tokens"] >= LEAST_ROWS and shape["columns"] <= 8 * shape["topk"] // shape["size"]
    return max(times[name]["us"] for name in (["copy", "gather"] if reads_all else ["copy"]))
