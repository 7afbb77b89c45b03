"""`python -m pvp_ml.evaluate …`: the same as `pvp-ml eval …`."""

from pvp_ml.cli import evaluate

if __name__ == "__main__":
    evaluate()
