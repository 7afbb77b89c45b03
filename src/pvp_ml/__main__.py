"""`python -m pvp_ml …`: the same as `pvp-ml …`."""

from pvp_ml.cli import main

if __name__ == "__main__":
    main()
