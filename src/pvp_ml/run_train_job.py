"""`python -m pvp_ml.run_train_job …`: the ancestor's name for `pvp-ml train …`."""

from pvp_ml.cli import train_script

if __name__ == "__main__":
    train_script()
