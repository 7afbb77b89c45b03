"""`python -m pvp_ml.evaluate …`: the same as `pvp-ml eval …`."""

from pvp_ml.cli import eval_script

if __name__ == "__main__":
    eval_script()
