"""The maths of learning: policies, PPO, normalisation, schedules."""
