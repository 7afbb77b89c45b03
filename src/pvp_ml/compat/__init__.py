"""Reads what other programs wrote: old models, options and presets. Only `cli` and config loading import it.

Three trainers came before this one. "The original" is osrs-pvp-reinforcement-learning, whose package was called pvp-ml
too; the others are EliteFurretAI's VGC trainer and the Rocket League learner RLGymBot_v2.
"""
