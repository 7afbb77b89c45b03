"""The NH and Dharok fights: rules, observations, bots."""
