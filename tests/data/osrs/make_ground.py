"""Write the ground of the fights as this package keeps it: `python make_ground.py TERRAIN_JSON`.

Reads the collision facts (terrain.json of the rules document: rows of hexadecimal digits, south to north, one flag a
tile) and writes src/pvp_ml/games/osrs/data/ground.json, one bit a tile, and ground_examples.json beside this file:
routes and chase tiles as the reference server logged them.
"""

import base64
import json
import sys
import zlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
PACKAGED = HERE.parents[2] / "src/pvp_ml/games/osrs/data/ground.json"


def bits_of(grid):
    """[height,width] bool: True where nobody can stand."""
    digits = "".join(grid["rows"])
    flat = np.unpackbits(np.frombuffer(bytes.fromhex(digits), np.uint8))
    return flat.reshape(grid["height"], grid["width"]).astype(bool)


def write(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def main(source):
    terrain = json.loads(Path(source).read_text())
    grid, wild = terrain["grid"], terrain["wilderness"]
    blocked = bits_of(grid)
    assert int(blocked.sum()) == grid["tiles_with_flag"]["blocked"]
    packed = np.packbits(blocked, axis=1, bitorder="little").tobytes()
    write(
        PACKAGED,
        {
            "source": "Tiles where nobody can stand, measured on the reference server.",
            "origin": [grid["origin"]["x"], grid["origin"]["y"]],
            "size": [grid["width"], grid["height"]],
            "wilderness": [wild["x_min"], wild["x_max"], wild["y_min"], wild["y_max"]],
            "blocked": int(blocked.sum()),
            "bits": base64.b64encode(zlib.compress(packed, 9)).decode(),
        },
    )
    (HERE / "ground_examples.json").write_text(
        json.dumps(terrain["recorded_examples"]["lists"], separators=(",", ":")) + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1])
