"""`python -m pvp_ml.run_train_job …`: as in the original, TensorBoard and `pvp-ml train …`."""

from pvp_ml.cli import train_job_script

if __name__ == "__main__":
    train_job_script()
