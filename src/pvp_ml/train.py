"""`python -m pvp_ml.train …`: the same as `pvp-ml train …`."""

from pvp_ml.cli import train_script

if __name__ == "__main__":
    train_script()
