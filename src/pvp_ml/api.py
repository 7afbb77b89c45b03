"""`python -m pvp_ml.api …`: the original's name for `pvp-ml serve …`."""

from pvp_ml.cli import serve_script

if __name__ == "__main__":
    serve_script()
