"""Cut a few short fights out of recorded sets, for tests: `python make_excerpt.py TRACES_FOLDER`.

Writes excerpt_nh.* and excerpt_dharok.* beside this file: the fights listed below with their state and hit rows, text
unchanged apart from dropping the ticks after the fight. Under 300 KB together.
"""

import gzip
import io
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
WANTED = {
    "excerpt_nh": [("nh_random_raregear", [13, 67, 92]), ("nh_random_state", [10, 62, 66])],
    "excerpt_dharok": [("dharok_random_state", [7])],
}


def write(path, lines):
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(("\n".join(lines) + "\n").encode())
    path.write_bytes(buffer.getvalue())


def cut_lines(path, numbers):
    """(lines, last tick by episode) of the wanted fights, in file order."""
    lines, ends, keep = [], {}, False
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for text in file:
            record = json.loads(text)
            if "episodeIds" in record:
                keep = record["ep"] in numbers
                episodes = record["episodeIds"]
            if not keep:
                continue
            if "w" in record:
                reply = record.get("reset", record)
                ends[episodes[record["w"]]] = reply["x"]["episodeTicks"]
            lines.append(json.dumps(record, separators=(",", ":")))
    return lines, ends


def cut_table(path, episode_column, tick_column, ends):
    """(heading, rows of those episodes up to their last tick)."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        heading = file.readline().rstrip("\n")
        names = heading.split("\t")
        episode, tick = names.index(episode_column), names.index(tick_column)
        rows = []
        for text in file:
            cells = text.rstrip("\n").split("\t")
            if int(cells[tick]) <= ends.get(cells[episode], -1):
                rows.append("\t".join(cells))
    return heading, rows


def main(folder):
    for name, sources in WANTED.items():
        fights, states, hits = [], [], []
        for stem, numbers in sources:
            lines, ends = cut_lines(folder / f"{stem}.jsonl.gz", set(numbers))
            fights += lines
            state_heading, rows = cut_table(folder / f"{stem}.state.tsv.gz", "ep", "ep_tick", ends)
            states += rows
            hit_heading, rows = cut_table(folder / f"{stem}.hits.tsv.gz", "att_ep", "att_tick", ends)
            hits += rows
        write(HERE / f"{name}.jsonl.gz", fights)
        write(HERE / f"{name}.state.tsv.gz", [state_heading, *states])
        write(HERE / f"{name}.hits.tsv.gz", [hit_heading, *hits])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
