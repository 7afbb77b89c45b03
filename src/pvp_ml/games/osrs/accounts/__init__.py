"""Accounts: levels, books, gear and supplies of a fighter as a file, checked, varied and worn."""
